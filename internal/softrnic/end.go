package softrnic

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// An end carries out the steps of the end of a queue pair, or of its link.
type end struct {
	q      *queuePair
	l      *link           // that ends; nil if there is none
	steps  []step          // what is left to do
	status uverbs.WCStatus // of the work request to blame: see outgoing.settles
	wanted endWish
	why    string // if nobody wanted it
	// of the connection, if its end is the reason
	err    error
	number uint64 // of the life in ERR, if this end has taken it there; else 0
}

// run carries out the steps. It returns the number of the life in ERR, or 0.
func (e *end) run() (number uint64) {
	e.q.examineNow(e.l)
	for len(e.steps) > 0 {
		s := e.steps[0]
		e.steps = e.steps[1:]
		carries[s](e)
	}
	return e.number
}

// then puts steps in front of the steps that are left.
func (e *end) then(s []step) { e.steps = slices.Concat(s, e.steps) }

// carries has the function that carries out each step.
var carries [len(stepNames)]func(*end)

func init() {
	carries = [...]func(*end){
		stepSettleDebts: func(e *end) { e.l.settleDebts() },
		stepClose:       func(e *end) { e.l.shut() },
		stepDrain:       func(e *end) { <-e.l.drained },
		stepJudge:       (*end).judge,
		stepBlame:       (*end).blame,

		stepFail:    func(e *end) { e.fail(e.l) },
		stepMiss:    func(e *end) { e.q.miss(e.l, e.err) },
		stepPart:    (*end).part,
		stepLose:    (*end).lose,
		stepRaise:   (*end).raise,
		stepTell:    func(e *end) { e.l.ended() },
		stepLog:     (*end).log,
		stepAwait:   func(e *end) { e.q.awaitEnding() },
		stepKick:    func(e *end) { e.q.kick() },
		stepFirst:   func(e *end) { e.q.sender.complete(e.q, e.status) }, // +checklocksignore: see sender.fail
		stepSends:   func(e *end) { e.q.sender.flush(e.q) },              // +checklocksignore: see sender.fail
		stepFlush:   func(e *end) { e.q.flushReceives(e.number, 0) },
		stepButLast: func(e *end) { e.q.flushReceives(e.number, 1) },
		stepLast:    (*end).flushLast,
		stepForget:  func(e *end) { e.q.forgetReceives() },
		stepLeft:    func(e *end) { e.q.left() },

		stepFlushReceive: func(e *end) { e.l.receiver.close(true) },
		stepDropReceive:  func(e *end) { e.l.receiver.close(false) },
		stepDiscard:      func(e *end) { e.l.discard() },
		stepOver:         func(e *end) { e.l.over() },
		stepSettle:       func(e *end) { e.l.settle(e.status) },
		stepLeave:        func(e *end) { e.then(e.l.leave()) },
		stepBye:          func(e *end) { e.l.sayBye() },
		stepHangUp:       func(e *end) { e.l.close() },
	}
}

// lastFlush is when the last receive completes after the connection manager has told the program of
// the end. rsockets of rdma-core 44 ignore a flushed receive and wait again. They learn of the end
// from the manager's event, but the thread that takes the event does not wake the thread that
// waits, which needs a completion after the event.
const lastFlush = 50 * time.Millisecond

// fail takes the queue pair to ERR. It does nothing if the queue pair cannot fail, or if l is not
// nil and not its link.
func (e *end) fail(l *link) {
	q := e.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if l != nil && q.link != l {
		return
	}
	if steps := q.life.fails(); steps != nil {
		e.l, e.number = q.unlinkLocked(), q.life.number
		e.then(steps)
	}
}

// part ends the link, whose peer does not answer any more.
func (e *end) part() {
	e.q.mu.Lock()
	defer e.q.mu.Unlock()
	e.status, e.why = endStatus(e.err), connectionEnded(e.err)
	e.then(e.l.out.goes()) // +checklocksignore: the link's queue pair is locked
}

// lose notes that the peer is gone. Work requests fail from now on.
func (e *end) lose() {
	q := e.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link == e.l {
		e.status = uverbs.RetryExceeded
		e.then(q.life.loses())
		q.unlinkLocked()
	}
}

func (e *end) log() {
	if e.number != 0 {
		what, why := "queue pair in error", e.why
		if e.wanted != wantedByNobody {
			what, why = "queue pair has ended", e.wanted.String()
		}
		e.q.ctx.dev.log.Info(what, "qpn", e.q.num, "why", why, "status", e.status.String())
		return
	}
	why := "the peer has closed it"
	if !errors.Is(e.err, io.EOF) {
		why = e.err.Error()
	}
	e.q.ctx.dev.log.Info("left", "qpn", e.q.num, "peer", e.l.peer, "why", why)
}

func (e *end) raise() {
	if e.number != 0 {
		e.q.raise(e.number, uverbs.EventQPAccess)
	}
}

func (e *end) flushLast() {
	e.q.mu.Lock()
	defer e.q.mu.Unlock()
	if e.number != 0 && e.q.life.number == e.number {
		e.q.alarmLocked(alarmLast, lastFlush)
	}
}

// judge finds out what the end of the connection means.
func (e *end) judge() {
	e.q.mu.Lock()
	defer e.q.mu.Unlock()
	c := e.l.closing(e.err)
	v := e.l.out.ended(&c) // +checklocksignore: the link's queue pair is locked
	e.status, e.why = endStatus(e.err), connectionEnded(e.err)
	switch v {
	case verdictRefused:
		e.why = e.l.out.why // +checklocksignore: the link's queue pair is locked
	case verdictOurs:
		e.why = cmp.Or(e.q.explainRemoteLocked(e.err, e.l.ownPeer), "the peer has broken the rules: "+e.err.Error())
	case verdictLeft:
		e.status, e.wanted = uverbs.FlushErr, peerLeaves
	}
	e.then(v.steps(&c))
}

