package mpa

import (
	"bytes"
	"fmt"
)

// A Config describes what one end wants from MPA startup. Its methods implement the rules of both
// roles, and do no I/O. The zero value is right for a client-server connection without RDMA Reads.
type Config struct {
	// Revision is the highest revision that this end accepts, 1 or 2. It is also the revision that
	// an Initiator sends. Zero means 2.
	Revision uint8
	// NoEnhanced turns off what RFC 6581 adds. An Initiator then sends a plain frame. A Responder
	// treats an enhanced Request as improperly formatted (RFC 6581 §10).
	NoEnhanced bool

	// NoCRC means that this end does not want CRCs. If the peer wants them, both ends use them
	// anyway. Set NoCRC only for connections that have other protection as good as an end-to-end
	// CRC32C (RFC 5044 §4.4).
	NoCRC bool
	// Markers asks for Markers in the data that this end receives. The peer decides about the other
	// direction.
	Markers bool

	// IRD and ORD are the numbers of RDMA Reads that this end can serve and wants to have in
	// flight. Each is at most DepthULP-1. Zero means none. DepthULP means that the ULPs agree on
	// the depths themselves, so startup does not negotiate them. Only enhanced frames carry the
	// depths to the peer and adapt them to the peer's.
	IRD, ORD int
	// PeerToPeer makes an Initiator ask for the peer-to-peer model, in which its first FPDU is a
	// Ready to Receive indication. A Responder follows the Request and ignores this field.
	PeerToPeer bool
	// RTR is the set of indications that this end supports. Zero means RTRWrite and RTRRead. With
	// RTRRead, the depth that the Read needs (our ORD or IRD) is raised to at least 1.
	RTR RTR

	// PrivateData is sent to the peer's ULP. It has at most maxPrivateData bytes, and in an
	// enhanced frame at most maxEnhancedPrivateData. The Frame refers to PrivateData and does not
	// copy it.
	PrivateData []byte
}

// An Agreement is the result of MPA startup as one of the two ends sees it.
type Agreement struct {
	// Revision is "the protocol version negotiated with its peer" (RFC 5044 §3). It is not the
	// version of DDP and RDMAP, which is 1 with both revisions.
	Revision uint8
	Enhanced bool // the depths and the model were negotiated

	CRC       bool // FPDUs in both directions carry a CRC
	TxMarkers bool // we send Markers
	RxMarkers bool // we receive Markers

	IRD, ORD         int // the depths of this end; DepthULP leaves them to the ULP
	PeerIRD, PeerORD int // as the peer stated them; 0 if not Enhanced

	PeerToPeer bool // the Initiator's first FPDU is a Ready to Receive indication
	// RTR is, for an Initiator, the kind of indication that it must send. For a Responder it is the
	// set of kinds that may arrive. If the set contains RTRSend, it contains nothing else.
	RTR RTR

	PrivateData []byte // from the peer's ULP; a copy
}

// Request returns the frame that an Initiator sends. It fails if the Config is invalid.
func (c Config) Request() (Frame, error) {
	// "The initiator MUST NOT use the enhanced RDMA connection establishment formats or function
	// codes when no enhanced functionality is desired." (RFC 6581 §10)
	f := Frame{Revision: c.revision(), Enhanced: !c.unenhanced()}
	if c.PeerToPeer && !f.Enhanced {
		return Frame{}, errPeerToPeer
	}
	if f.Enhanced {
		f.IRD, f.ORD = uint16(c.IRD), uint16(c.initiatorORD())
		// "The initiator MUST set Control Flag A to 1 for the peer-to-peer model. The initiator
		// MUST set each Control Flag B, C, and D to 1 for each of the options it supports" (RFC
		// 6581 §9.2)
		if c.PeerToPeer {
			f.PeerToPeer, f.RTR = true, c.rtr()
		}
	}
	return c.finish(f)
}

