package driver

import (
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A concern says whether the messages that have arrived since the last step concern the program.
type concern uint8

const (
	concernsNobody  concern = iota // no message has arrived
	concernsPeer                   // only requests for Reads and atomics, which the queue pair answers
	concernsProgram                // another message, after which the program may go on
)

// A receiver is the way from bytes that have arrived to messages that are delivered: the state of
// MPA and DDP, and how far both have come. It is a value without a goroutine or a clock, and never
// waits. Each call takes what is there as far as possible, and leaves the intake in the state that
// says why it has stopped. The goroutine with the receive role owns it.
type receiver struct {
	mpa    mpa.Receiver
	intake intake
	edge   uint64 // stream offset below which all messages have been delivered
	// fault is the fault that a layer has found in the stream. It is nil again once the connection
	// ends because of it.
	fault error
	// awaitsRTR says that the peer's first Send has not arrived, which is its Ready to Receive
	// indication (RFC 6581 §9).
	awaitsRTR bool
	shared    bool    // the application's receive buffers come from a shared receive queue
	oneSided  bool    // an operation has come that the program takes no part in
	concerns  concern // reset by streamReceiver.step
	// waiting is the number of bytes of the present early run that have not been placed.
	waiting int

	qp          *rdmap.QP
	invalidated func(s ddp.STag) // Config.Invalidated
	reports

	ddp ddp.Receiver
}

// The reports are the parts that a receiver reports to.
type reports struct {
	in     *lockedDelivery // nil if the application posts the buffers
	bytes  *byteStream     // nil in message mode
	count  *counters.Counters
	fenced *atomic.Bool // that of the streamSender
}

// An intake is how far receiving has come. It is not a part of life, because it belongs to the
// goroutine that holds the receive role.
//
//	          ┌────▶ stalled ───┐
//	          │         ▲       │
//	open ◀────┼────▶ paused  ───┼──▶ over
//	  │       └────▶ resting ───┤
//	  └─────────────────────────┘
//
// It is stalled if the program has to read before there is memory for a message. In a pause the
// receive buffer keeps messages that do not fit into the memory of the Read that has the role. It
// rests if a Read has taken the beginning of a message, until Reads have taken all of the message
// or its rest has moved to memory of the pool. The next Read goes on from there, and what it gets
// is copied once. If something else arrives before a Read comes, the home goroutine is called and
// goes on, and the data goes to memory of the pool.
type intake uint8

const (
	intakeOpen    intake = iota
	intakeStalled        // the present ULPDU waits for a buffer
	intakePaused         // the present ULPDU waits for the next Read
	intakeResting        // a Read has taken the beginning of the present ULPDU, which is placed; the rest waits
	intakeOver           // nothing more will arrive
)

var intakeNames = [...]string{"open", "stalled", "paused", "resting", "over"}

func (i intake) String() string { return intakeNames[i] }

var intakeNext = states.Table[intake]{
	intakeOpen:    states.To(intakeStalled, intakePaused, intakeResting, intakeOver),
	intakeStalled: states.To(intakeOpen, intakeOver),
	intakePaused:  states.To(intakeOpen, intakeStalled, intakeOver),
	intakeResting: states.To(intakeOpen, intakeOver),
	intakeOver:    0,
}

// isHeld reports whether the receive buffer is in use until the present ULPDU has been taken.
func (i intake) isHeld() bool { return i == intakeStalled || i == intakePaused || i == intakeResting }

// isHomes reports whether only the home goroutine can go on: it may wait for memory, and it carries
// out the end.
func (i intake) isHomes() bool { return i == intakeStalled || i == intakeOver }

// setIntake changes the intake. Nothing else does.
func (w *receiver) setIntake(next intake) {
	if next != w.intake {
		intakeNext.Become(&w.intake, next)
	}
}

// place takes every complete ULPDU, in order, and handles the messages that become complete. It
// reports whether the stream is still sound. If the stream is not sound, the reason is in fault, or
// else in the queue pair. If a ULPDU must wait for a buffer, the intake is stalled afterwards. If a
// Read has the role, and its memory has no room for data of a byte stream, the intake is paused
// afterwards, or resting if there was room for the beginning of a message. The next call goes on
// from there.
func (w *receiver) place() (sound bool) {
	if w.intake == intakeResting && !w.rest() {
		return true
	}
	for w.intake.isHeld() || w.mpa.Next() { // each verified ULPDU exactly once
		u := w.mpa.ULPDU()
		if w.intake == intakeOpen && !u.Early {
			w.count.Add(counters.Received+counters.FPDUs, 1)
		}
		// The way out may have ended the stream: "MUST NOT allow any further data transfer" (RFC
		// 5040 §7)
		if !w.qp.TakesMessages() {
			w.setIntake(intakeOpen)
			return false
		}
		if u.Early {
			w.placeEarly(u)
			continue
		}
		// FPDUs that were placed before their turn may end a message. It must be delivered before
		// the next message gets a buffer.
		if u.Off > w.edge && !w.deliver(u.Off) {
			return false
		}
		if !w.bind(u.Data) {
			if w.in.isPaused() {
				w.setIntake(intakePaused)
			} else {
				w.setIntake(intakeStalled)
			}
			return true
		}
		w.setIntake(intakeOpen)
		w.ddp.Place(u.Off, u.Data)
		if !w.deliver(w.mpa.Edge()) { // a rest is then lost, because this end has ended the stream
			return false
		}
		if w.in != nil && w.in.hasRest() {
			w.setIntake(intakeResting)
			return true
		}
	}
	if edge := w.mpa.Edge(); edge != w.edge && !w.deliver(edge) { // it has passed segments that were placed early
		return false
	}
	if err := w.mpa.Err(); err != nil {
		w.fault = err
		return false
	}
	return true
}

// retreat moves a message that is being placed in the memory of the Read that has the receive role,
// because that Read leaves.
func (w *receiver) retreat() {
	if w.in == nil {
		return
	}
	if body := w.in.retreat(); body != nil {
		w.ddp.Rebind(ddp.QNSend, body)
	}
}

// placeEarly places a ULPDU that lies behind a gap, if that is allowed before its turn.
func (w *receiver) placeEarly(u *mpa.ULPDU) {
	if !w.ddp.TryPlace(u.Off, u.Data) {
		w.mpa.Unread() // not placeable yet: the ULPDU comes again in order
		return
	}
	w.count.Add(counters.Received+counters.FPDUs, 1)
	w.count.Add(counters.Early, 1)
	w.count.Add(counters.EarlyOctets, uint64(len(u.Data)))
	w.waiting -= u.Size
}

// rest goes on with the message that stays in the receive buffer, and reports whether nothing of it
// is left there.
func (w *receiver) rest() (over bool) {
	over, freed, back := w.in.takeRest()
	if over {
		w.setIntake(intakeOpen)
	}
	if freed {
		w.bytes.freed(back, int(w.in.window.Load()))
	}
	return over
}

// deliver handles the messages whose last byte lies below the edge. It reports whether the stream
// is still sound.
func (w *receiver) deliver(edge uint64) (sound bool) {
	w.edge = edge
	sound = w.handle()
	if w.in != nil {
		w.in.unbind(sound)
	}
	return sound
}

func (w *receiver) handle() (sound bool) {
	if w.edge > 0 {
		w.fenced.Store(false)
	}
	for w.ddp.Deliver(w.edge) {
		m := w.ddp.Message()
		w.count.Message(counters.Received, m.RsvdULP)
		if m.QN == ddp.QNReadRequest && !m.Tagged {
			w.concerns = max(w.concerns, concernsPeer)
		} else {
			w.concerns = concernsProgram
		}
		if m.Bound {
			if err := w.receiveMessage(m); err != nil {
				w.fault = err
				return false
			}
			w.noteInvalidated(m)
			continue
		}
		if m.Tagged || m.QN != ddp.QNSend {
			w.oneSided = true
		} else {
			w.awaitsRTR = false
		}
		if m.Tagged && m.Contiguous && w.bytes != nil {
			w.bytes.rx.Placed(rdmap.Handle{STag: m.STag, TO: m.TO, Len: m.Len})
		}
		w.qp.Handle(m) // completions and responses, in stream order
		w.noteInvalidated(m)
	}
	if n := w.ddp.SavedCopies; n != w.count.Load(counters.SavedCopies) {
		w.count.Set(counters.SavedCopies, n)
	}
	if err := w.ddp.Err(); err != nil {
		w.fault = err
		return false
	}
	return w.qp.TakesMessages()
}

// noteInvalidated reports the STag that m, which has been handled, has invalidated.
func (w *receiver) noteInvalidated(m *ddp.Message) {
	if op, _ := rdmap.ParseControl(m.RsvdULP); op.Invalidates() && w.invalidated != nil {
		w.invalidated(ddp.STag(m.RsvdULP32))
	}
}

// bind gives DDP a buffer if the segment begins a Send and the connection provides the receive
// buffers. In DDP mode the ULP must provide them (RFC 5041 §7.2), and here the driver is the ULP.
// bind reports false if the message must wait.
func (w *receiver) bind(ulpdu []byte) bool {
	if w.in == nil && !w.shared || ddp.IsTagged(ulpdu) {
		return true
	}
	h, payload, err := ddp.ParseUntagged(ulpdu)
	switch {
	case err != nil || h.QN != ddp.QNSend:
		return true
	case w.shared:
		w.qp.TakeShared() // if it fails, DDP finds no buffer
		return true
	case w.awaitsRTR: // the queue pair has a buffer for the RTR message
		return true
	case w.in.isPlacing(): // the message goes on, or is inside another one: then DDP ends the stream for its MSN
		return true
	}
	head, body, answer := w.in.bind(payload, h.Last)
	if answer == delayed {
		return false
	}
	if answer == bound && !w.ddp.Bind(ddp.QNSend, head, body) { // the stream has ended
		w.in.drop()
	}
	return true
}

// receiveMessage passes a message that has arrived in a bound buffer to the inbox.
func (w *receiver) receiveMessage(m *ddp.Message) error {
	c, ok := w.qp.Receive(m)
	if !ok { // the stream has ended
		w.in.drop()
		return nil
	}
	head, body := w.in.received(int(c.Len))
	if w.bytes != nil {
		return w.arrived(head, body)
	}
	w.in.acceptMessage(len(body), c)
	return nil
}

// arrived acts on a message that has been placed.
func (w *receiver) arrived(head, body []byte) error {
	s, in := w.bytes, w.in
	if s.rx.OutOfCredits() {
		s.countCredits()
	}
	a, err := s.rx.Arrived(head, body)
	if err != nil {
		return err
	}
	var answer rdmap.Handle
	freed, back := true, 0 // the message's buffer is free, and the peer gets so many credits back
	if a.Kind == bytestream.Data {
		freed, back = in.accept(a.N, a.Buffer)
		if a.N > 0 {
			s.heard.Store(true)
		}
		if a.End {
			in.streamEnds()
		}
	} else {
		back = in.dropControl(a.Buffer)
	}
	switch a.Kind {
	case bytestream.Offer:
		if answer, err = in.makeGrant(a.N, s.register); err != nil {
			return err
		}
		s.rx.Answer(answer)
	case bytestream.Done:
		in.useGrant(a.N)
	case bytestream.Cancel:
		in.endGrant()
	}
	if !freed && a.Credits == 0 { // data that waits for Read
		return nil
	}
	return s.tell(a, back, int(in.window.Load()), answer)
}
