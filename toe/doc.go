// Package toe is the interface between MPA and TCP: what the stack needs from the transport below
// it, whichever transport that is.
//
// TOE stands for TCP offload engine. RFC 5044 speaks of an "MPA-aware TCP" that tells MPA more than
// a socket does. A [Stream] is such a TCP, written as an interface: a net.Conn that in addition
//
//   - reads runs of bytes together with their stream offset, so that a backend can show runs early,
//     before the gap in front of them has closed, and borrows the buffer only when there is
//     something to read, so that idle connections stay small (ReadSegment and [Lender]);
//   - writes many slices in one call that never waits (TryWriteBatch), because one system call per
//     batch is ten times as fast as one per FPDU;
//   - waits for room without holding the payload of any caller (WaitWritable);
//   - says how many bytes have arrived (Pending), waits until a send buffer of the process is empty
//     (Flush), and ends in three ways: CloseWrite, Close and Abort;
//   - knows its EMSS, from which MPA computes the MULPDU (RFC 5044 §4.5).
//
// Every backend implements all of it, and declares in [Capabilities] what its transport can do.
// Capabilities are a value, so no caller needs the type of a Stream. Two methods are optional,
// ShowEarly and SetQuiet, and a wrapper may hide them.
//
// # Backends
//
//   - toe/kernel: the operating system's TCP and its unix sockets.
//   - toe/simtoe: an in-memory TCP that splits, delays, cuts and reorders from a seed, for
//     tests. Package conformance/lab/pipeline gives it the times of a hardware engine.
//   - toe/usertcp: gVisor's TCP in user space, over a link that carries IP packets.
//   - toe/netconn: any other net.Conn, such as TLS, net.Pipe or an SSH channel.
//
// A program passes a [Backend] as a value; there is no registry. Package toe/toetest checks that a
// Stream keeps the contract.
//
// # Design decisions
//
//   - ReadSegment waits and reads in one call. A call that waits and a call that reads would need
//     two system calls instead of one. A [Lender] is one interface, so passing it costs no
//     allocation.
//   - There is no batch write that waits, because a caller could not take its payload back during
//     the wait. A write that never waits lets the goroutine that receives also answer.
//   - Capabilities are a value, because a wrapper around a Stream loses the methods that a type
//     assertion asks for. The zero value means that the stream lacks the capability, so a new field
//     changes no backend.
//   - A Stream does no work of the layers above TCP. Every existing engine runs a connection as a
//     whole, like siw, rxe and the device of "rddp run"; package toe/rnic is for those. An
//     interface for an engine that does only CRCs or framing would have a simulator as its only
//     user.
//
// # Limits
//
// RFC 5044 §5.1 asks that FPDUs be aligned to TCP segments, but a socket API cannot promise it.
// Only a Stream that declares Aligns ends its segments where slices end.
package toe
