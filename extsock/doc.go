// Package extsock is the extended socket: a net.Conn that a program can switch from plain TCP into
// DDP mode, where the same connection carries RDMA.
//
// # Three levels
//
// A [Conn] begins as a net.Conn, octet for octet what TCP is. [Conn.EnableDDP], or
// SetsockoptInt(SOL_DDP, DDPMODE, 1), runs MPA startup at the point of the application's protocol
// that both ends agree on. After it, Read and Write carry messages, and the verbs work:
//
//   - [Conn.Register] lends memory to the peer; its [Handle] is 16 octets to send by any means.
//   - [Conn.Remote] is the peer's memory as an io.ReaderAt and io.WriterAt.
//   - [Conn.Post] and its short forms put Work Requests into the send queue and return at once;
//     Completions come to a [CompletionQueue], which connections may share.
//
// # Who owns what
//
// The payload of a Work Request is the connection's from Post to its Completion. Registered memory
// stays the application's, and the peer's to use, until Deregister returns. What a peer has written
// may be looked at after a Completion that came behind it in the stream (a message that says so),
// and not before.
//
// # Who reads
//
// Sends need posted buffers. Unless the application posts its own (PostRecv before the switch,
// Config.RecvCQ, or Config.SRQ for many connections together), the connection keeps Config.RecvDepth of them posted for Read and stops reading
// from TCP while all are full. Everything else that comes waits too, then: the peer's one-sided
// operations, the answers to ours, even the peer's close. So read what comes, or post receives.
//
// # Ends
//
// Whatever ends a connection, each accepted Work Request completes exactly once. The peer's proper
// close gives io.EOF, our own net.ErrClosed, a protocol fault a *rdmap.TerminateError or the error
// of the layer that found it, all inside a *net.OpError. A fault costs this connection only.
//
// # Limits
//
// There is no way back from DDP mode to TCP mode. Half-close is not supported in DDP mode. Deadlines
// bound the blocking calls, not Work Requests that were posted.
package extsock
