// Package proxy carries any TCP service over DDP between two hosts, for programs that can't be
// changed.
//
//	client ─TCP→ entrance ═DDP═ exit ─TCP→ service
//
// An entrance listens in plain TCP and dials the exit in DDP mode. An exit listens in DDP mode and
// dials the service in plain TCP. A [Proxy] is an entrance or an exit, depending on its
// [Address]es:
//
//	exit, err := proxy.Listen(ctx, "rddp://:7174", "127.0.0.1:80", nil)
//	entrance, err := proxy.Listen(ctx, "127.0.0.1:8080", "rddp://far:7174", nil)
//	err = entrance.Serve(ctx)
//
// A [Router] runs several proxies, and changes them while they run. The far end of the DDP
// connection may also be a program that uses extsock itself, in byte stream mode.
//
// # What the proxy preserves
//
// A connection is an exact pipe of bytes in both directions. The proxy passes on the end of one
// direction as the end of that direction; the other direction continues. Each direction buffers at
// most 64 KiB, in addition to the buffers of the two connections. So a reader that does not read
// holds the writer back.
//
// The proxy never passes on an abnormal end, such as a reset, as an orderly one. It resets the
// plain connection of the other side, and it ends the DDP connection without the mark that ends the
// byte stream. It still passes on the bytes read before that, as far as TCP permits: a reset makes
// TCP drop unsent bytes. A unix socket has no reset, so its peer may see an orderly end.
//
// An exit dials the service before it accepts a DDP connection. If that fails, it rejects the
// connection with the reason, so the entrance can report it.
//
// # Silent peers
//
// A proxy serves Config.MaxConns connections. A peer that connects and sends nothing cannot keep
// its place. If there is no place for a newcomer, the proxy closes a connection whose accepted side
// has sent nothing. It picks the address with the most such connections, counting the newcomer, and
// closes the one that has been silent longest since it got its place. For IPv6 the /64 counts as
// the address. So a flood from one address displaces only its own connections.
//
// When a byte, or the end of that direction, has arrived from the accepted side, the connection
// keeps its place for good, as long as its address has at most half of the places. Further places
// of an address are lent. If no connection is silent, a newcomer of an address below its share
// takes the place that was lent last. But silent newcomers take at most a sixteenth of all places
// in this way. If no place is lent, the proxy refuses the newcomer. Occasionally it refuses a
// newcomer that would displace a connection of its own address, so that a ring of proxies comes to
// rest.
//
// At an exit, a connection gets its place when the MPA Request has arrived, before the proxy dials
// the service. Until then Config.Socket.MaxHalfOpen limits the connections, and the oldest of the
// address with most of them is closed. In protocols in which the service speaks first, a client
// counts as silent until it answers.
//
// # Fallback
//
// With Config.Fallback, an entrance connects in plain TCP to a peer that does not speak DDP, for
// example while not all hosts have an exit. Summary.Fallback, Stats.Fallbacks and the log report
// that. The connection keeps TLS if TLS is on. A rejection by an exit causes no fallback. In TLS
// without DDP, a connection that breaks off between two records looks like an orderly end.
//
// # Limits
//
// If a peer vanishes after it has ended its direction, the proxy notices at the next write to it,
// or through Config.Idle. Unless Config.Socket has TLS, an exit does not check who its peer is:
// every host that can connect to it reaches the service. The plain side has no TLS.
package proxy
