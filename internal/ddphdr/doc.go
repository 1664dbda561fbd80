// Package ddphdr has the two headers of DDP segments (RFC 5041 §4), the numbers of the queues of
// Untagged Buffers, and the error numbers. Package ddp speaks the protocol; this package is for it, for rdmap, and for whatever
// else reads or builds single segments: the driver, packet dissection, and tests that play a peer.
//
// Each header has AppendTo, which writes reserved bits as zero, and a Parse function, which ignores
// them. A Parse function keeps nothing of its argument. What it returns as the rest aliases the
// argument.
package ddphdr
