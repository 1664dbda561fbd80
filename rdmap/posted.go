package rdmap

import (
	"encoding/binary"

	"github.com/rddp/rddp/ddp"
)

// This file has the way of every Work Request through the send queue, from Post to its Completion.

// push appends a request of n bytes. The caller has checked that the queue has room, and has
// reserved the entry for the Completion.
func (s *sendQueue) push(wr *WorkRequest, n uint32, sink *ddp.Region, inline *inlineBuffer, cq *CompletionQueue) {
	e := sendEntries.Get().(*sendEntry)
	*s.ring.Push() = e
	e.id, e.cq, e.op, e.fence, e.unsignaled = wr.ID, cq, wr.Op, wr.Fence, wr.Unsignaled
	e.opcode, _ = wr.opcode()
	e.remote, e.n, e.inline, e.sink = wr.Remote, n, inline, sink
	if e.opcode.Invalidates() { // in other messages the field is sent as zero (RFC 5040 §4.1)
		e.invalidate = wr.Invalidate
	}
	switch {
	case sink != nil:
		e.sinkSTag, e.sinkTO = sink.STag(), sink.TO()
	case inline != nil:
		e.setPiece(inline.b)
	case wr.Op.isImmediate():
		e.setPiece(binary.BigEndian.AppendUint64(e.header[:0], wr.Immediate))
	case wr.Op.isAtomic():
		e.atomic = atomicRequest(wr)
	case len(wr.Gather) > 0:
		e.payload = wr.Gather
	case wr.Op != WorkRead && n > 0:
		e.setPiece(wr.Data)
	}
}

// ready reports whether the next request may be given out now.
func (s *sendQueue) ready(ord int) bool {
	if s.isEmpty() {
		return false
	}
	e := s.at(s.next)
	switch {
	case e.fence && s.outstanding > 0:
		// "the Local Peer ULP must Fence the later RDMA write (or Send) by withholding the RDMA
		// Write Message until all outstanding RDMA Read Responses have been Delivered" (RFC 5040
		// §5.5)
		return false
	case e.op.awaitsResponse() && s.outstanding >= ord && e.cq != nil:
		// "the RDMAP layer MUST NOT exceed the maximum number of outstanding, outbound RDMA Read
		// Requests" (RFC 5040 §6.1). The RTR goes first, so it is within any limit.
		return false
	}
	return true
}

// give takes the next request, which must be ready, and fills in its message.
func (s *sendQueue) give(m *ddp.Message) {
	e := s.at(s.next)
	s.next++
	e.progress = given
	switch e.op {
	case WorkRead:
		r := ReadRequest{
			SinkSTag: e.sinkSTag, SinkTO: e.sinkTO, Size: e.n,
			SourceSTag: e.remote.STag, SourceTO: e.remote.TO,
		}
		e.setPiece(r.AppendTo(e.header[:0]))
	case WorkFetchAdd, WorkCmpSwap, WorkSwap:
		s.atomicID++
		e.atomic.ID = s.atomicID
		e.setPiece(e.atomic.AppendTo(e.header[:0]))
	}
	if e.op.awaitsResponse() {
		s.outstanding++
		s.requestMSN++
		e.msn = s.requestMSN
	}
	*m = ddp.Message{
		ID: e.id, Tagged: e.opcode.IsTagged(), RsvdULP: Control(e.opcode), RsvdULP32: uint32(e.invalidate),
		STag: e.remote.STag, TO: e.remote.TO, QN: e.opcode.Queue(), Payload: e.payload, Len: e.n,
	}
	if e.op.awaitsResponse() || e.op.isImmediate() {
		m.Len = uint32(len(e.piece[0]))
	}
}

// giveBack notes that TCP has taken the oldest message given out.
func (s *sendQueue) giveBack() {
	for s.at(s.sent).progress == skipped {
		s.sent++
	}
	e := s.at(s.sent)
	s.sent++
	e.progress = handed
	// "A Send or RDMA Write Message MUST NOT be considered Complete at the Local Peer (Data Source)
	// until it has been successfully completed at the DDP layer." (RFC 5040 §5.5)
	if !e.op.awaitsResponse() {
		s.end(e, StatusOK, nil)
	}
}

// retire completes the finished requests in order and frees their places.
// "RDMA Operations MUST be Completed at the Local Peer in the order that they were submitted by the
// ULP." (RFC 5040 §5.5)
func (s *sendQueue) retire(q *QP) {
	for s.ring.Len() > 0 {
		e := *s.ring.First()
		if !e.done || e.progress == given || e.sink != nil {
			return
		}
		if e.completed {
			s.early--
		}
		e.complete(q)
		s.ring.Pop()
		e.recycle()
		s.sent, s.next = max(s.sent, s.ring.Head()), max(s.next, s.ring.Head())
	}
}

// complete gives out the request's Completion, unless nobody wants it or it was given out before.
func (e *sendEntry) complete(q *QP) {
	if e.inline != nil {
		e.inline.free()
		e.inline = nil
	}
	switch {
	case e.cq == nil || e.completed:
	case e.unsignaled && e.status == StatusOK:
		e.cq.release()
	default:
		c := Completion{ID: e.id, QPNum: q.cfg.QPNum, Op: e.op, Status: e.status, Err: e.err, Original: e.original}
		if e.status == StatusOK {
			c.Len = e.n
		}
		e.cq.complete(c)
	}
	e.completed = true
}
