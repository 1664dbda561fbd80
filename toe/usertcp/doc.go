// Package usertcp is a TCP in user space: a toe.Backend on gVisor's TCP/IP, over any link that
// carries IP packets.
//
// A [Stack] is one such TCP with its own addresses, IPv4 and IPv6. It needs a [Link]:
//
//   - [Pipe] makes one in memory, for two Stacks of one process. It needs no privilege.
//   - tun.Open of package toe/tun opens a TUN device, with the kernel's TCP at the other end. It
//     needs CAP_NET_ADMIN.
//   - [OpenRaw] opens an Ethernet interface that the Stack has to itself. It needs CAP_NET_RAW.
//
// Selective acknowledgments (SACK), window scaling and timestamps are on.
//
// # Early runs
//
// A kernel's TCP keeps a segment that arrives behind a gap until the gap has closed. A Stack looks
// at each packet before TCP does. If TCP would accept a segment, but there is a gap in front of it,
// then ReadSegment shows its payload early. TCP's own stream remains authoritative, and the same
// bytes come again in order. The tap checks the checksum, the window, the ACK (RFC 5961) and the
// timestamp (RFC 7323) of such a segment. Its memory, and its work per packet, are bounded whatever
// the peer sends: see Memory. Config.NoEarlyRuns switches early runs off, and so does
// Stream.ShowEarly for one connection. [EarlyStats] counts the segments that were shown, and those
// that were not, by reason.
//
// # EMSS
//
// The tap also sees the handshakes. So a Stream returns the exact EMSS, which gVisor does not
// report.
//
// The EMSS follows a path MTU that becomes smaller: a router says so in an ICMP message,
// Fragmentation Needed (RFC 1191) or Packet Too Big (RFC 8201). Anybody can send such a message. So
// the Stack believes it only if it quotes an outstanding segment, and if it names an MTU of at
// least 576 bytes with IPv4, and 1280 with IPv6. Data written before are cut at the new EMSS.
//
// A peer's MSS below 536 bytes counts as 536. Every host must accept such segments (RFC 9293
// §3.7.1), and smaller ones multiply the work for each byte.
//
// # Spoofed segments
//
// gVisor accepts the data of every segment in the window. The tap drops a segment whose ACK is not
// acceptable (RFC 5961), or whose timestamp is missing or old (RFC 7323), before TCP gets it. The
// tap does not answer such a segment. An attacker who does not see the connection must guess the
// sequence number, the ACK and the timestamp. A segment that passes becomes a part of TCP's stream,
// and MPA's CRC then ends the stream: random bytes are placed nowhere.
//
// # Segments behind a gap
//
// gVisor keeps segments behind a gap until their memory is three quarters of the receive buffer,
// and a segment of one byte takes hundreds of bytes. The tap lets through no segment that would
// leave more than 256 gaps: the peer sends it again.
//
// # Memory
//
// A connection has TCP's two buffers, of at most 8 MiB each: see [Config]. It also has the early
// runs that ReadSegment has not shown: at most 256, of 512 KiB together. They wait while the gap is
// open and the program does not read, because TCP has acknowledged nothing behind the gap.
// SetMemoryLimit of package extsock does not count this memory, just as it does not count the
// buffers of a kernel's TCP. A program with many connections to peers that it does not trust should
// limit their number. The Stack also remembers up to 4,096 handshakes without a Stream, and 4,096
// SYNs.
//
// # Limits
//
// In rare cases gVisor's TCP stalls after a loss: it waits for an acknowledgment without having set
// the retransmission timer. The connection continues when the program writes something. When TCP
// leaves a recovery, it may count no segment as outstanding although the last ones are in flight,
// and then it sets no timer after its probe for them. The Stack makes it set the timer with each
// segment that has payload. One case remains: an ACK of some of them comes after the probe, and the
// others are lost together with the probe. TCP then replaces the timer by one for a second probe,
// which it does not send. Of 8,000 connections that moved 20 KB each way over links that lost 10 %
// of the packets and reordered 10 %, 26 stalled without this, and 5 with it (25 November 2026, on a
// busy machine).
//
// A segment ends where a slice of TryWriteBatch ends, as [Stream.TryWriteBatch] says. gVisor cuts a
// slice where the send buffer, the peer's window or the congestion window ends.
//
// gVisor allocates memory for each segment, so TryWriteBatch allocates too. gVisor's own goroutines
// do not work in a testing/synctest bubble.
//
// gVisor differs from the RFCs in these points, which the scripts in toe/usertcp/tcpscript compare
// with Linux:
//
//   - A segment that the tap drops gets no ACK. RFC 5961 §5.2 wants one for a segment with a wrong
//     ACK, and RFC 7323 §5.3 for one with an old timestamp.
//   - In SYN-RECEIVED any RST in the window ends the handshake. RFC 5961 §3.2 wants the exact
//     number, as gVisor does in the later states.
//   - In TIME-WAIT a SYN with an old number gets no ACK (RFC 9293 §3.10.7.4). A RST there is
//     ignored, as RFC 1337 wants.
//   - Without an MSS option the MSS is 536 over IPv6, too, where RFC 9293 §3.7.1 says 1220.
//   - A peer that echoes timestamps of the future makes the retransmission timeout of its own
//     connection as long as 120 seconds.
//   - A packet with an IPv4 source route is not dropped (RFC 7126 §4.3). No answer takes that
//     route.
//   - A first fragment must have the whole TCP header, over IPv4 too.
//   - The tap does not know a connection whose Stream is closed. Its checks end there.
//
// The EMSS never grows again during a connection. If a path drops long packets without a message,
// nothing finds its MTU (RFC 4821 would), and the connection fails.
//
// gVisor's congestion controls, CUBIC and Reno, treat every loss as congestion. gVisor also treats
// packets that are late by more than a fraction of the round trip as lost. With 5 % loss and 10 %
// reordering, the window of a connection stays at a few segments, and Config.MinRTO decides most of
// its speed. In that case Reno has a tenth of CUBIC's timeouts, and is six times as fast. gVisor
// sends a lost SYN again with its old timestamp, so the time until then counts as a round trip: the
// first retransmission timeouts of such a connection take three seconds and more.
package usertcp
