// Package usertcp is a TCP in user space: a toe.Backend on gVisor's TCP/IP, above anything that
// carries IP packets.
//
// A [Stack] is one such TCP with addresses of its own, IPv4 and IPv6. It needs a [Link]:
//
//   - [Pipe] makes one in memory, for two Stacks of one process. It needs no privilege.
//   - tun.Open of package toe/tun opens a TUN device, with the kernel's TCP at the other end. It needs
//     CAP_NET_ADMIN.
//   - [OpenRaw] opens an Ethernet interface that the Stack has to itself. It needs CAP_NET_RAW.
//
// Selective acknowledgements (SACK), window scaling and
// timestamps are on.
//
// # Early runs
//
// A kernel's TCP keeps a segment that arrives behind a gap until the gap has closed. A Stack looks at
// each packet before TCP does. If TCP would accept a segment, but there is a gap in front of it, then
// ReadSegment shows its payload early. TCP's own stream stays the truth, and the same bytes come
// again in order. The tap checks the checksum, the window, the ACK (RFC 5961) and the timestamp (RFC
// 7323) of such a segment. What it keeps, and its work per packet, are bounded whatever the peer
// sends. Config.NoEarlyRuns switches it off, and so does Stream.ShowEarly for one connection.
// [EarlyStats] counts what was shown, and what was not and why.
//
// The tap also sees the handshakes. So a Stream states the exact EMSS, which gVisor does not tell.
//
// # Limits
//
// A segment ends where a slice of TryWriteBatch ends, as [Stream.TryWriteBatch] says. gVisor cuts a
// slice where the send buffer, the peer's window or the congestion window ends.
//
// gVisor allocates memory for each segment, so TryWriteBatch allocates too. gVisor's own goroutines
// do not work in a testing/synctest bubble. EMSS does not follow a path MTU that becomes smaller
// during a connection; TCP then sends shorter segments than EMSS says.
package usertcp
