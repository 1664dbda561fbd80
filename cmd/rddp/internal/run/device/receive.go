package device

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/states"
)

// A receiver is the half of a link that takes frames. One goroutine reads them; it never waits for
// the program, and never for TCP to take anything.
//
// Posting a receive makes no system call. So frames that find no receive are held, and a timer looks
// for receives as long as there are such frames.
type receiver struct {
	l *link

	mu locks.Mutex[locks.RNICReceiver]
	// numbers of the last frame that was acted upon, and of the last that was acknowledged
	consumed uint32 // +checklocks:mu
	acked    uint32 // +checklocks:mu
	// frames that wait for a receive, and those behind them
	held []heldFrame // +checklocks:mu
	// looks for receives; later, late does. Both are nil if no frame waits
	look  *time.Timer   // +checklocks:mu
	late  *lateReceive  // +checklocks:mu
	state receiverState // +checklocks:mu
	// closed, and nil again, once no frame waits; nil unless awaitIdle waits
	idle chan struct{} // +checklocks:mu
	// the Send whose last piece has not come; nil if there is none
	message *inbound // +checklocks:mu
	due     due      // +checklocks:mu
	// dueTimer looks at due, if dueSet
	dueTimer *time.Timer // +checklocks:mu
	dueSet   bool        // +checklocks:mu
}

// A receiverState says what becomes of the next frame:
//
//	open ──▶ refusing ──▶ closed
//	  └─────────────────────▲
type receiverState uint8

const (
	receiverOpen     receiverState = iota // the receiver acts on it, or holds it
	receiverRefusing                      // it is behind one that is to be refused, and nobody looks at it
	receiverClosed                        // nobody looks at it
)

var receiverNames = [...]string{"open", "refusing", "closed"}

func (s receiverState) String() string { return receiverNames[s] }

var receiverNext = states.Table[receiverState]{
	receiverOpen:     states.To(receiverRefusing, receiverClosed),
	receiverRefusing: states.To(receiverClosed),
	receiverClosed:   states.To(receiverClosed), // a link that ends after a receive has failed
}

// becomeLocked is the only place where the state changes.
//
// +checklocks:r.mu
func (r *receiver) becomeLocked(next receiverState) { receiverNext.Become(&r.state, next) }

// A heldFrame is a frame that could not be acted upon when it came.
type heldFrame struct {
	frame
	payload []byte
}

// An inbound is a receive that is being filled.
type inbound struct {
	id uint64
	at cursor
	n  uint32
}

const (
	// shortRead is the length in bytes of the buffer of a connection whose last frame was short.
	shortRead = 1024
	// lookEvery is how often the timer looks for receives at first. It becomes slower, up to
	// lookSlowly; then the context's lookout looks.
	lookEvery  = 20 * time.Microsecond
	lookSlowly = time.Millisecond
)

// pieces are buffers for frames with payload.
var pieces = sync.Pool{New: func() any { b := make([]byte, frameLen+maxPiece); return &b }}

// run reads frames from a connection of the link until it ends, and returns why.
func (r *receiver) run(c *extsock.Conn) error {
	short := make([]byte, shortRead)
	var long *[]byte
	defer func() {
		if long != nil {
			pieces.Put(long)
		}
	}()
	for {
		b := short
		if long != nil {
			b = *long
		}
		n, err := c.Read(b)
		if err != nil {
			return err
		}
		f, payload, err := parseFrame(b[:n])
		if err != nil {
			return err
		}
		if f.kind == frameSend && uint32(len(payload)) < f.length {
			if f.length > maxPiece {
				return fmt.Errorf("%w: a piece of %d bytes", errFrame, f.length)
			}
			if long == nil {
				long = pieces.Get().(*[]byte)
				copy(*long, b[:n])
			}
			whole := (*long)[:frameLen+f.length]
			if _, err := io.ReadFull(c, whole[n:]); err != nil {
				return err
			}
			payload = whole[frameLen:]
		} else if long != nil && n <= shortRead {
			copy(short, payload)
			payload = short[:len(payload)]
			pieces.Put(long)
			long = nil
		}
		if err := r.handle(f, payload); err != nil {
			return err
		}
	}
}

// handle acts on a frame. The payload belongs to the caller. An error ends the connection.
func (r *receiver) handle(f frame, payload []byte) error {
	switch f.kind {
	case frameAck:
		if err := r.l.acknowledged(f.number); err != nil {
			return err
		}
		r.l.q.kick()
		return nil
	case frameNotReady:
		if err := r.l.notReadyFor(f.number, uint8(f.length)); err != nil {
			return err
		}
		r.l.q.kick()
		return nil
	case frameRefuse:
		return r.l.refused(f.number, f.status)
	case frameBye:
		return io.EOF
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state != receiverOpen:
		return nil
	case len(r.held) == 0 && r.acceptLocked(f, payload):
		return nil
	case len(r.held) >= window:
		return fmt.Errorf("%w: it has sent more than the %d frames that may wait for an acknowledgement", errFrame, window)
	}
	r.held = append(r.held, heldFrame{f, append([]byte(nil), payload...)})
	if r.look == nil && r.late == nil {
		r.sayNotReadyLocked()
		r.waitLocked(lookEvery)
	}
	return nil
}

