package softrnic

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// A receiver takes frames, or messages, for the incoming of a link. The goroutine that reads frames
// waits neither for the program, nor for TCP to take anything.
//
// Posting a receive makes no system call. So frames that find no receive are held, and a timer
// looks for receives as long as there are such frames.
type receiver struct {
	l *link

	// The recvMu of the queue pair guards what follows.
	in incoming // +checklocks:l.q.recvMu
	// the wait for receives. After a while, late looks instead; it is nil before
	wait receiveWait  // +checklocks:l.q.recvMu
	late *lateReceive // +checklocks:l.q.recvMu
	// closed, and nil again, once a message has met a receive; nil unless awaitReceive waits
	met chan struct{} // +checklocks:l.q.recvMu
	// closed, and nil again, once no frame waits; nil unless settleDebts waits
	idle chan struct{} // +checklocks:l.q.recvMu
	// the refusal that waits for answers, and its two statuses
	answers      answerWait      // +checklocks:l.q.recvMu
	ours, theirs uverbs.WCStatus // +checklocks:l.q.recvMu
}

const (
	// shortRead is the length in bytes of the buffer of a connection whose last frame was short.
	shortRead = 1024
)

// pieces are buffers for frames with payload.
var pieces = sync.Pool{New: func() any { b := make([]byte, frameLen+maxPiece); return &b }}

// run reads frames from a connection of the link until it ends, and returns why.
func (r *receiver) run(c *conn.Conn) error {
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
	r.l.q.pd.placing.now()
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	waits, err := r.in.comes(f, payload, (*receiverHands)(r))
	if waits {
		r.waitLocked(true)
	}
	return err
}

// waitLocked looks for receives later, or lets the context's lookout do so. first says that a new
// wait begins.
//
// +checklocks:r.l.q.recvMu
func (r *receiver) waitLocked(first bool) {
	if first {
		r.wait = receiveWait{}
	}
	timer := r.repeatTime()
	if r.wait.again(timer, r.l.q.checkPatience()) {
		r.l.q.checkReceive(false)
	}
	if r.wait.slow() && timer == 0 {
		r.late = r.l.q.ctx.late.add(r.l.q.recv, r.lookForReceives)
		return
	}
	r.late = nil
	r.l.alarm(alarmReceives, r.wait.next, false)
}

// repeats reports whether this end does as if the peer sent a message again that has found no
// receive, as over InfiniBand: see fault.RNR.
func (r *receiver) repeats() bool {
	return r.l.kind != linkPlain && r.l.q.ctx.dev.faults.Takes(fault.RNR)
}

// repeatMost is the longest time after which a message is sent again. A card may take 655 ms.
const repeatMost = lookRarely

// repeatTime returns the time after which the peer sends a message again, or 0 if it does not.
func (r *receiver) repeatTime() time.Duration {
	q := r.l.q
	if !r.repeats() {
		return 0
	}
	q.ctx.dev.faults.Took(fault.RNR)
	q.mu.Lock()
	defer q.mu.Unlock()
	return min(max(q.ctx.dev.rnrTime(q.life.attrs.MinRNRTimer), lookEvery), repeatMost)
}

// lookForReceives acts on the frames, or on the message, that wait, if there are receives now.
func (r *receiver) lookForReceives() {
	defer r.l.q.recovers() // the context's lookout calls, too
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	if r.met != nil && r.in.meets((*receiverHands)(r)) {
		wake(&r.met)
	}
	acted, again := r.in.looks((*receiverHands)(r))
	if !again && r.met == nil {
		r.late = nil
		r.noteIdleLocked()
		return
	}
	r.waitLocked(acted)
}

// A receiveWait is a wait for receives. It looks ever more rarely.
type receiveWait struct {
	next, waited time.Duration
	every        time.Duration // the time to the next look, if the RNR timer is no longer
}

// receivePatience is how long a message waits before a receive is said to be missing. It is less
// than the time after which the lookout looks.
const receivePatience = 8 * time.Millisecond

// again sets w.next for another look, with an RNR timer, or 0. It reports whether a receive has
// just been missing for as long as patience.
func (w *receiveWait) again(timer, patience time.Duration) (lacks bool) {
	before := w.waited
	w.waited += w.next
	w.every = min(max(w.every+w.every/8, lookEvery), lookSlowly)
	w.next = max(w.every, timer)
	return before < patience && w.waited >= patience
}

// slow reports whether looks are as rare as those of the lookout.
func (w *receiveWait) slow() bool { return w.every >= lookSlowly }

// receiverHands are the hands of a receiver's incoming. r.l.q.recvMu is held during their calls.
type receiverHands receiver

// take is a method of hands.
//
// +checklocks:r.l.q.recvMu
func (r *receiverHands) take() (*inbound, uverbs.WCStatus) {
	q := r.l.q
	entry, seen, low, ok := q.recv.takeSeen()
	if !ok {
		if r.in.unreliable {
			q.checkReceive(true)
		}
		return nil, uverbs.Success
	}
	if low {
		q.srq.raiseLimit()
	}
	w, err := uverbs.ParseRecvWR(entry)
	status := q.ctx.dev.faults.Receive()
	if err != nil {
		status = uverbs.LocalQPErr
	}
	q.checkTaken(&w)
	q.traceTake(w.ID)
	return &inbound{id: w.ID, at: cursor{pd: q.pd, list: w.SGEs}, list: w.SGEs, seen: seen}, status
}

