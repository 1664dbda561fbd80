// Package toe is the seam between MPA and TCP: what the stack needs of the
// transport below it, whichever that is.
//
// TOE stands for TCP offload engine. RFC 5044 speaks of an "MPA-aware TCP" that
// tells MPA more than a socket does; a [Stream] is that, written as an interface:
// a net.Conn that in addition
//
//   - reads runs of octets together with their stream offset (ReadSegment), so
//     that a backend may show runs early, before the gap in front of them has
//     closed;
//   - waits for data without holding a buffer (Readable);
//   - writes many slices in one go (WriteBatch), because one system call per
//     batch instead of one per FPDU is a factor of ten;
//   - knows its EMSS, from which MPA computes the MULPDU (RFC 5044 §4.5).
//
// What only some backends can do is an interface of its own, found by type
// assertion: [TryWriter], [WaitWriter], [LazyReader] and [Pender].
//
// # Backends
//
//   - toe/kernel: the operating system's TCP.
//   - toe/simtoe: an in-memory engine that splits, delays, cuts and reorders
//     from a seed, for tests.
//   - toe/netconn: any other net.Conn: TLS, unix sockets, net.Pipe, SSH channels.
//
// A Backend is a value that is passed in; there is no registry. Package
// toe/toetest checks that a Stream keeps the contract.
//
// # Limits
//
// ReadSegment after Read is fine; Read after ReadSegment is not. A Stream gives
// no guarantee that one WriteBatch becomes whole TCP segments: RFC 5044 §4.1
// asks for that alignment, a socket API cannot promise it.
//
// A Read of TLS may have to write: to answer a KeyUpdate, or with an alert. It
// then waits behind what is being written, whatever its deadline.
package toe
