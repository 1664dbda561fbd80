package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Handle acts on a message that DDP has delivered: it completes receives, Reads and atomics, queues
// answers to requests, and ends the stream where the message is wrong or says so. It is called by the
// goroutine that receives, for each message in order, and keeps nothing of m.
func (q *QP) Handle(m *ddp.Message) {
	if !q.receives() {
		return // what comes after the end is dropped, a second Terminate too
	}
	op, _ := rdmaphdr.ParseControl(m.RsvdULP)
	var err error
	switch op {
	case rdmaphdr.OpWrite:
		// "A valid RDMA Write Message MUST NOT be delivered to the Data Sink's ULP" (RFC 5040 §5.1)
	case rdmaphdr.OpSend, rdmaphdr.OpSendInvalidate, rdmaphdr.OpSendSE, rdmaphdr.OpSendSEInvalidate, rdmaphdr.OpImmediate, rdmaphdr.OpImmediateSE:
		err = q.handleSend(op, m)
	case rdmaphdr.OpReadRequest, rdmaphdr.OpAtomicRequest:
		err = q.handleRequest(op, m)
	case rdmaphdr.OpReadResponse:
		err = q.handleReadResponse(m)
	case rdmaphdr.OpAtomicResponse:
		err = q.handleAtomicResponse(m)
	case rdmaphdr.OpTerminate:
		err = q.handleTerminate(m)
	default: // DDP has asked admit and does not deliver it
		err = operationError(codeOpcode, "%v", op)
	}
	q.heard = true
	if err != nil {
		q.Fail(segmentOf(m, err))
	}
}

// receives reports whether inbound messages count in the present state. It takes no lock, so the stream may
// end at any moment after it: what Handle does under mu asks receivesLocked again.
func (q *QP) receives() bool {
	s := q.State()
	return (s == StateRTS || s == StateClosing) && !q.peerDone.Load()
}

// +checklocks:q.mu
func (q *QP) receivesLocked() bool { return q.isUpLocked() && !q.peerClosed }

// segmentOf adds to err the segment it is about, unless it knows.
func segmentOf(m *ddp.Message, err error) error {
	if e, ok := err.(*Error); ok && e.Header == nil { //nolint:errorlint // made in this package, not wrapped
		e.Header, e.SegmentLen = bytes.Clone(m.Header[:m.HeaderLen]), m.SegmentLen
	}
	return err
}

// handleSend completes the receive buffer that a Send or Immediate Data has used up.
func (q *QP) handleSend(op rdmaphdr.Opcode, m *ddp.Message) error {
	c := Completion{QPNum: q.cfg.QPNum, Len: m.Len, Solicited: op.Solicits()}
	if op.IsImmediate() {
		// "The Remote Peer MUST check that Immediate Data and Immediate Data with SE Messages include
		// exactly 8 bytes of data" (RFC 7306 §6.3)
		if m.Len != rdmaphdr.ImmediateLen {
			return operationError(codeUnspecified, "%v of %d octets", op, m.Len)
		}
		c.Len, c.HasImmediate, c.Immediate = 0, true, binary.BigEndian.Uint64(m.Buffer)
	}
	if op.Invalidates() {
		// Not under mu: it waits for copies to and from the region. And first: when the Completion is
		// seen the STag is invalid.
		c.HasInvalidated, c.Invalidated = true, ddp.STag(m.RsvdULP32)
		if err := q.invalidate(c.Invalidated); err != nil {
			return err
		}
	}
	q.mu.Lock()
	defer q.unlock()
	if q.receivesLocked() { // else it was flushed meanwhile
		q.rq.retire(q.cfg.RecvCQ, c)
	}
	return nil
}

// invalidate ends the validity of a local STag at the peer's wish. RDMAP must
// "Invalidate the STag if it is associated with the RDMAP Stream; or issue a Terminate Message with the
// STag Cannot be Invalidated Terminate Error Code" (RFC 5040 §5.3)
func (q *QP) invalidate(s ddp.STag) error {
	err := q.cfg.Domain.Invalidate(s, q.cfg.QPNum)
	var access *ddp.AccessError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &access) && access.Code == ddp.CodeNotAssociated:
		return &Error{Code: codeProtectedInvalidate, Err: err}
	default:
		return &Error{Code: codeInvalidate, Err: err}
	}
}

