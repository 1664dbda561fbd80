// Package rdmap is RDMAP, the RDMA protocol over DDP: RFC 5040, with the atomics and Immediate Data of
// RFC 7306. It does no I/O, starts no goroutine and reads no clock.
//
// # Use
//
// A [QP] (queue pair) is one end of an RDMAP Stream. Its user posts requests and takes Completions:
//
//	err := qp.PostRecv(rdmap.RecvRequest{ID: 1, Buf: buf})
//	err = qp.PostSend(&rdmap.WorkRequest{ID: 2, Op: rdmap.WorkWrite, Data: data, Remote: handle})
//	done, err := sendCQ.Wait(ctx) // Config.SendCQ
//
// Its driver, which owns the connection, carries messages between the QP and DDP:
//
//	for qp.NextMessage() { … cut qp.Message() into segments and write them …; qp.Sent(1) }
//	for receiver.Deliver(edge) { qp.Handle(receiver.Message()) }
//	if err := receiver.Err(); err != nil { qp.Fail(err) }
//
// Messages leave in the order of the posts (RFC 5040 §5.5). Answers to the peer's Reads and atomics go
// out between them. After every input the driver calls HasOutput.
//
// A driver that receives messages for itself, and not into buffers that its user has posted, can save
// most locks. It gives each message its buffer with Receiver.Bind, and calls Receive instead of Handle
// for a message whose Bound is true. It calls PostNext to send while it holds the transmit token.
//
// A program that uses connections never sees a QP. It knows one by its number: Config.QPNum, which each
// [Completion] carries.
//
// # Completions
//
// An accepted request has exactly one Completion, whatever happens to the stream. The request reserves
// its entry in the completion queue when it is posted, so no Completion is ever lost. The send queue
// completes in posting order. Sends, Writes and Immediate Data complete when TCP has their last octet,
// which says nothing about the peer. Reads and atomics complete when their response is delivered. Until
// then payload and sinks belong to the QP. When a Completion is seen, everything that the peer sent
// before its message is in place. Only Cancel completes a request ahead of its turn.
//
// A Send or Write is not ordered after the reading of an earlier Read at the peer; WorkRequest.Fence
// orders it. The order in which overlapping Writes land is not defined (RFC 5040 §5.5).
//
// # Shared receive queues
//
// A QP with a [SharedReceiveQueue] in its Config posts no receives. Its driver calls TakeShared before it
// places the first segment of a message for QN 0. TakeShared binds a buffer to the QP, and from then on
// the buffer is a receive like any other. When the stream ends, the QP flushes the buffers bound to it,
// and no others.
//
// # Errors
//
// The first error ends the stream; RDMAP recovers from none (RFC 5040 §7). The end that finds the error
// sends one Terminate, its last message. The other end finds that Terminate as a [*TerminateError] in
// the Err of its Completions and of its QP, and answers nothing. [QP.Fail] takes the code and the segment
// of a Terminate from the error. An error that has none is reported as a local catastrophic error.
//
// # Limits
//
// A Read has one sink. Reads and atomics share the limits IRD and ORD. Atomics are atomic with regard to
// all other atomics in this process and to users of sync/atomic, but not to plain loads and stores, nor
// to Writes. Their target must be aligned to 8 octets in memory. The package speaks RDMAP version 1 only,
// not version 0 of the RDMA Consortium.
package rdmap
