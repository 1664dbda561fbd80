package rdmap

import (
	"encoding/binary"

	"github.com/rddp/rddp/ddp"
)

// This file has what every arriving message passes: the check of its opcode before DDP places it,
// and then, for a Send in memory of the driver, its receive.

// An admission decides by the control field alone which messages a stream accepts.
type admission struct {
	extensions bool
	denied     ddp.Access
}

// admit checks the control field of a segment before DDP places any of the segment. For a Tagged
// segment it returns the right that the segment needs. admit leaves a queue number that is not in
// use to DDP, which has an error for it.
func (a admission) admit(tagged bool, rsvdULP uint8, qn ddp.QN) (need ddp.Access, err error) {
	op, rv := ParseControl(rsvdULP)
	switch {
	case rv != version: // "The RDMA Version MUST be valid." (RFC 5040 §7.2)
		return 0, operationError(codeVersion, "RV %d", rv)
	case !op.isAssigned(), op.isExtension() && !a.extensions: // "The RDMA OpCode MUST be valid."
		return 0, operationError(codeOpcode, "%v", op)
	case op.IsTagged() != tagged:
		return 0, operationError(codeOpcode, "%v with T=%t", op, tagged)
	case op == OpWrite && a.denied&ddp.RemoteWrite != 0:
		return ddp.RemoteWrite | ungranted, nil // one of length 0 needs no Region
	case op == OpWrite:
		return ddp.RemoteWrite, nil
	case op == OpReadResponse:
		return ddp.ReadSink, nil
	case qn != op.Queue() && a.uses(qn):
		return 0, operationError(codeOpcode, "%v on queue %d", op, qn)
	}
	return 0, nil
}

// isInMessage reports whether the message is Immediate Data. Immediate Data arrives in the message
// itself, whichever buffer it consumes.
func isInMessage(rsvdULP uint8, _ ddp.QN) bool {
	op, _ := ParseControl(rsvdULP)
	return op.isImmediate()
}

// Receive is Handle for a Send or Immediate Data that has arrived in a bound buffer: m.Bound is
// true. Receive returns the Completion of the receive, whose ID is 0 because nothing was posted. No
// completion queue gets it. If the message is wrong, Receive ends the stream. ok is false in that
// case, and if the stream has already ended; then the program must not see the message. The caller
// keeps the buffer in every case. Receive keeps no reference to m, and takes no lock unless it ends
// the stream or the message invalidates an STag.
func (q *QP) Receive(m *ddp.Message) (c Completion, ok bool) {
	if !m.Bound {
		panic("BUG: Receive of a message whose buffer was posted")
	}
	// Another goroutine may end the stream after this check. Then the message counts as received
	// before that end. The end flushes posted requests, but a bound buffer is not among them, so
	// nothing else completes this receive or gives its memory back.
	if !q.receives() {
		return Completion{}, false
	}
	op, _ := ParseControl(m.RsvdULP)
	err := q.received(&c, op, m)
	q.heard = true
	if err != nil {
		q.Fail(segmentOf(m, err))
		return Completion{}, false
	}
	c.Op = WorkRecv
	return c, true
}

// received checks a Send or Immediate Data, and invalidates the STag that it names. It sets in c,
// which is zero, what the message says about the Completion of its receive.
func (q *QP) received(c *Completion, op Opcode, m *ddp.Message) error {
	c.QPNum, c.Len, c.Solicited = q.cfg.QPNum, m.Len, op.solicits()
	if op.isImmediate() {
		// "The Remote Peer MUST check that Immediate Data and Immediate Data with SE Messages
		// include exactly 8 bytes of data" (RFC 7306 §6.3)
		if m.Len != ImmediateLen {
			return operationError(codeUnspecified, "%v of %d bytes", op, m.Len)
		}
		c.Len, c.HasImmediate, c.Immediate = 0, true, binary.BigEndian.Uint64(m.Buffer)
	}
	if op.Invalidates() {
		// Without mu, because invalidate waits for copies to and from the region. And before the
		// Completion, because the STag must be invalid when the program sees the Completion.
		c.HasInvalidated, c.Invalidated = true, ddp.STag(m.RsvdULP32)
		if err := q.invalidate(c.Invalidated); err != nil {
			return err
		}
	}
	return nil
}
