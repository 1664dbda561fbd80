// Package rdmaphdr has what RDMAP puts into its messages: the RDMAP Control Field with its opcodes
// (RFC 5040 §4.1, RFC 7306 §4.1), and the headers of RDMA Read Requests, Atomic Requests and Atomic
// Responses (RFC 5040 §4.4, RFC 7306 §5.2). It also has the words for the reasons in a Terminate.
// Package rdmap speaks the protocol; this package is for it and for whatever else reads, builds or
// prints single messages: packet dissection, counters, traces, and tests that play a peer.
//
// Each header has AppendTo, which writes reserved bits as zero, and a Parse function, which ignores
// them. A Parse function keeps nothing of its argument. What it returns as the rest aliases the
// argument.
package rdmaphdr
