package device

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// end ends the link because of a failure: see outgoing.settles. When end returns, the peer neither
// writes nor reads the program's memory any more.
func (l *link) end(status uverbs.WCStatus) {
	l.receiver.close(true)
	l.discard()
	l.mu.Lock()
	flights := l.out.settles(status)
	l.stopLocked()
	l.mu.Unlock()
	l.settle(flights)
	l.sayBye()
}

// settle completes the last flights of a link that has failed.
func (l *link) settle(flights []*flight) {
	l.q.sendMu.Lock() // whoever holds it may read the memory of a flight
	defer l.q.sendMu.Unlock()
	defer close(l.settled)
	defer l.q.settled()
	for _, f := range flights {
		l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Status: f.status, Op: f.op, Len: f.n, QPN: l.q.num}, false)
	}
}

// blame notes which Write the peer's Terminate names. A Read or an atomic has a Completion that
// says so.
func (l *link) blame(t rdmap.Terminate) {
	h, _, err := ddp.ParseTagged(t.DDPHeader)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.out.flights {
		if f.writes && f.remote.STag == h.STag && h.TO-f.remote.TO < uint64(f.n) {
			l.out.blames(f)
			return
		}
	}
}

// leave ends the link in order. When it returns, the peer neither writes nor reads the program's
// memory any more.
func (l *link) leave() {
	l.receiver.close(false)
	l.discard()
	l.mu.Lock()
	wasOver := l.out.state == outOver
	l.out.leaves()
	l.stopLocked()
	l.mu.Unlock()
	if wasOver {
		l.close()
		return
	}
	l.sayBye()
}

// discard ends the peer's access to the program's memory. What the peer has written before it
// learns of the end may still be on its way, and the program may use the memory for something else.
func (l *link) discard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forget == nil {
		l.forget = l.q.pd.domain.Discard(l.serving.QPNum())
	}
}

// forgetLater ends the Discard of a connection that has been closed, once nothing of it is left:
// until then the connection may still receive.
func forgetLater(c *extsock.Conn, forget func()) {
	go func() {
		_ = c.Wait(context.Background()) // without an end of the context there is no error
		forget()
	}()
}

// sayBye tells the peer what has been received, and that nothing follows. A program may end as soon
// as it has received a Send, and the peer's program must not take that Send for lost.
func (l *link) sayBye() {
	if l.plain || l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}, frame{kind: frameBye}) != nil {
		l.close()
		return
	}
	// The peer closes the connection when it has the last frame. Until then this end reads, because
	// TCP resets a connection that is closed with bytes unread, and the last frames may be lost. If
	// the peer does not close it, this end does.
	time.AfterFunc(Linger, l.close)
}

// stopLocked ends the wait for a receive of the peer's program.
//
// +checklocks:l.mu
func (l *link) stopLocked() {
	if l.notReady != nil {
		l.notReady.Stop()
		l.notReady = nil
	}
}

// close closes the connection, without waiting.
func (l *link) close() {
	go func() { _ = l.conn.Close() }() // it may be closed already
}

// lastFlush is when the last receive completes after the connection manager has told the program of
// the end. rsockets of rdma-core 44 take a flushed receive for nothing and wait again. They learn
// of the end from the manager's event, but the thread that takes it does not wake the one that
// waits, so the waiting thread needs a completion after it.
const lastFlush = 50 * time.Millisecond

