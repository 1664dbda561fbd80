package device

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A link is the connection of two joined queue pairs. A queue pair that is reset and joined again
// gets another one.
type link struct {
	q    *queuePair
	conn *extsock.Conn
	peer uint32 // QPN

	// ctx is done when the connection has ended.
	ctx    context.Context
	cancel context.CancelFunc
	// drained is closed after that, when all Completions have been taken.
	drained chan struct{}

	mu sync.Mutex
	// work requests whose completion is due, in order
	flights []*flight // +checklocks:mu
	// The frames that count. sent is the number of the last one, and acked of the last that the
	// peer has acknowledged.
	sent  uint32 // +checklocks:mu
	acked uint32 // +checklocks:mu
	// the buffers in use, by the ID of their request
	chunks    map[uint64]*chunk // +checklocks:mu
	lastChunk uint64            // +checklocks:mu
	// runs while the peer's program has no receive for notReadyFrame
	notReady      *time.Timer // +checklocks:mu
	notReadyFrame uint32      // +checklocks:mu
	// nothing is sent and nothing completes any more; what has ended the link fails the queue pair
	over bool // +checklocks:mu
	// bytes of payload that are too long for a chunk
	long int // +checklocks:mu

	// ends the Discard of what the peer writes; nil if there is none
	forget func() // +checklocks:mu

	plain bool   // without frames: see plain.go
	ended func() // of a connection manager: called when the connection has ended; nil if there is none

	receiver receiver
}

// A flight is a work request on its way.
type flight struct {
	id       uint64
	op       uverbs.WCOp
	n        uint32
	signaled bool
	// number is that of the frame with whose acknowledgement the flight is over, once it is known.
	number   uint32
	numbered bool
	// awaits is the number of answers to Reads and atomics that have not come, and posted says that
	// all questions have been asked. What this end does alone has no question. Other flights have
	// neither.
	isRead bool
	awaits int
	posted bool
	sink   cursor
	// status is not Success if the flight has failed here.
	status uverbs.WCStatus
}

const (
	// window is the maximum number of frames that count and are not acknowledged.
	window = 32
	// askEvery is how many flights there are before the sender asks for an acknowledgement that
	// nobody waits for.
	askEvery = 32
	// maxFlights is the maximum number of flights.
	maxFlights = 128
	// maxChunks is the maximum number of chunks of a link.
	maxChunks = 8
	// chunkLen is the maximum length in bytes of an RDMA Write or Read on the wire. It bounds the
	// memory that a link needs.
	chunkLen = 128 << 10
	// depth is the depth of the queues of the connection: as many requests as all that can be
	// outstanding.
	depth = 4*maxFlights + 4*window + maxChunks
)

// chunks are buffers for payload that is on its way between TCP and a program.
var chunks = sync.Pool{New: func() any { return &chunk{b: make([]byte, chunkLen)} }}

// A chunk is a buffer, and what its work request was for.
type chunk struct {
	b      []byte
	n      int
	flight *flight // of a Read or atomic; nil if the buffer is all that the completion ends
}

// config returns the configuration of the connections of pd's queue pairs. dialer is what dials them.
func (d *Device) config(pd *protectionDomain, dialer net.Dialer) *extsock.Config {
	const forever = 24 * time.Hour
	return &extsock.Config{
		Domain: &pd.domain, Messages: true, RecvSize: frameLen + maxPiece, RecvDepth: 2*window + 8, SendDepth: depth,
		IRD: int(limits.MaxRead), ORD: int(limits.MaxRead), Startup: extsock.StartupOff, JudgeRequests: true,
		HandshakeTimeout: forever, CloseTimeout: Linger, BadSTagDelay: -1, Backend: d.backend(dialer),
	}
}

// config returns the configuration of q's next connection. The program may change the rights of the
// peer later, but that has no effect on the connection.
func (q *queuePair) config(dialer net.Dialer) *extsock.Config {
	c := q.ctx.dev.config(q.pd, dialer)
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Denied = (ddp.RemoteRead | ddp.RemoteWrite | ddp.RemoteAtomic) &^ remoteAccess(q.attrs.Access)
	return c
}