// sayNotReadyLocked tells the peer that the next frame waits for a receive.
//
// +checklocks:r.mu
func (r *receiver) sayNotReadyLocked() {
	r.l.q.mu.Lock()
	timer := r.l.q.life.attrs.MinRNRTimer
	r.l.q.mu.Unlock()
	_ = r.l.post(frame{kind: frameNotReady, number: r.consumed + 1, length: uint32(timer)}) // an error ends run
}

// waitLocked looks for receives after d, or has the context's lookout do so.
//
// +checklocks:r.mu
func (r *receiver) waitLocked(d time.Duration) {
	if d >= lookSlowly {
		r.look = nil
		r.late = r.l.q.ctx.late.add(r.l.q.recv, func() { r.lookForReceives(lookSlowly) })
		return
	}
	r.look, r.late = time.AfterFunc(d, func() { r.lookForReceives(d) }), nil
}

// lookForReceives acts on the frames that wait, if there are receives now. d is how long it was to the last look.
func (r *receiver) lookForReceives(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	accepted := false
	for len(r.held) > 0 && r.state == receiverOpen && r.acceptLocked(r.held[0].frame, r.held[0].payload) {
		r.held[0].payload = nil
		r.held = r.held[1:]
		accepted, d = true, lookEvery
	}
	if accepted && r.state != receiverClosed && r.acked != r.consumed {
		r.sayAckLocked() // the peer waits for it, though it may not have asked
	}
	if len(r.held) == 0 || r.state != receiverOpen {
		r.look, r.late = nil, nil
		r.noteIdleLocked()
		return
	}
	if accepted {
		r.sayNotReadyLocked()
	}
	r.waitLocked(min(d+d/8, lookSlowly))
}

// acceptLocked acts on the next frame that counts. It returns false if the frame needs a receive and
// there is none.
//
// +checklocks:r.mu
func (r *receiver) acceptLocked(f frame, payload []byte) bool {
	q := r.l.q
	if f.kind == frameWritten && r.message != nil { // inside a Send, whose receive would be forgotten
		r.refuseLocked(uverbs.RemoteInvalidErr, uverbs.RemoteInvalidErr)
		return true
	}
	if f.kind == frameWritten || f.kind == frameSend && r.message == nil {
		unreliable := q.kind == uverbs.UC
		var status uverbs.WCStatus
		ok := !unreliable || f.kind == frameWritten || f.flags&flagFirst != 0 // or a Send without a receive goes on
		if ok {
			status, ok = r.takeReceiveLocked()
		}
		if !ok {
			if unreliable {
				r.consumeLocked(f)
			}
			return unreliable
		}
		if status != uverbs.Success {
			r.refuseLocked(status, uverbs.RemoteOpErr)
			return true
		}
	}
	m := r.message
	switch f.kind {
	case frameSend:
		if err := m.at.scatter(payload); err != nil {
			theirs := uverbs.RemoteOpErr
			if err == errLocalLength {
				theirs = uverbs.RemoteInvalidErr
			}
			r.refuseLocked(localStatus(err), theirs)
			return true
		}
		m.n += uint32(len(payload))
	case frameWritten:
		m.n = f.length
	}
	if f.flags&flagInvalidate != 0 && q.pd.domain.Invalidate(ddp.STag(key(f.immediate)), r.l.serving.QPNum()) != nil {
		r.refuseLocked(uverbs.LocalAccessErr, uverbs.RemoteAccessErr)
		return true
	}
	if f.kind == frameWritten || f.kind == frameSend && f.flags&flagLast != 0 {
		r.completeLocked(f)
	}
	r.consumeLocked(f)
	return true
}

// consumeLocked notes that a frame has been acted upon.
//
// +checklocks:r.mu
func (r *receiver) consumeLocked(f frame) {
	r.consumed++
	if f.flags&flagAck != 0 {
		r.acknowledgeLocked()
	}
}

// takeReceiveLocked makes the program's next receive the one that is being filled. ok is false if there
// is none. The status is Success unless the receive is wrong, or fails to order.
//
// +checklocks:r.mu
func (r *receiver) takeReceiveLocked() (status uverbs.WCStatus, ok bool) {
	q := r.l.q
	entry, low, ok := q.recv.take()
	if !ok {
		return 0, false
	}
	if low {
		q.srq.raiseLimit()
	}
	w, err := uverbs.ParseRecvWR(entry)
	r.message = &inbound{id: w.ID, at: cursor{pd: q.pd, list: w.SGEs}}
	status = q.ctx.dev.faults.Receive()
	if err != nil {
		status = uverbs.LocalQPErr
	}
	return status, true
}