// HandleReply processes the Reply to req. An error is one of these:
//
//	*Error, CodeFrame        The Reply is improperly formatted, or is a Request (then the error wraps
//	                         [ErrSameRole]). The caller must close the TCP connection.
//	*RejectError             The peer does not want the connection. The TCP connection stays open.
//	*Error, other codes      The two ends agreed, but the result is useless. The Initiator sends a
//	                         Terminate with this code before it closes (RFC 6581 §9). The Agreement
//	                         is valid for that Terminate.
func (c Config) HandleReply(req, reply Frame) (Agreement, error) {
	if err := reply.checkRole(true); err != nil {
		return Agreement{}, err
	}
	if reply.Revision > req.Revision || reply.Enhanced != req.Enhanced {
		return Agreement{}, frameErrorf("Reply of revision %d, enhanced %v, to a Request of revision %d, enhanced %v",
			reply.Revision, reply.Enhanced, req.Revision, req.Enhanced)
	}
	if reply.Reject {
		// "The initiator MUST pass the responder provided IRD and ORD to the ULP for both MPA
		// Accept and Reject messages." (RFC 6581 §9.1)
		return Agreement{}, &RejectError{
			PrivateData: bytes.Clone(reply.PrivateData), Enhanced: reply.Enhanced, IRD: int(reply.IRD), ORD: int(reply.ORD),
		}
	}
	a := c.agree(req, reply, reply)
	if !reply.Enhanced {
		return a, nil
	}
	// "the initiator MUST set its IRD at least to the responder ORD and its ORD at most to the
	// responder IRD" (RFC 6581 §9.1)
	a.ORD = lower(c.initiatorORD(), reply.IRD)
	if a.PeerORD != DepthULP && a.PeerORD > a.IRD {
		return a, &Error{Code: CodeInsufficientIRD, Reason: fmt.Sprintf("the Responder's ORD is %d, our IRD %d", a.PeerORD, a.IRD)}
	}
	if !req.PeerToPeer {
		return a, nil
	}
	a.PeerToPeer, a.RTR = true, choose(req.RTR&reply.RTR, a.ORD)
	// "If the initiator is not able to generate any of the responder-supported RTR indications,
	// then it MUST send a TERM message" (RFC 6581 §9.2)
	if a.RTR == 0 {
		return a, &Error{Code: CodeNoRTR, Reason: fmt.Sprintf("ours are %v, the Responder's %v", req.RTR, reply.RTR)}
	}
	return a, nil
}

// Accept returns the Reply with which a Responder accepts req, and the resulting Agreement. An
// [*Error] with CodeFrame means that this end can't serve the Request, or that req is a Reply. In
// the second case the error wraps [ErrSameRole]. In both cases the caller must close the TCP
// connection without a Reply. Other errors are about the Config.
func (c Config) Accept(req Frame) (Frame, Agreement, error) {
	reply, err := c.reply(req)
	if err != nil {
		return Frame{}, Agreement{}, err
	}
	a := c.agree(req, reply, req)
	if !req.Enhanced {
		return reply, a, nil
	}
	a.IRD = c.responderIRD(req)
	// "The responder MUST set its ORD at most to the initiator IRD." (RFC 6581 §9.1)
	a.ORD = lower(c.ORD, req.IRD)
	reply.ORD = uint16(answer(a.ORD, req.IRD))
	a.PeerToPeer, a.RTR = reply.PeerToPeer, reply.RTR
	return reply, a, nil
}

// Reject returns the Reply with which a Responder's ULP refuses req. The Reply carries
// c.PrivateData and the depths that this end needs. The errors are those of Accept.
func (c Config) Reject(req Frame) (Frame, error) {
	reply, err := c.reply(req)
	reply.Reject = err == nil
	return reply, err
}

// reply returns the part that the Replies accepting and rejecting req have in common.
func (c Config) reply(req Frame) (Frame, error) {
	if err := req.checkRole(false); err != nil {
		return Frame{}, err
	}
	// "From a standard RDMA connection establishment point of view, the enhanced MPA Frame is
	// improperly formatted" (RFC 6581 §10)
	if req.Revision > c.revision() || req.Enhanced && c.unenhanced() {
		return Frame{}, frameErrorf("Request of revision %d, enhanced %v, cannot be served", req.Revision, req.Enhanced)
	}
	// "If the responder receives an enhanced MPA message, it MUST respond with an enhanced MPA
	// message." (RFC 6581 §10) The reverse holds too.
	f := Frame{Reply: true, Revision: req.Revision, Enhanced: req.Enhanced}
	if req.Enhanced {
		// "the responder MUST set Control Flag A to 1", "MUST set Control Flag A to 0 if Control
		// Flag A is 0 in the request" (RFC 6581 §9.2)
		f.PeerToPeer = req.PeerToPeer
		if req.PeerToPeer {
			f.RTR = c.offer(req.RTR)
		}
		f.IRD = uint16(answer(c.responderIRD(req), req.ORD))
		f.ORD = uint16(answer(c.ORD, req.IRD))
	}
	f, err := c.finish(f)
	// The Reply states the decision of both ends, because some Initiators look only at the Reply.
	f.CRC = f.CRC || req.CRC
	return f, err
}

