package rdmap

import (
	"fmt"
	"math"
	"sync"

	"github.com/rddp/rddp/ddp"
)

// PostSend appends a request to the send queue. Any goroutine may call it, and it never waits. If
// PostSend returns nil there will be exactly one Completion, or none if wr is Unsignaled and
// succeeds. It returns
//
//   - ErrClosed or ErrPeerClosed, or another error before Start, if the stream's state forbids the
//     request;
//   - ErrQueueFull, ErrCompletionQueueFull, ErrNoExtensions or ErrNoORD if a limit of the stream
//     does;
//   - ErrBadRequest or ErrMessageTooLong if the request itself is wrong.
func (q *QP) PostSend(wr *WorkRequest) error {
	_, err := q.post(wr, false)
	return err
}

// PostNext is PostSend, and then NextMessage if wr's message is next. So a request that finds
// nothing queued takes one lock on its way to DDP. next says that Message is now wr's message,
// which the caller must send and report as after NextMessage. If next is false and err is nil, wr
// waits behind other requests or answers, or for a response, and NextMessage gives its message out
// later.
//
// As for NextMessage, the caller holds the transmit token, and must have sent the message given out
// before up to its last segment. The errors are those of PostSend.
func (q *QP) PostNext(wr *WorkRequest) (next bool, err error) { return q.post(wr, true) }

// post appends a request to the send queue. If give is true, and the request's message is next,
// post also gives it out.
func (q *QP) post(wr *WorkRequest, give bool) (next bool, err error) {
	n, err := wr.Len()
	if err != nil {
		return false, err
	}
	var sink *ddp.Region
	if wr.Op == WorkRead && n > 0 {
		// A Read has its own region, exactly as long as the Read. So the peer can write nowhere
		// else, and nothing at all once the response has arrived.
		if wr.Sink != nil {
			sink, err = q.cfg.Domain.RegisterSink(wr.Sink, n, q.cfg.QPNum)
		} else {
			sink, err = q.cfg.Domain.Register(wr.Data, ddp.ReadSink, q.cfg.QPNum)
		}
		if err != nil {
			return false, fmt.Errorf("rdmap: sink of the Read: %w", err)
		}
	}
	var inline *inlineBuffer
	if wr.Inline && n > 0 {
		inline = newInlineBuffer(wr)
	}
	q.mu.Lock()
	err = q.pushLocked(wr, n, sink, inline)
	next = give && err == nil && q.nextLocked() == request && q.sq.isLast()
	if next {
		q.sq.give(&q.msg)
		q.output.note(request)
	}
	q.unlock()
	if err != nil && sink != nil {
		sink.Deregister()
	}
	if err != nil && inline != nil {
		inline.free()
	}
	return next, err
}

// +checklocks:q.mu
func (q *QP) pushLocked(wr *WorkRequest, n uint32, sink *ddp.Region, inline *inlineBuffer) error {
	opcode, _ := wr.opcode()
	cq := wr.CQ
	if cq == nil {
		cq = q.cfg.SendCQ
	}
	switch {
	case q.state == stateIdle:
		return errNotConnected
	case q.state != stateRTS && q.state != stateFailing:
		return q.closedErrLocked()
	case opcode.isExtension() && !q.admission.extensions:
		return ErrNoExtensions
	case wr.Op.awaitsResponse() && q.peerClosed:
		return ErrPeerClosed
	case wr.Op.awaitsResponse() && q.ord == 0:
		return ErrNoORD
	case q.sq.isFull() && !q.sq.makeRoom():
		return ErrQueueFull
	case !cq.reserve():
		return ErrCompletionQueueFull
	}
	q.sq.push(wr, n, sink, inline, cq)
	return nil
}

// An inlineBuffer is the copy of an Inline payload.
type inlineBuffer struct{ b []byte }

var inlineBuffers = sync.Pool{New: func() any { return new(inlineBuffer) }}

// maxPooledInline is the capacity, in bytes, of the largest buffer that is kept for another
// request.
const maxPooledInline = 64 << 10

func newInlineBuffer(wr *WorkRequest) *inlineBuffer {
	i := inlineBuffers.Get().(*inlineBuffer)
	i.b = append(i.b[:0], wr.Data...)
	for _, piece := range wr.Gather {
		i.b = append(i.b, piece...)
	}
	return i
}

func (i *inlineBuffer) free() {
	if cap(i.b) <= maxPooledInline {
		inlineBuffers.Put(i)
	}
}

// Len returns the length of the payload or sink in bytes. The error is [ErrBadRequest] or
// [ErrMessageTooLong], for a wr that is wrong whatever state the connection is in.
func (wr *WorkRequest) Len() (n uint32, err error) {
	op, ok := wr.opcode()
	if !ok && wr.Solicited {
		return 0, fmt.Errorf("%w: %v with a Solicited Event", ErrBadRequest, wr.Op)
	}
	if !ok {
		return 0, fmt.Errorf("%w: %v", ErrBadRequest, wr.Op)
	}
	total := uint64(len(wr.Data)) + uint64(wr.SinkLen)
	for _, piece := range wr.Gather {
		total += uint64(len(piece))
	}
	mayGather := op == OpWrite || !op.IsTagged() && op >= OpSend && op <= OpSendSEInvalidate
	switch {
	case len(wr.Gather) > 0 && (!mayGather || wr.Data != nil):
		return 0, fmt.Errorf("%w: %v with a gather list", ErrBadRequest, wr.Op)
	case (wr.Sink != nil || wr.SinkLen > 0) && (wr.Op != WorkRead || wr.Data != nil || wr.Sink == nil):
		return 0, fmt.Errorf("%w: %v with a sink of its own", ErrBadRequest, wr.Op)
	case total > 0 && !mayGather && wr.Op != WorkRead:
		return 0, fmt.Errorf("%w: %v has no payload", ErrBadRequest, wr.Op)
	case wr.Inline && !mayGather:
		return 0, fmt.Errorf("%w: %v inline", ErrBadRequest, wr.Op)
	case op.Invalidates() && wr.Invalidate == 0:
		// "MUST reference an STag" (RFC 5040 §5.3)
		return 0, fmt.Errorf("%w: %v without an STag", ErrBadRequest, wr.Op)
	case total > math.MaxUint32:
		return 0, ErrMessageTooLong
	}
	return uint32(total), nil
}