// backend returns the TCP of the device.
func (d *Device) backend(dialer net.Dialer) toe.Backend {
	if b := d.faults.Backend(dialer); b != nil {
		return b
	}
	return &kernel.Backend{Dialer: dialer}
}

// expect notes that c is to become the connection of q, so that the peer writes nothing if q ends before. It
// returns false if q has ended already. life is that of q when the connection was begun. Unless c becomes the
// connection of a link, the caller must call giveUp.
func (q *queuePair) expect(c *extsock.Conn, life uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.coming == nil {
		q.coming = make(map[*extsock.Conn]func())
	}
	q.coming[c] = nil
	if q.life != life {
		q.coming[c] = q.pd.domain.Discard(c.QPNum())
	}
	return q.life == life
}

// giveUp closes a connection that has not become that of q.
func (q *queuePair) giveUp(c *extsock.Conn) {
	q.mu.Lock()
	forget, expected := q.coming[c]
	if expected && forget == nil {
		forget = q.pd.domain.Discard(c.QPNum())
	}
	delete(q.coming, c)
	q.mu.Unlock()
	_ = c.Close() // nothing can be done about it
	if expected {
		forgetLater(c, forget)
	}
}

// start makes c the connection of q, and starts the goroutines of the link. It returns false if q is
// not waiting for it any more. life is that of q when the connection was begun.
func (q *queuePair) start(c *extsock.Conn, peer uint32, life uint64) bool {
	l := q.newLink(c, peer)
	q.mu.Lock()
	s := q.attrs.State
	started := (s == uverbs.RTR || s == uverbs.RTS || s == uverbs.SQD) && q.setLinkLocked(l, life)
	q.mu.Unlock()
	return l.run(started)
}

// newLink returns a link that q does not have yet.
func (q *queuePair) newLink(c *extsock.Conn, peer uint32) *link {
	l := &link{q: q, conn: c, peer: peer, chunks: make(map[uint64]*chunk), drained: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(q.ctx.dev.ctx)
	l.receiver.l = l
	return l
}

// setLinkLocked makes l the link of q, unless it comes too late. life is that of q when the connection
// was begun. The caller must call run with the result.
//
// +checklocks:q.mu
func (q *queuePair) setLinkLocked(l *link, life uint64) bool {
	if q.link != nil || q.life != life || q.abandoned || !q.ctx.dev.begin(2) { // receive and complete
		return false
	}
	delete(q.coming, l.conn) // the link sees to it
	q.link, q.stopDial = l, nil
	if q.patience != nil {
		q.patience.Stop()
		q.patience = nil
	}
	return true
}

// run starts the goroutines of the link if q has it, and reports whether that is so.
func (l *link) run(started bool) bool {
	if !started {
		l.cancel()
		return false
	}
	l.q.ctx.dev.log.Info("joined", "qpn", l.q.num, "peer", l.peer, "address", l.conn.RemoteAddr().String(), "over", over(l.conn))
	go l.receive()
	go l.complete()
	l.q.kick()
	return true
}

// complete takes the Completions of the connection until it ends.
func (l *link) complete() {
	defer l.q.ctx.dev.work.Done()
	defer close(l.drained)
	var done [64]rdmap.Completion
	for {
		n, err := l.conn.SendCQ().WaitBatch(l.ctx, done[:], false)
		if err != nil {
			return
		}
		more := false
		for _, c := range done[:n] {
			more = l.completed(&c) || more
		}
		if more {
			l.q.kick()
		}
	}
}

// completed handles one Completion. It reports whether the send queue may go on because of it.
func (l *link) completed(c *rdmap.Completion) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.chunks[c.ID]
	if ch == nil {
		return false // the failure of a request that had no chunk; the connection has ended
	}
	delete(l.chunks, c.ID)
	if ch.n > chunkLen {
		l.long -= ch.n
	}
	if f := ch.flight; f != nil && !l.over && c.Status == rdmap.StatusOK {
		if err := f.answered(ch, c); err != nil {
			f.status = localStatus(err)
		}
		f.awaits--
		l.retireLocked()
	}
	if len(ch.b) == chunkLen {
		ch.flight = nil
		chunks.Put(ch)
	}
	return true
}