// finish sets the fields that every frame has, and checks the Config.
func (c Config) finish(f Frame) (Frame, error) {
	limit := maxPrivateData
	if f.Enhanced {
		limit = maxEnhancedPrivateData
	}
	switch {
	case c.Revision > 2:
		return Frame{}, errRevision
	case !isDepth(c.IRD) || !isDepth(c.ORD):
		return Frame{}, errDepth
	case len(c.PrivateData) > limit:
		return Frame{}, fmt.Errorf("%w: %d bytes, the limit is %d", errPrivateData, len(c.PrivateData), limit)
	}
	// "The default configuration for a connection MUST be to use CRCs." (RFC 5044 §4.4)
	f.CRC = !c.NoCRC
	f.Markers = c.Markers
	f.PrivateData = c.PrivateData
	return f, nil
}

// agree returns the result of request and reply. peer is the one of the two that this end received.
// The depths in the result are this end's own, not yet adapted to the peer's.
func (c Config) agree(request, reply, peer Frame) Agreement {
	a := Agreement{
		Revision: reply.Revision,
		Enhanced: reply.Enhanced,
		// "When this bit is '1' in either the MPA Request Frame or MPA Reply Frame, CRCs MUST be
		// generated and checked by both endpoints." (RFC 5044 §7.1.1)
		CRC: request.CRC || reply.CRC,
		// "this bit declares that Markers are REQUIRED in FPDUs sent from" the end that receives
		// the frame (RFC 5044 §7.1.1).
		TxMarkers:   peer.Markers,
		RxMarkers:   request.Markers,
		IRD:         c.IRD,
		ORD:         c.ORD,
		PrivateData: bytes.Clone(peer.PrivateData),
	}
	if !peer.Reply {
		a.RxMarkers = reply.Markers
	}
	if peer.Enhanced {
		a.PeerIRD, a.PeerORD = int(peer.IRD), int(peer.ORD)
	}
	return a
}

// offer returns the kinds of indication that a Responder answers with when an Initiator supports
// wanted. These are the kinds that both support or, if there are none, the kinds that the Responder
// supports. RTRSend is offered only alone, so that the Responder knows whether the Initiator's
// first message consumes a receive buffer. "If the responder does not support any of the
// initiator-specified RTR indication options, then the responder MUST set at least one RTR
// indication type option it supports." (RFC 6581 §9.2)
func (c Config) offer(wanted RTR) RTR {
	kinds := c.rtr() & wanted
	if kinds == 0 {
		kinds = c.rtr()
	}
	if others := kinds &^ RTRSend; others != 0 {
		return others
	}
	return kinds
}

// choose returns the kind that an Initiator sends: the first one in kinds of Write, Read and Send.
// A Read needs an ORD of at least 1.
func choose(kinds RTR, ord int) RTR {
	switch {
	case kinds&RTRWrite != 0:
		return RTRWrite
	case kinds&RTRRead != 0 && ord > 0:
		return RTRRead
	}
	return kinds & RTRSend
}

// lower returns own, lowered to what the peer can serve.
func lower(own int, peer uint16) int {
	if peer == DepthULP {
		return own
	}
	return min(own, int(peer))
}

// answer returns the depth that a Responder with the depth own states when the Initiator has stated
// peer.
// "The responder MUST respond to an initiator ORD value of 0x3FFF by leaving its local endpoint IRD
// value unchanged and setting the IRD to 0x3FFF in its reply message." (RFC 6581 §9.1; likewise for
// IRD and ORD)
func answer(own int, peer uint16) int {
	if peer == DepthULP {
		return DepthULP
	}
	return own
}

// initiatorORD returns the ORD that an Initiator asks for.
func (c Config) initiatorORD() int {
	if c.PeerToPeer && c.rtr()&RTRRead != 0 {
		return max(c.ORD, 1)
	}
	return c.ORD
}

// responderIRD returns the IRD of a Responder that has received req.
// "if the initiator ORD is 0 [...] and the responder supports use of a zero-length RDMA Read RTR
// indication, then the responder IRD can be set to 1" (RFC 6581 §9.1)
func (c Config) responderIRD(req Frame) int {
	if req.PeerToPeer && c.offer(req.RTR)&RTRRead != 0 {
		return max(c.IRD, 1)
	}
	return c.IRD
}

func isDepth(n int) bool { return 0 <= n && n <= DepthULP }

func (c Config) revision() uint8 {
	if c.Revision == 0 {
		return 2
	}
	return c.Revision
}

func (c Config) unenhanced() bool { return c.NoEnhanced || c.revision() < 2 }

func (c Config) rtr() RTR {
	if c.RTR&allRTR == 0 {
		return RTRWrite | RTRRead
	}
	return c.RTR & allRTR
}
