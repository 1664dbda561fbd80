package rdmap

import "github.com/rddp/rddp/ddp"

// An output is the part of a QP that turns requests and answers into messages, one after the other.
type output struct {
	given     []outputKind // messages given out and not reported by Sent, the oldest first
	answered  bool         // the last message was an answer, so the send queue is next
	terminate []byte       // the Terminate Header to send; nil if there is none
	payload   [1][]byte    // of the Terminate's message
}

// An outputKind is the origin of a message.
type outputKind uint8

const (
	nothing outputKind = iota
	request            // the send queue
	answer             // the responder
	terminate
)

// NextMessage takes the next message to send and reports whether there is one. Message returns that
// message. The caller holds the transmit token. It must send the message up to its last segment
// before it calls NextMessage again, and must report the message with Sent. If DDP reports that the
// message's source is gone, the caller passes that error to Fail instead.
func (q *QP) NextMessage() bool {
	for {
		if !q.outputDue.Load() {
			q.msg.Payload, q.msg.Source = nil, nil // so that the garbage collector may free them
			return false
		}
		q.mu.Lock()
		kind := q.nextLocked()
		var a *response
		switch kind {
		case nothing: // the message is gone by now, and the next round sees that
			q.unlock()
			continue
		case request:
			q.sq.give(&q.msg)
		case answer:
			if q.stream.Discards() {
				// The peer's reads are dropped, and the stream carries only this end's messages.
				q.responder.drop()
				q.moveOnLocked()
				q.unlock()
				continue
			}
			a = q.responder.give()
		case terminate:
			q.output.payload[0] = q.output.terminate
			q.msg = ddp.Message{
				RsvdULP: Control(OpTerminate), QN: ddp.QNTerminate,
				Payload: q.output.payload[:], Len: uint32(len(q.output.terminate)),
			}
			q.output.terminate = nil
		}
		q.output.note(kind)
		q.unlock()
		if a == nil {
			return true
		}
		// Without mu, because an atomic may wait for other users of its word.
		err := a.message(&q.msg, &q.stream)
		if err == nil {
			return true
		}
		q.unanswered(err)
	}
}

// unanswered withdraws the answer given out last, which is not sent because of err.
func (q *QP) unanswered(err error) {
	q.mu.Lock()
	q.output.withdraw()
	if q.stream.Discards() {
		q.responder.drop()
		q.responder.takeBack()
		q.moveOnLocked()
		q.unlock()
		return
	}
	q.failLocked(err, true) // the next message is the Terminate, if it may be sent
	q.unlock()
}

// note appends a message to the list of messages given out.
func (o *output) note(kind outputKind) {
	o.given = append(o.given, kind)
	o.answered = kind == answer
}

// withdraw removes the message given out last from the list. That message will never be sent whole.
func (o *output) withdraw() {
	o.given = o.given[:max(len(o.given)-1, 0)] // after an Abort the list is empty
}

// Message returns the message that NextMessage took. The ID of a request's message is that of the
// request. The message is valid until the next call of NextMessage. The memory that its payload
// refers to is valid until Sent reports the message.
func (q *QP) Message() *ddp.Message { return &q.msg }

// HasOutput reports whether NextMessage would find a message. Any goroutine may call it.
func (q *QP) HasOutput() bool { return q.outputDue.Load() }

// OwesAnswer reports whether TCP has not taken the answers to all requests of the peer that were
// handled. Any goroutine may call it.
func (q *QP) OwesAnswer() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isUpLocked() && q.responder.owes()
}

// Drained reports whether nothing is left to send: nothing is queued, not even a request that waits
// for a response to another, and Sent has reported every message given out. Any goroutine may call
// it.
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
	// In all other states the queued requests and answers are never sent.
	return !q.isUpLocked() || q.sq.isEmpty() && q.responder.isEmpty()
}

// nextLocked returns the kind of the next message. Requests and answers alternate when both are
// ready.
//
// +checklocks:q.mu
func (q *QP) nextLocked() outputKind {
	switch q.state {
	case stateTerminating:
		if q.output.terminate != nil {
			return terminate
		}
	case stateRTS, stateClosing, stateFailing, stateOwing:
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

// moveOnLocked changes the state if TCP has taken the last message and the state waited for that.
//
// +checklocks:q.mu
func (q *QP) moveOnLocked() {
	if !q.drainedLocked() {
		return
	}
	switch {
	case q.state == stateOwing:
		q.terminateLocked(*q.late)
	case q.state == stateClosing:
		q.endLocked(stateClosed, nil)
	case q.state == stateTerminating && q.peerClosed:
		q.setState(stateError)
	}
}

// unlock releases mu. First it notes whether there is output, because the holder of mu may have
// changed that.
//
// +checklocksrelease:q.mu
func (q *QP) unlock() {
	q.outputDue.Store(q.nextLocked() != nothing)
	q.mu.Unlock()
}

// Sent reports that TCP has taken the last byte of the oldest n messages given out and not yet
// reported. The Sends, Writes and Immediate Data among them are then complete. The caller holds the
// transmit token. It must not count a message whose source was gone. With n = 0 Sent does nothing.
func (q *QP) Sent(n int) {
	if n == 0 {
		return
	}
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