// answered copies the answer to a Read or atomic to the program.
func (f *flight) answered(ch *chunk, c *rdmap.Completion) error {
	b := ch.b[:ch.n]
	switch c.Op {
	case rdmap.WorkRead:
	case rdmap.WorkFetchAdd, rdmap.WorkCmpSwap:
		binary.NativeEndian.PutUint64(b, c.Original)
	default:
		return nil // the payload has left
	}
	return f.sink.scatter(b)
}

// newChunkLocked returns a buffer of n bytes and its number, or nil if too many are in use. f is the
// Read or atomic that waits for it, if any. Buffers of at most a word do not count.
//
// +checklocks:l.mu
func (l *link) newChunkLocked(n int, f *flight) (uint64, *chunk) {
	var ch *chunk
	switch {
	case n <= 8:
		ch = &chunk{b: make([]byte, 8)}
	case len(l.chunks) >= maxChunks:
		return 0, nil
	default:
		ch = chunks.Get().(*chunk)
	}
	ch.n, ch.flight = n, f
	l.lastChunk++
	l.chunks[l.lastChunk] = ch
	return l.lastChunk, ch
}

// isIdle reports whether no work request is on its way.
func (l *link) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.flights) == 0
}

// acknowledged completes the flights that the frame with the given number ends. An acknowledgement that
// another one has overtaken says nothing new: the peer sends some in front of what its program sends, and
// others from the goroutine that receives.
func (l *link) acknowledged(number uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int32(l.acked-number) >= 0 {
		return nil
	}
	if number-l.acked > l.sent-l.acked {
		return fmt.Errorf("%w: it acknowledges frame %d, and the last one is %d", errFrame, number, l.sent)
	}
	l.acked = number
	if int32(number-l.notReadyFrame) >= 0 {
		l.stopLocked()
	}
	l.retireLocked()
	return nil
}

// retireLocked completes the flights that are over, in order.
//
// +checklocks:l.mu
func (l *link) retireLocked() {
	for len(l.flights) > 0 && !l.over {
		f := l.flights[0]
		switch {
		case f.status != uverbs.Success:
			l.over = true
			go l.q.fail(l, f.status, "a work request has failed")
			return
		case f.isRead && (f.awaits > 0 || !f.posted), !f.isRead && (!f.numbered || int32(l.acked-f.number) < 0):
			return
		}
		if f.status = l.q.ctx.dev.faults.Send(); f.status != uverbs.Success {
			l.over = true
			go l.q.fail(l, f.status, "a fault to order")
			return
		}
		l.flights = l.flights[1:]
		if f.signaled {
			l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Op: f.op, Len: f.n, QPN: l.q.num}, false)
		}
	}
}

// end ends the link because of a failure. The oldest flight completes with status, and the others are
// flushed. When it returns, the peer writes nothing to the program's memory any more.
func (l *link) end(status uverbs.WCStatus) {
	l.receiver.close(true)
	l.discard()
	l.mu.Lock()
	l.over = true
	flights := l.flights
	l.flights = nil
	l.stopLocked()
	l.mu.Unlock()
	for i, f := range flights {
		s := uverbs.FlushErr
		if i == 0 {
			s = status
			if f.status != uverbs.Success {
				s = f.status
			}
		}
		l.q.sendCQ.complete(&uverbs.WC{ID: f.id, Status: s, Op: f.op, QPN: l.q.num}, false)
	}
	l.sayBye()
}

