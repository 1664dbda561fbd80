package softrnic

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/states"
)

// An incoming is the half of a link that receives: the frames of the peer, and the acknowledgements
// that it waits for. It is a value without lock, goroutine or clock, as a life is. Its hands access
// the program's queues and memory, and send frames to the peer.
type incoming struct {
	state incomingState
	// over UC, a message that finds no receive is lost
	unreliable bool
	// numbers of the last frame that was acted upon, and of the last that was acknowledged
	consumed, acked uint32
	// frames that wait for a receive, and those behind them
	held []heldFrame
	// the Send whose last piece has not come; nil if there is none
	message *inbound
	due     due
}

// An incomingState says what becomes of the next frame:
//
//	open ──▶ refusing ──▶ closed
//	  └─────────────────────▲
type incomingState uint8

const (
	inOpen     incomingState = iota // it is acted upon, or held
	inRefusing                      // it is behind a frame that is to be refused, and is ignored
	inClosed                        // it is ignored
)

var incomingNames = [...]string{"open", "refusing", "closed"}

func (s incomingState) String() string { return incomingNames[s] }

var incomingNext = states.Table[incomingState]{
	inOpen:     states.To(inRefusing, inClosed),
	inRefusing: states.To(inClosed),
	inClosed:   states.To(inClosed), // a link that ends after a receive has failed
}

// A heldFrame is a frame that could not be acted upon when it came.
type heldFrame struct {
	frame
	payload []byte
}

// An inbound is a receive that is being filled.
type inbound struct {
	id   uint64
	at   cursor
	n    uint32
	list []byte // all of it, which at has passed in part
	seen *seenReceive
}

// hands are the actions of an incoming on its surroundings.
type hands interface {
	// take takes the program's next receive. It returns nil if there is none. The status is not
	// Success if the receive is wrong, or fails by an injected fault.
	take() (*inbound, uverbs.WCStatus)
	// place copies a piece of a Send to its receive.
	place(m *inbound, payload []byte) error
	// invalidates ends the validity of a key, and reports whether the peer may do so.
	invalidates(key uint32) bool
	// complete completes the receive that frame f ends.
	complete(m *inbound, f frame)
	// acknowledge acknowledges the frames up to the present one, now or later: see asked.
	acknowledge()
	// say sends a frame that does not count.
	say(f frame)
	// refuse calls refused with the two statuses, once the answers to Reads and atomics in front of
	// the present frame have left.
	refuse(ours, theirs uverbs.WCStatus)
	// fail completes a receive with an error, and then the link ends.
	fail(m *inbound, status uverbs.WCStatus)
}

// comes is the event that a frame that counts arrives. The payload belongs to the caller. waits
// says that the frame is the first one that waits for a receive. An error ends the connection.
func (in *incoming) comes(f frame, payload []byte, h hands) (waits bool, err error) {
	switch {
	case in.state != inOpen, len(in.held) == 0 && in.acts(f, payload, h):
		return false, nil
	case len(in.held) >= window:
		return false, fmt.Errorf("%w: it has sent more than the %d frames that may wait for an acknowledgement", errFrame, window)
	}
	in.held = append(in.held, heldFrame{f, append([]byte(nil), payload...)})
	if waits = len(in.held) == 1; waits {
		in.saysNotReady(h)
	}
	return waits, nil
}

// saysNotReady tells the peer that the next frame waits for a receive.
func (in *incoming) saysNotReady(h hands) { h.say(frame{kind: frameNotReady, number: in.consumed + 1}) }

// looks is the event that the program may have posted receives. Frames that wait are acted upon.
// again says that some still wait, and acted that some were acted upon.
func (in *incoming) looks(h hands) (acted, again bool) {
	for len(in.held) > 0 && in.state == inOpen && in.acts(in.held[0].frame, in.held[0].payload, h) {
		in.held[0].payload = nil
		in.held = in.held[1:]
		acted = true
	}
	if acted && in.state != inClosed && in.acked != in.consumed {
		in.says(h) // the peer waits for it, though it may not have asked
	}
	again = len(in.held) > 0 && in.state == inOpen
	if acted && again {
		in.saysNotReady(h)
	}
	return acted, again
}