// An endWish says who wanted an end, which is no error then.
type endWish uint8

const (
	wantedByNobody endWish = iota
	programEnds            // it has set the queue pair to ERR
	programLeaves          // it has disconnected
	peerLeaves
)

var endWishes = [...]string{"", "the program has set it to ERR", "the program has disconnected it", "the peer has disconnected"}

func (w endWish) String() string { return endWishes[w] }

func connectionEnded(err error) string { return "the connection has ended: " + err.Error() }

// blame notes which Write the peer's Terminate names. A Read or an atomic that it names has a
// Completion with that error.
func (e *end) blame() {
	var t *rdmap.TerminateError
	if !errors.As(e.err, &t) {
		return
	}
	h, _, err := ddp.ParseTagged(t.Terminate.DDPHeader)
	if err != nil {
		return
	}
	e.q.mu.Lock()
	defer e.q.mu.Unlock()
	for _, f := range e.l.out.flights { // +checklocksignore: the link's queue pair is locked
		if f.writes() && f.remote.STag == h.STag && h.TO-f.remote.TO < uint64(f.n) {
			e.l.out.blames(f) // +checklocksignore: the link's queue pair is locked
			return
		}
	}
}

// closing returns how the connection of the link has ended.
func (l *link) closing(err error) closing {
	return closing{endOf(err), l.kind, l.q.srq != nil}
}

// receive reads frames until the connection ends.
func (l *link) receive() {
	defer l.q.ctx.dev.work.Done()
	err := l.read(l.conn)
	c := l.closing(err)
	(&end{q: l.q, l: l, err: err, steps: c.steps()}).run()
}

// read reads what comes on c until the connection ends, and returns why.
func (l *link) read(c *conn.Conn) (err error) {
	err = errBug
	defer l.q.recovers()
	if l.kind == linkPlain {
		return l.receiver.runPlain()
	}
	return l.receiver.run(c)
}

// shut closes the connection. That flushes all its requests, so complete finds their Completions.
func (l *link) shut() {
	_ = l.conn.Close()
	if l.kind == linkSelf {
		<-l.served
	}
	l.cancel()
	l.discard()
}

// discard makes sure that the peer reads and writes no memory of the program any more.
func (l *link) discard() {
	l.serving.Discard()
	if l.kind == linkSelf {
		l.conn.Discard()
	}
	l.q.pd.placing.now()
}

// over makes sure that nothing completes any more.
func (l *link) over() {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	l.out.ends()
}

// settle completes the last work requests of a link that has failed.
func (l *link) settle(status uverbs.WCStatus) {
	l.answers.Lock() // an answer may be on its way into the memory of a flight
	defer l.answers.Unlock()
	l.q.sendMu.Lock() // the goroutine that holds it may read the memory of a flight
	defer l.q.sendMu.Unlock()
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	all := l.out.flights
	ended := l.out.settles(status)
	for _, f := range all {
		l.q.traceDone(f, f.status)
	}
	l.q.freePlaces()
	for _, f := range ended {
		if f.status != uverbs.Success && f.status != uverbs.FlushErr {
			l.q.tells(f, cmp.Or(f.why, l.out.why))
		}
		l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Status: f.status, Op: uverbs.WCOpOf(f.op), Len: f.n, QPN: l.q.num}, false)
	}
	l.q.life.settled()
	close(l.settled)
}

// leave forgets the last work requests of a link that ends in order. It returns the step that ends
// the connection.
func (l *link) leave() []step {
	l.answers.Lock() // as in settle
	defer l.answers.Unlock()
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	defer close(l.settled)
	return l.out.leaves()
}

// sayBye tells the peer what has been received, and that nothing follows. A program may end as soon
// as it has received a Send, and the peer's program must not take that Send for lost.
func (l *link) sayBye() {
	if l.kind == linkPlain || l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}, frame{kind: frameBye}) != nil {
		l.close()
		return
	}
	// The peer closes the connection when it has the last frame. Until then this end reads, because
	// TCP resets a connection that is closed with bytes unread, and the last frames may be lost. If
	// the peer does not close it, this end does.
	time.AfterFunc(Linger, l.close)
}

// close closes the connection, without waiting.
func (l *link) close() {
	go func() { _ = l.conn.Close() }() // it may be closed already
}

// settleDebts lets the frames be carried out that the peer has sent in front of something wrong,
// and acknowledges them. They may wait for receives of the program. The Terminate, which Close
// sends, comes last.
//
// Nothing of the peer is read any more, so work requests of the program get neither
// acknowledgements nor answers. If there are any, the program may post receives only once they have
// completed. So the frames do not wait for long then.
func (l *link) settleDebts() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = l.serving.Wait(l.ctx) // the peer may be gone before the program has posted a receive
	}()
	idle := l.receiver.awaitIdle()
	if l.kind != linkSelf { // its work requests are the peer's
		l.q.mu.Lock()
		if l.out.owes() {
			l.alarmLocked(alarmOwnWork, ownWork)
		}
		l.q.mu.Unlock()
	}
	select {
	case <-idle:
	case <-gone:
	}
	_ = l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}) // if it fails, the peer is gone
}

// ownWork is how long settleDebts waits for receives of a program that has work requests under way.
const ownWork = 100 * time.Millisecond
