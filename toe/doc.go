// Package toe is the seam between MPA and TCP: what the stack needs of the transport below it,
// whichever transport that is.
//
// TOE stands for TCP offload engine. RFC 5044 speaks of an "MPA-aware TCP" that tells MPA more than
// a socket does. A [Stream] is such a TCP, written as an interface: a net.Conn that in addition
//
//   - reads runs of bytes together with their stream offset, so that a backend can show runs early,
//     before the gap in front of them has closed, and borrows the buffer only when there is
//     something to read, so that idle connections stay small (ReadSegment and [Lender]);
//   - writes many slices in one call that never waits (TryWriteBatch), because one system call per
//     batch instead of one per FPDU is a factor of ten;
//   - waits for room without holding anybody's payload (WaitWritable);
//   - says how many bytes are there (Pending), waits until a send buffer of the process is empty
//     (Flush), and ends in three ways: CloseWrite, Close and Abort;
//   - knows its EMSS, from which MPA computes the MULPDU (RFC 5044 §4.5).
//
// Every backend implements all of it. What a transport cannot do, its backend declares:
// [Capabilities] is a value, so no caller needs the type of a Stream. Two methods are optional,
// ShowEarly and SetQuiet, and a wrapper that hides them does no harm.
//
// # Backends
//
//   - toe/kernel: the operating system's TCP and its unix sockets.
//   - toe/simtoe: an in-memory TCP that splits, delays, cuts and reorders from a seed, for
//     tests. Package conformance/lab/pipeline gives it the times of a hardware engine.
//   - toe/usertcp: gVisor's TCP in user space, over a link that carries IP packets.
//   - toe/netconn: any other net.Conn: TLS, net.Pipe, SSH channels.
//
// A [Backend] is a value that is passed in; there is no registry. Package toe/toetest checks that a
// Stream keeps the contract.
//
// # Why so
//
//   - ReadSegment waits and reads in one call. A call that waits and a call that reads would need
//     two system calls instead of one. A [Lender] is one interface, so passing it costs no
//     allocation.
//   - There is no batch write that waits: a caller could not take its payload back meanwhile. A
//     write that never waits lets the goroutine that receives also answer.
//   - Capabilities are a value, because a wrapper around a Stream loses the methods that a type
//     assertion asks for. The zero value means that the stream does without, so a new field changes
//     no backend.
//   - A Stream does nothing of the layers above TCP. Every engine that exists takes a connection as
//     a whole, as siw, rxe and the device of "rddp run" do; package toe/rnic is for those. An
//     interface for an engine that does only CRCs or framing would have a simulator as its only
//     user.
//
// # Limits
//
// RFC 5044 §5.1 asks that FPDUs be aligned to TCP segments, but a socket API cannot promise it.
// Only a Stream that declares Aligns ends its segments where slices end.
package toe
