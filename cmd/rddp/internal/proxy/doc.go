// Package proxy carries any TCP service over DDP between two hosts, for programs that can't be changed.
//
//	client ─TCP→ entrance ═DDP═ exit ─TCP→ service
//
// An entrance listens in plain TCP and dials the exit in DDP mode; an exit listens in DDP mode and dials the
// service in plain TCP. One [Proxy] is one of the two, and its [Address]es tell which:
//
//	exit, err := proxy.Listen(ctx, "rddp://:7174", "127.0.0.1:80", nil)
//	entrance, err := proxy.Listen(ctx, "127.0.0.1:8080", "rddp://far:7174", nil)
//	err = entrance.Serve(ctx)
//
// The far end of the DDP leg may also be a program that uses extsock itself, as long as its Read and Write
// are a byte stream there.
//
// # What is kept
//
// A connection is a pipe of octets, exact in both directions. The end of one direction is carried on as the
// end of that direction; the other goes on. Each direction holds at most 64 KiB and what the two connections
// buffer: a reader that does not read holds the writer back.
//
// An end that is no orderly one, such as a reset, is never carried on as an orderly one: the other side's
// plain connection is reset, and the DDP connection ends without the mark that ends its byte stream. What
// was read before is still handed on as far as TCP lets one, which throws away at a reset what it has not
// sent. A unix socket knows no reset: its peer may see an orderly end there.
//
// An exit dials the service before it accepts a DDP connection. If that fails it rejects the connection and
// says why, so the entrance can tell.
//
// # Silent peers
//
// A proxy takes Config.MaxConns connections. A peer that connects and sends nothing cannot keep its place: if there is no
// place left for a newcomer, the connection ends whose accepted side has been silent longest since it got its place. A
// connection keeps its place as soon as an octet, or the end of that direction, has come from there. If no connection is
// silent, the newcomer is refused.
//
// At an exit a connection gets its place when the MPA Request has come, before the service is dialled. Until then
// Config.Socket.MaxHalfOpen limits the connections, and the oldest goes as well. A client whose protocol lets the service
// speak first is silent for the proxy until it answers.
//
// # Limits
//
// A peer that vanishes after it has ended its direction is noticed at the next write to it, or by
// Config.Idle. What its peer is, an exit does not ask: whoever can connect to it reaches the service, and
// nothing is encrypted.
package proxy
