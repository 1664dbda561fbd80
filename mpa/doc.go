// Package mpa is Marker PDU Aligned Framing, RFC 5044 with the enhanced startup of RFC 6581: it gives
// a TCP stream the record boundaries that DDP needs, and a CRC strong enough to place data by.
//
// It lies between DDP, whose segments it calls ULPDUs, and TCP, and knows neither. It does no I/O,
// starts no goroutine and knows no time.
//
// # Startup
//
// Before the first record each end sends one frame: the Initiator a Request, then the Responder a
// Reply ([Frame]). A [Config] says what an end wants; its methods are the rules of both parts, and an
// [Agreement] is what comes of them:
//
//	Initiator                           Responder
//	req := Config.Request
//	    ── req.AppendTo ──────────────► ParseFrame, then Config.Accept or Config.Reject
//	ParseFrame, Config.HandleReply ◄──────────────────────────────── reply.AppendTo
//	    ── first FPDU ────────────────► only now may the Responder send FPDUs
//
// [FrameLen] says from the first 20 octets how long a frame is, so that not one octet behind it is
// read: those are FPDUs.
//
// # Full Operation
//
// Each direction is by itself. Offsets count octets of the direction's stream; offset 0 is the first
// octet behind the startup frame. Each ULPDU travels in one FPDU:
//
//	0               2                      2+n        2+n+pad      6+n+pad
//	+---------------+----------------------+----------+------------+
//	| ULPDU_Length  | ULPDU, n octets      | PAD, 0-3 | CRC32C     |
//	+---------------+----------------------+----------+------------+
//	big-endian                               zero       little-endian
//
// If the receiver asked for Markers, one stands at every offset that is a multiple of 512, inside the
// FPDU, and points back to the ULPDU_Length of the FPDU that it is in.
//
// A [Sender] appends FPDUs to a [Batch], the octets of one vectored write. [MULPDU] says how long a
// ULPDU should be at most, so that its FPDU fits a TCP segment.
//
// A [Receiver] takes octets as TCP gives them and shows whole, verified ULPDUs:
//
//	n := read(r.Free())
//	r.Fill(off, n)
//	for r.Next() {
//		use(r.ULPDU())
//	}
//	deliver everything below r.Edge()
//
// Octets that arrive behind a gap may be shown to it, too, as a hint; see [Receiver.Fill].
//
// # Errors and limits
//
// Errors are [*Error] values with the RFC's code, which RDMAP reports in a Terminate. After an error a
// Receiver shows nothing more; it is not MPA that closes the connection (RFC 5044 §8).
//
// Nothing on the way of an FPDU allocates memory. A Sender, a Receiver and a Batch belong to one
// goroutine each. A Receiver takes ULPDUs of 0 to 65535 octets, although RFC 5044 §3 allows a sender
// no more than 64768: there are peers that send longer ones. Revision 0, of the RDMA Consortium, is
// refused.
package mpa
