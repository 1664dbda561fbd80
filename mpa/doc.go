// Package mpa implements the startup of Marker PDU Aligned Framing: RFC 5044 §7 with the enhanced
// frames of RFC 6581. Two ends agree on CRCs, Markers and depths before the first FPDU. The package
// has the errors of all of MPA, too. The FPDUs that follow startup are package internal/fpdu's.
//
// A program that uses connections of package extsock needs [RejectError], [Error] with its codes,
// [ErrSameRole] and the kinds of [RTR] indication. Everything else is for those who run startup
// themselves. The package does no I/O, starts no goroutine and uses no clock.
//
// # Startup
//
// Before the first record each end sends one frame ([Frame]): the Initiator sends a Request, then
// the Responder sends a Reply. A [Config] says what an end wants. Its methods implement the rules
// of both roles, and an [Agreement] is the result:
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
// # Errors and limits
//
// Errors are [*Error] values with the RFC's code, which RDMAP reports in a Terminate. A [*RejectError]
// is the peer's refusal, after which the TCP connection may still be used. The package refuses
// revision 0, which is the RDMA Consortium's.
package mpa