// receive reads frames until the connection ends.
func (l *link) receive() {
	defer l.q.ctx.dev.work.Done()
	err := l.readAll()
	var t *rdmap.TerminateError
	if errors.As(err, &t) && !t.Remote && !l.plain {
		l.settleDebts()
	}
	_ = l.conn.Close() // flushes all work requests, so complete finds their Completions
	if l.isSelf() {
		<-l.served
	}
	l.cancel()
	l.discard()
	l.mu.Lock()
	forgetLater(l.serving, l.forget)
	l.mu.Unlock()
	<-l.drained // a peer that has got what it waits for may leave before complete knows that it was sent
	l.mu.Lock()
	v, refusal := l.out.ended(endOf(err), l.ended != nil), l.out.why
	l.mu.Unlock()
	fail := l.q.fail
	if l.ended != nil {
		var life uint64 // of the queue pair, if its last receive waits
		if l.q.srq == nil {
			fail = func(l *link, status uverbs.WCStatus, why string) uint64 {
				life = l.q.failSends(l, status, why)
				l.q.flushReceives(life, 1)
				return life
			}
		}
		defer func() {
			l.ended()
			time.AfterFunc(lastFlush, func() { l.q.flushReceives(life, 0) })
		}()
	}
	switch v {
	case verdictRefused:
		fail(l, endStatus(err), refusal)
	case verdictOurs:
		if life := fail(l, endStatus(err), "the peer has done what it must not: "+err.Error()); life != 0 {
			l.q.raise(life, uverbs.EventQPAccess)
		}
	case verdictLeft:
		fail(l, uverbs.FlushErr, "the peer has disconnected")
	case verdictFails:
		if t != nil {
			l.blame(t.Terminate)
		}
		if life := fail(l, endStatus(err), connectionEnded(err)); life != 0 && t != nil && l.isSelf() {
			l.q.raise(life, uverbs.EventQPAccess) // it is the peer, too
		}
	case verdictMiss:
		l.q.miss(l, err)
	case verdictGone:
		l.gone(err)
	}
}

// settleDebts tells the peer what has been carried out of what it has sent in front of something
// wrong. Frames may wait for receives of the program. The Terminate, which Close sends, comes last.
//
// Nothing of the peer is read any more, so work requests of the program get neither
// acknowledgements nor answers. If there are any, the program may post receives only once they have
// completed. So the frames do not wait for long then.
func (l *link) settleDebts() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.serving.Wait(l.ctx) // the peer may be gone before the program has posted a receive
	}()
	l.receiver.awaitIdle(ended, l.busy())
	_ = l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}) // if it fails, the peer is gone
}

// ownWork is how long a work request of the program waits for receives of the same program.
const ownWork = 100 * time.Millisecond

// busy returns a channel that is closed once the program has a work request under way. Those of a
// queue pair that is joined with itself are the peer's.
func (l *link) busy() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := make(chan struct{})
	switch {
	case l.isSelf():
	case !l.out.isIdle():
		close(busy)
	default:
		l.begun = busy
	}
	return busy
}

func connectionEnded(err error) string { return "the connection has ended: " + err.Error() }

// gone ends the link, whose peer does not answer any more.
func (l *link) gone(err error) {
	l.mu.Lock()
	idle := l.out.goes() // so that no work request begins before q loses l
	l.mu.Unlock()
	if !idle {
		l.q.fail(l, endStatus(err), connectionEnded(err))
		return
	}
	// As from a NIC, a program that has nothing under way does not learn of it.
	l.q.lose(l, err)
}

// readAll takes what the peer sends until the connection ends.
func (l *link) readAll() error {
	if l.plain {
		return l.receiver.runPlain()
	}
	return l.receiver.run(l.conn)
}

// lose notes that the peer of q is gone. Work requests fail from now on.
func (q *queuePair) lose(l *link, err error) {
	if !q.loseLink(l) {
		return
	}
	l.end(uverbs.RetryExceeded)
	why := "the peer has closed it"
	if !errors.Is(err, io.EOF) {
		why = err.Error()
	}
	q.ctx.dev.log.Info("left", "qpn", q.num, "peer", l.peer, "why", why)
	q.kick()
}

// loseLink is lose without the end of the link. It returns false if l is not the link of q.
func (q *queuePair) loseLink(l *link) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link != l {
		return false
	}
	q.life.loses()
	q.unlinkLocked()
	q.ending = l.settled
	return true
}

// settled notes that the work requests of the last link have completed.
func (q *queuePair) settled() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.life.settled()
}
