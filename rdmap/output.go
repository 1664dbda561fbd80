package rdmap

import (
	"github.com/rddp/rddp/ddp"

	"github.com/rddp/rddp/internal/rdmaphdr"
)

// An output is the part of a QP that turns what is queued into messages, one after the other.
type output struct {
	given     []outputKind // messages given out and not reported by Sent, the oldest first
	answered  bool         // the last one was a response, so it is the send queue's turn
	terminate []byte       // the Terminate Header to be sent; nil if there is none
	payload   [1][]byte    // of the Terminate's message
}

// An outputKind says where a message came from.
type outputKind uint8

const (
	nothing outputKind = iota
	request            // the send queue
	answer             // the responder
	terminate
)

// NextMessage takes the next message to be sent, if there is one; Message gives it. The caller holds
// the transmit token, sends the message to its last segment before it asks for the next, and tells with
// Sent. If DDP reports instead that the message's source is gone, the caller passes that error to Fail.
func (q *QP) NextMessage() bool {
	for {
		if !q.outputDue.Load() {
			q.msg.Payload, q.msg.Source = nil, nil // the garbage collector may have them
			return false
		}
		q.mu.Lock()
		kind := q.nextLocked()
		var a *response
		switch kind {
		case nothing: // it is gone since, and the next round sees that
			q.unlock()
			continue
		case request:
			q.sq.give(&q.msg)
		case answer:
			a = q.responder.give()
		case terminate:
			q.output.payload[0] = q.output.terminate
			q.msg = ddp.Message{
				RsvdULP: rdmaphdr.Control(rdmaphdr.OpTerminate), QN: ddp.QNTerminate,
				Payload: q.output.payload[:], Len: uint32(len(q.output.terminate)),
			}
			q.output.terminate = nil
		}
		q.output.given = append(q.output.given, kind)
		q.output.answered = kind == answer
		q.unlock()
		if a == nil {
			return true
		}
		// Not under mu: an atomic competes with others for its word.
		err := a.message(&q.msg)
		if err == nil {
			return true
		}
		q.mu.Lock()
		q.output.withdraw()
		q.unlock()
		q.Fail(err) // the next message is the Terminate, if it may be sent
	}
}

// withdraw strikes the message given out last off the list: it will never be whole.
func (o *output) withdraw() {
	o.given = o.given[:max(len(o.given)-1, 0)] // after an Abort the list is empty
}

// Message returns the message that NextMessage took. It is good until the next NextMessage; what its
// payload refers to is good until Sent.
func (q *QP) Message() *ddp.Message { return &q.msg }

// HasOutput reports whether NextMessage would find a message. Any goroutine may ask.
func (q *QP) HasOutput() bool { return q.outputDue.Load() }

// Drained reports whether nothing is left to send: nothing waits, not even for a response, and Sent has
// reported all that was given out. Any goroutine may ask.
func (q *QP) Drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.drainedLocked()
}

// +checklocks:q.mu
func (q *QP) drainedLocked() bool {
	if len(q.output.given) > 0 || q.output.terminate != nil {
		return false
	}
	// In any other state what is queued will not go out.
	return !q.isUpLocked() || q.sq.isEmpty() && q.responder.isEmpty()
}

// nextLocked says what the next message is. Requests and answers take turns when both are due.
//
// +checklocks:q.mu
func (q *QP) nextLocked() outputKind {
	switch q.state {
	case StateTerminating:
		if q.output.terminate != nil {
			return terminate
		}
	case StateRTS, StateClosing:
		hasRequest, hasAnswer := q.sq.ready(q.ord), q.responder.ready()
		switch {
		case hasAnswer && !(hasRequest && q.output.answered):
			return answer
		case hasRequest:
			return request
		}
	}
	return nothing
}

// Sent tells that TCP has taken the last octet of the first n messages given out and not yet reported.
// Sends, Writes and Immediate Data among them are complete. The caller holds the transmit token. A
// message whose source was gone does not count.
func (q *QP) Sent(n int) {
	q.mu.Lock()
	defer q.unlock()
	o := &q.output
	n = min(n, len(o.given)) // after an Abort there is none to report
	for _, kind := range o.given[:n] {
		switch kind {
		case request:
			q.sq.giveBack()
		case answer:
			q.responder.giveBack()
		case terminate:
			o.payload[0] = nil
		}
	}
	o.given = append(o.given[:0], o.given[n:]...)
	q.sq.retire(q)
	q.moveOnLocked()
}
