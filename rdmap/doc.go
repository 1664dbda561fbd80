// Package rdmap is RDMAP, the RDMA protocol over DDP: RFC 5040, with the atomics and Immediate Data
// of RFC 7306. It does no I/O, starts no goroutine and reads no clock.
//
// # For whom
//
//   - Programs that use connections of package extsock: [WorkRequest] and [RecvRequest],
//     [Completion] and [Status], [Handle], and the errors, above all [TerminateError].
//   - Drivers of connections, and programs with a transport of their own: [QP] with [Config] and
//     [StartParams], [CompletionQueue] and [SharedReceiveQueue].
//   - Programs that read, build or print single messages: [Opcode] with [Control] and
//     [ParseControl], [ReadRequest], [AtomicRequest], [AtomicResponse], [Terminate] and
//     [TerminateCode.Words]. AppendTo writes reserved bits as zero, and the Parse functions ignore
//     them. A Parse function keeps no reference to its argument, but the rest that it returns
//     aliases it.
//
// # Use
//
// A [QP] (queue pair) is one end of an RDMAP Stream. Its user posts requests and takes Completions:
//
//	err := qp.PostRecv(rdmap.RecvRequest{ID: 1, Buf: buf})
//	err = qp.PostSend(&rdmap.WorkRequest{ID: 2, Op: rdmap.WorkWrite, Data: data, Remote: handle})
//	n, err := sendCQ.Wait(ctx, done, false) // Config.SendCQ
//
// The driver of the QP owns the connection. It carries messages between the QP and DDP:
//
//	for qp.NextMessage() { … cut qp.Message() into segments and write them …; qp.Sent(1) }
//	for receiver.Deliver(edge) { qp.Handle(receiver.Message()) }
//	if err := receiver.Err(); err != nil { qp.Fail(err) }
//
// Messages leave in the order of the posts (RFC 5040 §5.5). Answers to the peer's Reads and atomics
// go out between them. After every input the driver calls HasOutput.
//
// A driver can also receive messages for itself, instead of into buffers that its user has posted.
// Then it saves most locks. It gives each message its buffer with ddp.Receiver.Bind, and calls
// Receive instead of Handle for a message whose Bound is true. If it posts a request while it holds
// the transmit token, it saves a lock by calling PostNext.
//
// A program that uses connections never sees a QP. It knows a QP by its number, Config.QPNum, which
// each [Completion] contains.
//
// # Completions
//
// An accepted request has exactly one Completion, whatever happens to the stream, but an unsignaled
// one that succeeds has none. The request reserves its entry in the completion queue when it is
// posted, so no Completion is ever lost. The send queue completes requests in posting order, except
// that Cancel completes its request at once. Sends, Writes and Immediate Data complete when TCP has
// their last byte, which says nothing about the peer. Reads and atomics complete when their
// response is delivered. Until then payload and sinks belong to the QP. When a program sees a
// Completion, everything that the peer sent before the Completion's message is in place.
//
// RFC 5040 does not order a Send or Write after the execution of an earlier Read at the peer.
// WorkRequest.Fence does. The order in which overlapping Writes are placed is not defined (RFC 5040
// §5.5).
//
// # Shared receive queues
//
// A QP with a [SharedReceiveQueue] in its Config posts no receives. Its driver calls TakeShared
// before it places the first segment of a message for QN 0. TakeShared binds a buffer to the QP.
// From then on the buffer is a receive like any other. When the stream ends, the QP flushes the
// buffers bound to it, and no others.
//
// # Errors
//
// The first error ends the stream. RDMAP does not recover from errors (RFC 5040 §7). The end that
// finds the error sends one Terminate as its last message. The other end reports that Terminate as
// a [*TerminateError] in the Err of its Completions and of its QP, and sends no answer. [QP.Fail]
// takes the code and the segment of a Terminate from the error. It reports an error that has no
// code as a local catastrophic error.
//
// # Limits
//
// A Read has one sink. Reads and atomics share the limits IRD and ORD. Atomics are atomic with
// regard to all other atomics in this process and to users of sync/atomic, but not to plain loads
// and stores, nor to Writes. Their word must be aligned to 8 bytes in memory. The package supports
// RDMAP version 1 only, not version 0 of the RDMA Consortium.
package rdmap
