// Package usertcp is a TCP in user space: a toe.Backend on gVisor's TCP/IP, above anything that
// carries IP packets.
//
// A [Stack] is one such TCP with addresses of its own, IPv4 and IPv6. It needs a [Link]:
//
//   - [Pipe] makes one in memory, for two Stacks of one process. It needs no privilege.
//   - [OpenTUN] opens a TUN device, with the kernel's TCP at the other end. It needs CAP_NET_ADMIN.
//   - [OpenRaw] opens an Ethernet interface that the Stack has to itself. It needs CAP_NET_RAW.
//
// Selective acknowledgements (SACK), window scaling and
// timestamps are on.
//
// # Tap
//
// A kernel's TCP keeps a segment that arrives behind a gap until the gap has closed. A Stack looks at
// each packet before TCP does, so it knows the initial sequence numbers and the options of the
// handshake, and states the exact EMSS.
//
// # Limits
//
// gVisor allocates memory for each segment, so TryWriteBatch allocates too. gVisor's own goroutines
// do not work in a testing/synctest bubble. EMSS does not follow a path MTU that becomes smaller
// during a connection; TCP then sends shorter segments than EMSS says.
package usertcp
