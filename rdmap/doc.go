// Package rdmap is RDMAP, the RDMA protocol over DDP: RFC 5040, with the atomics and Immediate Data
// of RFC 7306. It does no I/O, starts no goroutine and knows no time.
//
// # Use
//
// A QP is one end of a stream. Its user posts work and takes Completions:
//
//	err := qp.PostRecv(rdmap.RecvRequest{ID: 1, Buf: buf})
//	err = qp.PostSend(&rdmap.WorkRequest{ID: 2, Op: rdmap.WorkWrite, Data: data, Remote: handle})
//	done, err := qp.SendCQ().Wait(ctx)
//
// Its driver, which has the connection, carries messages between it and DDP:
//
//	for qp.NextMessage() { … cut qp.Message() into segments and write them …; qp.Sent(1) }
//	for receiver.Deliver(edge) { qp.Handle(receiver.Message()) }
//	if err := receiver.Err(); err != nil { qp.Fail(err) }
//
// Messages go out in the order of the posts (RFC 5040 §5.5), answers to the peer's Reads and atomics
// in between. After every input the driver asks HasOutput.
//
// # Completions
//
// An accepted request has exactly one Completion, whatever happens to the stream; it has its entry in
// the completion queue from the start, so that none is ever lost. The send queue completes in posting
// order: Sends, Writes and Immediate Data when TCP has their last octet, which says nothing of the
// peer, Reads and atomics when their response is delivered. Until then payload and sinks belong to
// the QP. When a Completion is seen, everything that was sent before its message is in place. Only
// Cancel gives one out ahead of its turn.
//
// A Send or Write is not ordered after the reading of an earlier Read at the peer: WorkRequest.Fence
// does that. The order in which overlapping Writes land is not defined either (RFC 5040 §5.5).
//
// # Shared receive queues
//
// QPs that have a SharedReceiveQueue in their Config post no receives: whoever drives one calls TakeShared
// before it places the first segment of a message for QN 0, which binds a buffer to that QP. From then on
// it is a receive like any other; when the stream ends the QP flushes what it has bound, and no more.
//
// # Errors
//
// No error is recovered from: the first one ends the stream (RFC 5040 §7). The side that finds it sends
// one Terminate, its last message; the other side finds that Terminate in the Err of its Completions
// and of its QP, as a *TerminateError, and answers nothing. What Fail cannot tell from an error's
// methods TerminateCode and Segment is reported as a local catastrophic error.
//
// # Limits
//
// A Read has one sink. Reads and atomics share the limits IRD and ORD. Atomics are atomic with regard
// to all others in this process and to users of sync/atomic, but not to plain loads and stores, nor to
// Writes; their target must be aligned to 8 octets in memory. Only RDMAP version 1 is spoken, not the
// RDMA Consortium's version 0.
package rdmap