// handleRequest queues the answer to a Read or Atomic Request.
func (q *QP) handleRequest(op rdmaphdr.Opcode, m *ddp.Message) error {
	a := &q.incoming
	if err := a.parse(op, m, q.cfg.Domain, q.cfg.QPNum); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.unlock()
	if q.state != StateRTS {
		q.responder.repost(a.buf) // a side that closes takes no new requests: the FIN will flush them
		return nil
	}
	q.responder.push(a)
	a.region = nil // not to keep it longer than the answer does
	return nil
}

// handleReadResponse completes the oldest Read. A response is checked against it although DDP has
// placed it already: "The Data Sink MAY validate that the STag, Tagged Offset, and length of the RDMA
// Read Response Message are the same" (RFC 5040 §5.2.2). So no Read succeeds with octets missing.
func (q *QP) handleReadResponse(m *ddp.Message) error {
	q.mu.Lock()
	defer q.unlock()
	e := q.sq.oldestAwaited()
	switch {
	case e == nil || e.op != WorkRead:
		return operationError(codeOpcode, "%v that answers no RDMA Read", rdmaphdr.OpReadResponse)
	case m.STag != e.sinkSTag:
		return &Error{Code: codeOfDDP(ddp.CodeInvalidSTag),
			Reason: "RDMA Read Response to another STag than the oldest RDMA Read's"}
	case m.TO != e.sinkTO || m.Len != e.n || !m.Contiguous:
		return &Error{Code: codeOfDDP(ddp.CodeBounds),
			Reason: "RDMA Read Response that is not what the oldest RDMA Read asked for"}
	}
	if e.sink != nil {
		// This waits for nobody: only the caller's goroutine copies into the sink.
		e.sink.Deregister()
		e.sink = nil
	}
	q.answerLocked(e)
	return nil
}

// handleAtomicResponse completes the oldest atomic.
func (q *QP) handleAtomicResponse(m *ddp.Message) error {
	r, rest, err := rdmaphdr.ParseAtomicResponse(m.Buffer)
	if err != nil {
		return headerError(err)
	}
	if len(rest) > 0 {
		return operationError(codeUnspecified, "%v of %d octets", rdmaphdr.OpAtomicResponse, m.Len)
	}
	q.mu.Lock()
	defer q.unlock()
	// The whole of m.Buffer's array is posted again, for the next response.
	mustPost(q.queues[ddp.QNAtomicResponse], nil, m.Buffer[:rdmaphdr.AtomicResponseLen], 0)
	e := q.sq.oldestAwaited()
	switch {
	case e == nil || !e.op.isAtomic():
		return operationError(codeOpcode, "%v that answers no atomic", rdmaphdr.OpAtomicResponse)
	case r.ID != e.atomic.ID:
		return operationError(codeUnspecified, "%v to request %d, not %d", rdmaphdr.OpAtomicResponse, r.ID, e.atomic.ID)
	}
	e.original = r.Original
	q.answerLocked(e)
	return nil
}

// answerLocked completes the oldest Read or atomic, whose response is here.
// "a Delivered RDMA Read Response MUST be sufficient to Complete the RDMA Read operation" (RFC 5040 §5.5)
//
// +checklocks:q.mu
func (q *QP) answerLocked(e *sendEntry) {
	q.sq.end(e, StatusOK, nil)
	q.sq.retire(q)
}

// handleTerminate ends the stream because the peer has.
// "The RDMAP layer MUST Deliver the Terminate Message to the ULP." (RFC 5040 §5.4)
func (q *QP) handleTerminate(m *ddp.Message) error {
	t, err := ParseTerminate(m.Buffer)
	if err != nil {
		return err
	}
	q.terminated(t.inContext(!q.initiator && !q.heard).clone())
	return nil
}