// acts acts on the next frame that counts. It returns false if the frame needs a receive and there
// is none.
func (in *incoming) acts(f frame, payload []byte, h hands) bool {
	if f.kind == frameWritten && in.message != nil { // inside a Send, whose receive would be forgotten
		in.refuses(uverbs.RemoteInvalidErr, uverbs.RemoteInvalidErr, h)
		return true
	}
	if f.kind == frameWritten || f.kind == frameSend && in.message == nil {
		var status uverbs.WCStatus
		if !in.unreliable || f.kind == frameWritten || f.flags&flagFirst != 0 { // or a Send without a receive goes on
			in.message, status = h.take()
		}
		switch {
		case in.message == nil && in.unreliable:
			in.consumes(f, h)
			return true
		case in.message == nil:
			return false
		case status != uverbs.Success:
			in.refuses(status, uverbs.RemoteOpErr, h)
			return true
		}
	}
	m := in.message
	switch f.kind {
	case frameSend:
		if err := h.place(m, payload); err != nil {
			theirs := uverbs.RemoteOpErr
			if err == errLocalLength {
				theirs = uverbs.RemoteInvalidErr
			}
			in.refuses(localStatus(err), theirs, h)
			return true
		}
		m.n += uint32(len(payload))
	case frameWritten:
		m.n = f.length
	}
	if f.flags&flagInvalidate != 0 && !h.invalidates(key(f.immediate)) {
		in.refuses(uverbs.LocalAccessErr, uverbs.RemoteAccessErr, h)
		return true
	}
	if f.kind == frameWritten || f.kind == frameSend && f.flags&flagLast != 0 {
		in.message = nil
		h.complete(m, f)
	}
	in.consumes(f, h)
	return true
}

// meets is the event that a message without a frame waits for a receive. It returns false if the
// message has to wait on. If the receive is wrong, the link ends.
func (in *incoming) meets(h hands) bool {
	if in.state != inOpen {
		return true
	}
	m, status := h.take()
	if in.message = m; m != nil && status != uverbs.Success {
		in.fails(status, h)
	}
	return m != nil
}

// fills is the event that bytes of that message arrive. An error ends the connection.
func (in *incoming) fills(payload []byte, h hands) error {
	if in.state != inOpen {
		return nil
	}
	err := h.place(in.message, payload)
	if err != nil {
		in.fails(localStatus(err), h)
		return err
	}
	in.message.n += uint32(len(payload))
	return nil
}

// filled is the event that the message is complete. f has its flags, and its key if it invalidates
// one. filled returns false if the link has ended.
func (in *incoming) filled(f frame, h hands) bool {
	if in.state == inClosed {
		return false
	}
	m := in.message
	in.message = nil
	h.complete(m, f)
	return true
}

// consumes notes that a frame has been acted upon.
func (in *incoming) consumes(f frame, h hands) {
	in.consumed++
	if f.flags&flagAck != 0 {
		h.acknowledge()
	}
}

// says acknowledges all frames up to the present one.
func (in *incoming) says(h hands) {
	in.acked = in.consumed
	h.say(frame{kind: frameAck, number: in.consumed})
}

// asked is the event that the peer asks for an acknowledgement. It returns false if the
// acknowledgement waits for the program's next work requests: then looksLate must be called. idle
// says that this end waits for no acknowledgement itself.
func (in *incoming) asked(idle bool, now time.Time, h hands) (said bool) {
	if said = in.due.ask(idle, now); said {
		in.says(h)
	}
	return said
}

// answers is the event that the program's work requests go out. It reports whether an
// acknowledgement of all frames up to number must go out in front of them.
func (in *incoming) answers() (number uint32, inFront bool) {
	if inFront = in.due.answer(); inFront {
		in.acked = in.consumed
	}
	return in.consumed, inFront
}

// looksLate is the event that an acknowledgement may have waited for long enough. again says that
// it must be called once more.
func (in *incoming) looksLate(now time.Time, h hands) (again bool) {
	if in.state == inClosed {
		return false
	}
	atOnce, again := in.due.look(now)
	if atOnce {
		in.says(h)
	}
	return again
}

// refuses is the event that the present frame is wrong. The peer gets a refusal, and the receive
// that is being filled fails. The program may end the queue pair once it sees that, so the answers
// to Reads and atomics in front of the frame leave first.
func (in *incoming) refuses(ours, theirs uverbs.WCStatus, h hands) {
	incomingNext.Become(&in.state, inRefusing)
	h.refuse(ours, theirs)
}

// refused is the event that these answers have left, or that the peer does not take them.
func (in *incoming) refused(ours, theirs uverbs.WCStatus, h hands) {
	if in.state == inRefusing {
		h.say(frame{kind: frameRefuse, number: in.consumed + 1, status: theirs})
		in.fails(ours, h)
	}
}

// fails is the event that the receive that is being filled fails. The link may have ended before.
func (in *incoming) fails(status uverbs.WCStatus, h hands) {
	if in.state == inClosed {
		return
	}
	m := in.message
	in.message = nil
	incomingNext.Become(&in.state, inClosed)
	h.fail(m, status)
}

// stops is the event that frames that wait are not to be acted upon any more.
func (in *incoming) stops() {
	if in.state == inOpen {
		incomingNext.Become(&in.state, inRefusing)
	}
}

// closes is the event that the link ends. It returns the receive that was being filled.
func (in *incoming) closes() (m *inbound) {
	m, in.message, in.held = in.message, nil, nil
	incomingNext.Become(&in.state, inClosed)
	return m
}

// isSettled reports whether no frame waits any more.
func (in *incoming) isSettled() bool {
	return in.state == inClosed || in.state == inOpen && len(in.held) == 0
}