// key returns the key in the place of immediate data. The program's peer has the same byte order.
func key(b [4]byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// completeLocked completes the receive that is filled.
//
// +checklocks:r.mu
func (r *receiver) completeLocked(f frame) {
	m, q := r.message, r.l.q
	r.message = nil
	w := uverbs.WC{ID: m.id, Op: uverbs.WCRecv, Len: m.n, QPN: q.num, SrcQPN: r.l.peer}
	if f.kind == frameWritten {
		w.Op = uverbs.WCRecvImm
	}
	switch {
	case f.flags&flagImmediate != 0:
		w.Immediate, w.Flags = f.immediate, uverbs.WCHasImm
	case f.flags&flagInvalidate != 0:
		w.Immediate, w.Flags = f.immediate, uverbs.WCHasInval
	}
	q.recvCQ.complete(&w, f.flags&flagSolicited != 0)
}

// refuseLocked tells the peer that its frame is refused, and fails the receive that is being filled. The program may end
// the queue pair once it sees that. So the answers to Reads and atomics in front of the frame leave first, unless the
// peer does not take them.
//
// +checklocks:r.mu
func (r *receiver) refuseLocked(ours, theirs uverbs.WCStatus) {
	r.becomeLocked(receiverRefusing)
	r.refuseAfterLocked(answerWait{}, ours, theirs)
}

// refuseAfterLocked is refuseLocked after w.
//
// +checklocks:r.mu
func (r *receiver) refuseAfterLocked(w answerWait, ours, theirs uverbs.WCStatus) {
	if r.l.serving.OwesAnswer() && w.again() {
		time.AfterFunc(w.next, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.state == receiverRefusing {
				r.refuseAfterLocked(w, ours, theirs)
			}
		})
		return
	}
	_ = r.l.post(frame{kind: frameRefuse, number: r.consumed + 1, status: theirs}) // an error ends run
	r.failLocked(ours)
}

// An answerWait is a wait for answers that this end owes. It looks ever more rarely, and for Linger at most.
type answerWait struct{ next, waited time.Duration }

// again reports whether there is another look, after w.next.
func (w *answerWait) again() bool {
	w.waited += w.next
	w.next = min(max(w.next+w.next/8, lookEvery), lookRarely)
	return w.waited < Linger
}

// failLocked completes the receive that is being filled with an error, which ends the link.
//
// +checklocks:r.mu
func (r *receiver) failLocked(status uverbs.WCStatus) {
	if r.state == receiverClosed {
		return // the link has ended since runPlain took the receive
	}
	m, q := r.message, r.l.q
	r.message = nil
	r.closeLocked()
	q.recvCQ.complete(&uverbs.WC{ID: m.id, Status: status, Op: uverbs.WCRecv, QPN: q.num}, true)
	if r.l.isSelf() {
		return // the refusal is on its way to this queue pair, and fails it with the reason
	}
	r.l.mu.Lock()
	r.l.over = true // so that the end of the connection, which may come first, is not taken for the cause
	r.l.mu.Unlock()
	go q.fail(r.l, uverbs.FlushErr, "a receive has failed: "+status.String())
}

// +checklocks:r.mu
func (r *receiver) closeLocked() {
	r.becomeLocked(receiverClosed)
	r.noteIdleLocked()
}

// noteIdleLocked wakes awaitIdle if no frame waits any more.
//
// +checklocks:r.mu
func (r *receiver) noteIdleLocked() {
	if r.idle != nil && (r.state == receiverClosed || r.state == receiverOpen && len(r.held) == 0) {
		close(r.idle)
		r.idle = nil
	}
}

// awaitIdle waits until the receiver has acted on the frames that wait, or ended has been closed. No further frame may
// come. Once busy has been closed, it waits for ownWork at most, and what waits then is not acted upon.
func (r *receiver) awaitIdle(ended, busy <-chan struct{}) {
	r.mu.Lock()
	idle := make(chan struct{})
	r.idle = idle
	r.noteIdleLocked()
	r.mu.Unlock()
	select {
	case <-idle:
		return
	case <-ended:
		return
	case <-busy:
	}
	select {
	case <-idle:
	case <-ended:
	case <-time.After(ownWork):
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.state == receiverOpen {
			r.becomeLocked(receiverRefusing)
		}
	}
}

// close ends the receiver. If flush is set, the receive that is being filled is flushed.
func (r *receiver) close(flush bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeLocked()
	if r.look != nil {
		r.look.Stop()
		r.look = nil
	}
	if r.late != nil {
		r.l.q.ctx.late.remove(r.late)
		r.late = nil
	}
	if r.dueTimer != nil {
		r.dueTimer.Stop()
	}
	r.held = nil
	if m := r.message; m != nil && flush {
		r.l.q.recvCQ.complete(&uverbs.WC{ID: m.id, Status: uverbs.FlushErr, Op: uverbs.WCRecv, QPN: r.l.q.num}, false)
	}
	r.message = nil
}

// consumedNumber returns the number of the last frame that was acted upon.
func (r *receiver) consumedNumber() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.consumed
}
