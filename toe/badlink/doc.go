// Package badlink is a bad network to test on: a link that loses, reorders, duplicates, corrupts,
// cuts and delays IP packets. Its [Config] describes the faults, and a seed determines the affected
// packets.
//
// [Pipe] makes a link in memory between two ends, each of which carries whole IP packets, for a TCP
// that runs in the process. [Join] makes one between two devices, such as the TUN devices of two
// network namespaces, for the kernel's TCP; package toe/tun opens such devices. Each direction has
// its own [Faults] and its own [Stats], and the faults can be changed while packets pass.
//
// # What is reproducible
//
// A direction numbers the packets that are written to it, from 0. For given Faults, what happens to
// packet k depends only on Config.Seed, the direction and k: whether it is lost, corrupted,
// duplicated, cut or held back, how many packets may overtake it, and its jitter. Which bit is
// inverted, and where a segment is cut, also depends on its length. A burst depends on the packets
// before it only through their number. Each fault has its own random numbers, so adding a fault
// changes no decision about the others.
//
// So the same packets in the same order have the same fate. But which packet is the k-th depends on
// the TCP that sends it, and a TCP decides by time and by what it receives. Only if everything runs
// in a testing/synctest bubble, and the programs in it are deterministic, is a whole connection
// reproducible. Hold, Rate, Delay, BlackHole and the tail drop use the clock of package time.
// Another version of this package may make other decisions.
//
// # Time
//
// A link in memory has no goroutine. It does what is due when one of its methods is called, and
// sets a timer only while a Read waits. So it works in a testing/synctest bubble, where rates and
// delays are exact and take no real time. Outside a bubble, packets are late by the delay of the
// operating system's timers.
//
// # TCP segments
//
// Split, Merge and CorruptRepaired make packets that any receiver accepts: lengths, sequence
// numbers, flags and checksums are right. Split and Merge move the boundaries of segments, which no
// program may rely on. CorruptRepaired makes errors that TCP cannot find. Only a CRC above TCP,
// such as that of MPA (RFC 5044 §4.4), or a cryptographic protocol finds them. All other packets
// pass these faults unchanged: packets that are not TCP, malformed packets, and fragments.
//
// # Speed
//
// A link without faults costs two copies of the packet and no allocation. As in any router, its
// queue of 1000 packets overflows when a fast sender's window holds more than that and the reader
// is late. A measurement of throughput should set a larger Queue.
//
// # Limits
//
// The link is no router: it changes no hop limit, fragments nothing, and has no address. Its ICMP
// messages come from the address that the packet was sent to. The IP header is never corrupted,
// except in packets that are not TCP. Corrupt inverts a single bit, because two inverted bits may
// leave a checksum right. Only Rate, and how fast the writers write, limit the number of packets
// that travel for Delay. So a long Delay without a Rate may need much memory.
package badlink
