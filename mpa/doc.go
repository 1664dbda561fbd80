// Package mpa implements Marker PDU Aligned Framing: RFC 5044 with the enhanced startup of RFC
// 6581. Two ends first agree on CRCs, Markers and depths. Then FPDUs give the TCP stream the record
// boundaries that DDP needs, and a CRC that is strong enough for placing data.
//
// The package lies between DDP, whose segments it calls ULPDUs, and TCP, and depends on neither. It
// does no I/O, starts no goroutine and uses no clock.
//
// # For whom
//
//   - Programs that use connections of package extsock: [RejectError], [Error] with its codes,
//     [ErrSameRole], and the kinds of [RTR] indication.
//   - Programs that run startup themselves: [Config], [Frame], [Agreement], [ParseFrame],
//     [FrameLen] and [Key].
//   - Drivers of connections, and tools that read captures: [Sender], [Batch], [MULPDU], [Receiver]
//     and [ULPDU].
//
// # Startup
//
// Before the first record each end sends one frame ([Frame]): the Initiator sends a Request, then
// the Responder sends a Reply. A [Config] describes what an end wants. Its methods implement the
// rules of both roles, and an [Agreement] is the result:
//
//	Initiator                           Responder
//	req := Config.Request
//	    ── req.AppendTo ──────────────► ParseFrame, then Config.Accept or Config.Reject
//	ParseFrame, Config.HandleReply ◄──────────────────────────────── reply.AppendTo
//	    ── first FPDU ────────────────► only now may the Responder send FPDUs
//
// [FrameLen] tells from the first 20 bytes how long a frame is. So a reader can stop exactly at the
// end of the frame, where the FPDUs begin.
//
// # Full Operation
//
// Each direction is independent. Offsets count the bytes of the direction's stream; offset 0 is the
// first byte after the startup frame. Each ULPDU travels in one FPDU:
//
//	0               2                      2+n        2+n+pad      6+n+pad
//	+---------------+----------------------+----------+------------+
//	| ULPDU_Length  | ULPDU, n octets      | PAD, 0-3 | CRC32C     |
//	+---------------+----------------------+----------+------------+
//	big-endian                               zero       little-endian
//
// If the receiver asked for Markers, there is one at every offset that is a multiple of 512. Each
// Marker is inside an FPDU and points back to the ULPDU_Length of that FPDU.
//
// A [Sender] appends FPDUs to a [Batch], which holds the bytes of one vectored write. [MULPDU]
// returns how long a ULPDU should be at most, so that its FPDU fits in a TCP segment.
//
// A [Receiver] takes bytes as TCP delivers them and returns whole, verified ULPDUs:
//
//	n := read(r.Free())
//	r.Fill(off, n)
//	for r.Next() {
//		use(r.ULPDU())
//	}
//	deliver everything below r.Edge()
//
// The Receiver also accepts bytes that arrive after a gap, as a hint; see [Receiver.Fill].
//
// # Errors and limits
//
// Errors are [*Error] values with the RFC's code, which RDMAP reports in a Terminate. A
// [*RejectError] is the peer's refusal, after which the TCP connection may still be used. The
// package refuses revision 0, which is the RDMA Consortium's. After an error a Receiver returns
// nothing more. MPA itself does not close the connection (RFC 5044 §8).
//
// Sending or receiving an FPDU allocates no memory. A Sender, a Receiver and a Batch belong to one
// goroutine each. A Receiver accepts ULPDUs of 0 to 65535 bytes. RFC 5044 §3 allows a sender no
// more than 64768, but some peers send longer ULPDUs.
package mpa