// place is a method of hands.
func (r *receiverHands) place(m *inbound, payload []byte) error {
	if m.n == 0 {
		r.l.q.checkFilled(m.id, m.seen)
	}
	err := m.at.scatter(payload)
	if err != nil {
		r.l.q.tellsReceive(m, err)
	}
	return err
}

// invalidates is a method of hands.
func (r *receiverHands) invalidates(key uint32) bool {
	pd := r.l.q.pd
	ok := pd.domain.Invalidate(ddp.STag(key), r.l.serving.QPNum()) == nil
	pd.placing.now() // what other queue pairs have written through the key until now
	return ok
}

// complete is a method of hands.
func (r *receiverHands) complete(m *inbound, f frame) {
	q := r.l.q
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
	if f.kind != frameWritten {
		q.checkPlaced(m.id, m.list, m.n, m.seen)
	} else {
		q.checkCame()
	}
	q.examineNow(r.l)
	q.traceFilled(m.id, m.n, uverbs.Success)
	q.recvCQ.complete(&w, f.flags&flagSolicited != 0)
}

// say is a method of hands. An error ends run.
func (r *receiverHands) say(f frame) {
	if f.kind == frameNotReady {
		r.l.q.mu.Lock()
		f.length = uint32(r.l.q.life.attrs.MinRNRTimer)
		r.l.q.mu.Unlock()
	}
	_ = r.l.post(f)
}

// refuse is a method of hands. It waits for the answers unless the peer does not take them.
//
// +checklocks:r.l.q.recvMu
func (r *receiverHands) refuse(ours, theirs uverbs.WCStatus) {
	r.answers, r.ours, r.theirs = answerWait{}, ours, theirs
	r.answer()
}

// answer goes on with a refusal, unless answers are owed.
//
// +checklocks:r.l.q.recvMu
func (r *receiverHands) answer() {
	if r.l.serving.OwesAnswer() && r.answers.again() {
		r.l.alarm(alarmRefuse, r.answers.next, false)
		return
	}
	r.in.refused(r.ours, r.theirs, r)
}

// refuseLater is answer after a wait.
func (r *receiver) refuseLater() {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	if r.in.state == inRefusing {
		(*receiverHands)(r).answer()
	}
}

// acknowledge is a method of hands.
//
// +checklocks:r.l.q.recvMu
func (r *receiverHands) acknowledge() {
	if r.in.asked(r.l.isIdle(), time.Now(), r) {
		return
	}
	r.l.alarm(alarmDue, answerTime, true)
}

// lookAtDue looks whether an acknowledgement has waited for long enough.
func (r *receiver) lookAtDue() {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	if r.in.looksLate(time.Now(), (*receiverHands)(r)) {
		r.l.alarm(alarmDue, answerTime, false)
	}
}

// answered notes that the program's work requests go out. It reports whether an acknowledgement of
// all frames up to number must go out in front of them.
func (r *receiver) answered() (number uint32, inFront bool) {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	return r.in.answers()
}

// An answerWait is a wait for answers that this end owes. It looks ever more rarely, and for Linger
// at most.
type answerWait struct{ next, waited time.Duration }

// again reports whether there is another look, after w.next.
func (w *answerWait) again() bool {
	w.waited += w.next
	w.next = min(max(w.next+w.next/8, lookEvery), lookRarely)
	return w.waited < Linger
}

// fail is a method of hands.
//
// +checklocks:r.l.q.recvMu
func (r *receiverHands) fail(m *inbound, status uverbs.WCStatus) {
	(*receiver)(r).noteIdleLocked()
	q := r.l.q
	q.traceFilled(m.id, m.n, status)
	q.recvCQ.complete(&uverbs.WC{ID: m.id, Status: status, Op: uverbs.WCRecv, QPN: q.num}, true)
	if r.l.kind == linkSelf {
		return // the refusal is on its way to this queue pair, and fails it with the reason
	}
	r.l.q.mu.Lock()
	r.l.out.ends() // so that the end of the connection, which may come first, is not taken for the cause
	r.l.q.mu.Unlock()
	q.failLater(r.l, uverbs.FlushErr, "a receive has failed: "+status.String())
}

// noteIdleLocked wakes settleDebts if no frame waits any more.
//
// +checklocks:r.l.q.recvMu
func (r *receiver) noteIdleLocked() {
	if r.in.isSettled() {
		wake(&r.idle)
	}
}

// wake closes a channel that a goroutine waits for, if there is one, and sets it to nil.
func wake(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}

// awaitIdle returns a channel that is closed once the receiver has acted on the frames that wait,
// or stop has been called. No further frame may come.
func (r *receiver) awaitIdle() <-chan struct{} {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	idle := make(chan struct{})
	r.idle = idle
	r.noteIdleLocked()
	return idle
}

// stop makes the receiver ignore the frames that wait.
func (r *receiver) stop() {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	r.in.stops()
	wake(&r.idle)
}

// close ends the receiver. If flush is set, the receive that is being filled is flushed.
func (r *receiver) close(flush bool) {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	m := r.in.closes()
	r.noteIdleLocked()
	wake(&r.met)
	if r.late != nil {
		r.l.q.ctx.late.remove(r.late)
		r.late = nil
	}
	if m != nil {
		r.l.q.traceFilled(m.id, m.n, uverbs.FlushErr)
	}
	if m != nil && flush {
		r.l.q.recvCQ.complete(&uverbs.WC{ID: m.id, Status: uverbs.FlushErr, Op: uverbs.WCRecv, QPN: r.l.q.num}, false)
	}
}

// consumedNumber returns the number of the last frame that was acted upon.
func (r *receiver) consumedNumber() uint32 {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	return r.in.consumed
}
