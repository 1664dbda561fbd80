package rdmap

import (
	"bytes"
	"errors"

	"github.com/rddp/rddp/ddp"
)

// Handle acts on a message that DDP has delivered. It completes receives, Reads and atomics, and
// queues answers to requests. If the message is wrong or is a Terminate, Handle ends the stream.
// The receiving goroutine calls Handle for each message in order, except that it calls Receive for
// a message in a bound buffer. Handle keeps no reference to m.
func (q *QP) Handle(m *ddp.Message) {
	if !q.receives() {
		return // messages after the end of the stream are dropped, also a second Terminate
	}
	op, _ := ParseControl(m.RsvdULP)
	var err error
	switch op {
	case OpWrite:
		// "A valid RDMA Write Message MUST NOT be delivered to the Data Sink's ULP" (RFC 5040 §5.1)
	case OpSend, OpSendInvalidate, OpSendSE, OpSendSEInvalidate, OpImmediate, OpImmediateSE:
		err = q.handleSend(op, m)
	case OpReadRequest, OpAtomicRequest:
		err = q.handleRequest(op, m)
	case OpReadResponse:
		err = q.handleReadResponse(m)
	case OpAtomicResponse:
		err = q.handleAtomicResponse(m)
	case OpTerminate:
		err = q.handleTerminate(m)
	default: // admit has refused it, so DDP does not deliver it
		err = operationError(codeOpcode, "%v", op)
	}
	q.heard = true
	if err != nil {
		q.Fail(segmentOf(m, err))
	}
}

// receives reports whether the QP handles inbound messages in its present state. It takes no lock,
// so the stream may end at any moment after the call. Code that Handle runs under mu therefore
// calls receivesLocked again.
func (q *QP) receives() bool {
	return q.TakesMessages() && !q.peerDone.Load()
}

// +checklocks:q.mu
func (q *QP) receivesLocked() bool { return q.isUpLocked() && !q.peerClosed }

// segmentOf adds to err the segment that err is about, unless err already has one.
func segmentOf(m *ddp.Message, err error) error {
	if e, ok := err.(*streamError); ok && e.Header == nil { //nolint:errorlint // made in this package, not wrapped
		e.Header, e.SegmentLen = bytes.Clone(m.Header[:m.HeaderLen]), m.SegmentLen
	}
	return err
}

// handleSend completes the receive buffer that a Send or Immediate Data has consumed.
func (q *QP) handleSend(op Opcode, m *ddp.Message) error {
	if m.Bound {
		panic("BUG: Handle of a message whose buffer was bound")
	}
	var c Completion
	if err := q.received(&c, op, m); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.unlock()
	if q.receivesLocked() { // else it was flushed meanwhile
		q.rq.retire(q.cfg.RecvCQ, c)
	}
	return nil
}

// invalidate invalidates a local STag at the peer's request. RDMAP must "Invalidate the STag if it
// is associated with the RDMAP Stream; or issue a Terminate Message with the STag Cannot be
// Invalidated Terminate Error Code" (RFC 5040 §5.3).
func (q *QP) invalidate(s ddp.STag) error {
	err := q.cfg.Domain.Invalidate(s, q.cfg.QPNum)
	var access *ddp.AccessError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &access) && access.Code == ddp.CodeNotAssociated:
		return &streamError{Code: codeProtectedInvalidate, Err: err}
	default:
		return &streamError{Code: codeInvalidate, Err: err}
	}
}

// handleRequest queues the answer to a Read or Atomic Request.
func (q *QP) handleRequest(op Opcode, m *ddp.Message) error {
	if q.incoming == nil { // few connections get requests
		q.incoming = new(response)
	}
	a := q.incoming
	err := a.parse(op, m, q)
	q.mu.Lock()
	defer q.unlock()
	// A closing QP drops the request, because its FIN makes the peer flush it. But while requests
	// of its own wait for answers, the FIN waits too, and the QP must answer: two ends that close
	// at once would otherwise wait for each other. After Discard a wrong request is no error, and
	// NextMessage drops the others.
	drops := q.state != stateRTS && !q.sq.waits(q.ord)
	switch {
	case err != nil && !q.stream.Discards():
		return err
	case err != nil, drops:
		mustPost(q.responder.queue, nil, nil, 0)
	default:
		q.responder.push(a)
	}
	a.region = nil // so that the region is not kept longer than the answer needs it
	return nil
}

// handleReadResponse completes the oldest Read. It compares the response with that Read although
// DDP has already placed the response: "The Data Sink MAY validate that the STag, Tagged Offset,
// and length of the RDMA Read Response Message are the same" (RFC 5040 §5.2.2). So no Read with
// missing bytes succeeds.
func (q *QP) handleReadResponse(m *ddp.Message) error {
	q.mu.Lock()
	defer q.unlock()
	e := q.sq.oldestAwaited()
	switch {
	case e == nil || e.op != WorkRead:
		return operationError(codeOpcode, "%v that answers no RDMA Read", OpReadResponse)
	case m.STag != e.sinkSTag:
		return &streamError{Code: codeOfDDP(ddp.CodeInvalidSTag),
			Reason: "RDMA Read Response to an STag other than the oldest RDMA Read's"}
	case m.TO != e.sinkTO || m.Len != e.n || !m.Contiguous:
		return &streamError{Code: codeOfDDP(ddp.CodeBounds),
			Reason: "RDMA Read Response that does not match the oldest RDMA Read"}
	}
	if e.sink != nil {
		// Deregister does not wait here, because only the caller's goroutine copies into the sink.
		e.sink.Deregister()
		e.sink = nil
	}
	if q.stream.Discards() { // the sink may lack bytes of the response
		q.sq.end(e, StatusFlushed, errDiscards)
	}
	q.answerLocked(e)
	return nil
}

// handleAtomicResponse completes the oldest atomic.
func (q *QP) handleAtomicResponse(m *ddp.Message) error {
	r, rest, err := ParseAtomicResponse(m.Buffer)
	if err != nil {
		return headerError(err)
	}
	if len(rest) > 0 {
		return operationError(codeUnspecified, "%v of %d bytes", OpAtomicResponse, m.Len)
	}
	q.mu.Lock()
	defer q.unlock()
	// The queue gets the buffer back, for another response.
	mustPost(&q.queues[ddp.QNAtomicResponse], nil, nil, 0)
	e := q.sq.oldestAwaited()
	switch {
	case e == nil || !e.op.isAtomic():
		return operationError(codeOpcode, "%v that answers no atomic", OpAtomicResponse)
	case r.ID != e.atomic.ID:
		return operationError(codeUnspecified, "%v to request %d, not %d", OpAtomicResponse, r.ID, e.atomic.ID)
	}
	e.original = r.Original
	q.answerLocked(e)
	return nil
}

// answerLocked completes the oldest Read or atomic, whose response has arrived: with success,
// unless the caller has ended it already.
// "a Delivered RDMA Read Response MUST be sufficient to Complete the RDMA Read operation" (RFC 5040
// §5.5)
//
// +checklocks:q.mu
func (q *QP) answerLocked(e *sendEntry) {
	q.sq.end(e, StatusOK, nil)
	q.sq.retire(q)
}

// handleTerminate ends the stream because the peer has sent a Terminate.
// "The RDMAP layer MUST Deliver the Terminate Message to the ULP." (RFC 5040 §5.4)
func (q *QP) handleTerminate(m *ddp.Message) error {
	t, err := ParseTerminate(m.Buffer)
	if err != nil {
		return err
	}
	q.terminated(t.inContext(!q.initiator && !q.heard).clone())
	return nil
}