// leave ends the link in order. When it returns, the peer writes nothing to the program's memory any more.
func (l *link) leave() {
	l.receiver.close(false)
	l.discard()
	l.mu.Lock()
	wasOver := l.over
	l.over = true
	l.flights = nil
	l.stopLocked()
	l.mu.Unlock()
	if wasOver {
		l.close()
		return
	}
	l.sayBye()
}

// discard ends the peer's access to the program's memory. What the peer has written before it learns of the
// end may still be on its way, and the program may use the memory for something else.
func (l *link) discard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.forget == nil {
		l.forget = l.q.pd.domain.Discard(l.conn.QPNum())
	}
}

// forgetLater ends the Discard of a connection that has been closed, once nothing of it is left: until then the
// connection may still receive.
func forgetLater(c *extsock.Conn, forget func()) {
	go func() {
		_ = c.Wait(context.Background()) // without an end of the context there is no error
		forget()
	}()
}

// sayBye tells the peer what has been received, and that nothing follows. A program may end as soon as it
// has received a Send, and the peer's program must not take that Send for lost.
func (l *link) sayBye() {
	if l.plain || l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}, frame{kind: frameBye}) != nil {
		l.close()
		return
	}
	// The peer closes the connection when it has the last frame. Until then this end reads, because TCP
	// resets a connection that is closed with bytes unread, and the last frames may be lost. If the peer does
	// not close it, this end does.
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

// post sends frames without payload.
func (l *link) post(frames ...frame) error {
	var wrs [2]rdmap.WorkRequest
	for i, f := range frames {
		wrs[i] = rdmap.WorkRequest{Op: rdmap.WorkSend, Data: f.appendTo(make([]byte, 0, frameLen)), Inline: true, Unsignaled: true}
	}
	_, err := l.conn.PostBatch(wrs[:len(frames)])
	return err
}

// refused handles the peer's refusal of frame number.
func (l *link) refused(number uint32, status uverbs.WCStatus) {
	l.mu.Lock()
	for _, f := range l.flights {
		if f.numbered && f.number == number {
			f.status = status
		}
	}
	l.mu.Unlock()
	// What came before the refused frame has been received.
	_ = l.acknowledged(number - 1)
	l.q.fail(l, status, "the peer has refused a work request")
}

// receive reads frames until the connection ends.
func (l *link) receive() {
	defer l.q.ctx.dev.work.Done()
	err := l.readAll()
	_ = l.conn.Close() // flushes all work requests, so complete finds their Completions
	l.cancel()
	l.discard()
	l.mu.Lock()
	forgetLater(l.conn, l.forget)
	l.mu.Unlock()
	<-l.drained // a peer that has got what it waits for may leave before complete knows that it was sent
	l.mu.Lock()
	over := l.over
	idle := len(l.flights) == 0
	l.mu.Unlock()
	if l.ended != nil {
		defer l.ended()
	}
	if over {
		return
	}
	var t *rdmap.TerminateError
	switch {
	case errors.As(err, &t) && !t.Remote:
		l.q.fail(l, endStatus(err), "the peer has done what it must not: "+err.Error())
		l.q.raise(uverbs.EventQPAccess)
	case l.ended != nil && idle && errors.Is(err, io.EOF):
		// The connection manager tells the program.
		l.q.fail(l, uverbs.FlushErr, "the peer has disconnected")
	case errors.As(err, &t), l.ended != nil && !idle:
		l.q.fail(l, endStatus(err), connectionEnded(err))
	case l.ended == nil && errors.Is(err, io.EOF):
		l.q.miss(l, err)
	default:
		l.gone(err)
	}
}

func connectionEnded(err error) string { return "the connection has ended: " + err.Error() }

// gone ends the link, whose peer does not answer any more.
func (l *link) gone(err error) {
	if !l.isIdle() {
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
	return l.receiver.run()
}

// lose notes that the peer of q is gone. Work requests fail from now on.
func (q *queuePair) lose(l *link, err error) {
	q.mu.Lock()
	ours := q.link == l
	if ours {
		q.unlinkLocked()
		q.abandoned = true
	}
	q.mu.Unlock()
	if !ours {
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
