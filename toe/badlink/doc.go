// Package badlink is a bad network to test on: a link that loses, reorders, duplicates, corrupts,
// cuts and delays IP packets, as its [Config] says and as its seed determines.
//
// [Pipe] makes a link in memory between two ends, each of which carries whole IP packets, for a TCP
// that runs in the process. [Join] makes one between two devices, such as the TUN devices of two
// network namespaces, for the kernel's TCP; package toe/tun opens such devices. Each direction has
// its own [Faults] and its own [Stats], and the faults can be changed while packets pass.
//
// # What is reproducible
//
// A direction numbers the packets that are written to it, from 0. What happens to packet k depends
// only on Config.Seed, the direction and k, for the Faults in force: whether it is lost, corrupted,
// duplicated, cut, held back and by how many it may be overtaken, and its jitter. Which bit is
// inverted, and where a segment is cut, depends on its length besides. A burst depends on the
// packets before it only through their number. Each fault has random numbers of its own, so a fault
// that is added changes none of the decisions about the others.
//
// So the same packets in the same order have the same fate. But what the k-th packet is depends on
// the TCP that sends it, and a TCP decides by time and by what it receives. Only if everything runs
// in a testing/synctest bubble, and the programs in it are deterministic, is a whole connection
// reproducible. The times of Hold, Rate, Delay, BlackHole and of the tail drop are those of the
// clock of package time. Another version of this package may decide otherwise.
//
// # Time
//
// A link in memory has no goroutine. It does what is due when one of its methods is called, and
// sets a timer only while a Read waits. So it works in a testing/synctest bubble, where rates and
// delays are exact and take no real time. Outside of a bubble, packets come later than they should
// by the delay of the operating system's timers.
//
// # TCP segments
//
// Split, Merge and CorruptRepaired make packets that any receiver accepts: lengths, sequence
// numbers, flags and checksums are right. Split and Merge move the boundaries of segments, which no
// program may rely on. CorruptRepaired makes errors that TCP cannot find. Only a CRC above TCP,
// such as that of MPA (RFC 5044 §4.4), or a cryptographic protocol finds them. All other packets
// pass these faults unchanged: what is not TCP, what is malformed, and fragments.
//
// # Speed
//
// A link without faults costs two copies of the packet and no allocation. Its queue of 1000 packets
// overflows when a fast sender's window holds more than that and the reader is late, as any
// router's does. A measurement of throughput should set a larger Queue.
//
// # Limits
//
// The link is no router: it changes no hop limit, fragments nothing, and has no address. Its ICMP
// messages come from the address that the packet was sent to. The IP header is never corrupted,
// except in packets that are not TCP. Corrupt inverts a single bit, because two inverted bits may
// leave a checksum right. Packets that travel for Delay are limited only by Rate and by what the
// writers write, so a long Delay without a Rate may need much memory.
package badlink
