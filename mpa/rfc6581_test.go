package mpa

import (
	"bytes"
	"errors"
	"testing"
)

// ask returns the enhanced Request that an Initiator sends.
func ask(t *testing.T, c Config) Frame {
	t.Helper()
	req, err := c.Request()
	if err != nil || !req.Enhanced {
		t.Fatalf("%+v: Request = %+v, %v", c, req, err)
	}
	return overTheWire(t, req)
}

// accept returns the Reply to req and the Responder's Agreement.
func accept(t *testing.T, c Config, req Frame) (Frame, Agreement) {
	t.Helper()
	reply, a, err := c.Accept(req)
	if err != nil {
		t.Fatalf("%+v: Accept(%+v): %v", c, req, err)
	}
	return overTheWire(t, reply), a
}

// "If the responder receives an enhanced MPA message, it MUST respond with an enhanced MPA
// message." "If the responder receives an unenhanced MPA message ('S' is set to 0), it MUST respond
// with an unenhanced MPA message." "To use any enhanced connection establishment feature, this MUST
// be set to two or higher." "A host accepting MPA connections MUST continue to accept MPA Requests
// with version one"
// MPA-6581-6-6, MPA-6581-6-7, MPA-6581-6-9, MPA-6581-10-1, MPA-6581-10-3, MPA-6581-10-5,
// MPA-6581-10-6, MPA-6581-10-7, MPA-6581-10-8
func TestRFC6581_10_ReplyLikeRequest(t *testing.T) {
	tests := []struct {
		desc        string
		octet16     byte
		rev         byte
		private     string
		wantOctets  string // 16 to 19 of the accepting Reply
		wantPrivate string
	}{
		{"revision 1", 0x40, 1, "00040004", "40010000", "00040004"},
		{"revision 1, where S is a reserved bit", 0x50, 1, "00040004", "40010000", "00040004"},
		{"revision 2, not enhanced", 0x40, 2, "00040004", "40020000", "00040004"},
		{"revision 2, enhanced", 0x50, 2, "00040004", "50020004", ""},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			b := append(unhex(reqKey), tt.octet16, tt.rev, 0, 4)
			req, err := parseFrame(append(b, unhex(tt.private)...), false)
			if err != nil || !bytes.Equal(req.PrivateData, unhex(tt.wantPrivate)) {
				t.Fatalf("ParseFrame = %+v, %v", req, err)
			}
			reply, _ := accept(t, Config{IRD: 9, ORD: 9}, req)
			if got := reply.AppendTo(nil)[16:20]; !bytes.Equal(got, unhex(tt.wantOctets)) {
				t.Errorf("accepted with %x, want %s", got, tt.wantOctets)
			}
			reject, err := Config{IRD: 9, ORD: 9}.Reject(req)
			want := unhex(tt.wantOctets)
			want[0] |= 0x20
			if got := reject.AppendTo(nil)[16:20]; err != nil || !bytes.Equal(got, want) {
				t.Errorf("rejected with %x, %v, want %x", got, err, want)
			}
		})
	}
}

// "If the responder receives an enhanced MPA message and it does not support enhanced RDMA
// connection establishment, it MUST close the TCP connection and exit MPA." "The initiator MUST NOT
// use the enhanced RDMA connection establishment formats or function codes when no enhanced
// functionality is desired."
// MPA-6581-10-2, MPA-6581-10-4, MPA-6581-10-9
func TestRFC6581_10_NotEnhanced(t *testing.T) {
	for _, c := range []Config{{NoEnhanced: true}, {Revision: 1}, {Revision: 1, IRD: 3, ORD: 3}} {
		_, _, err := c.Accept(Frame{Revision: 2, Enhanced: true})
		wantCode(t, err, CodeFrame)
		_, err = c.Reject(Frame{Revision: 2, Enhanced: true})
		wantCode(t, err, CodeFrame)
		req, err := c.Request()
		if b := req.AppendTo(nil); err != nil || b[16]&0x10 != 0 || len(b) != 20 {
			t.Errorf("%+v: Request %x, %v", c, b, err)
		}
	}
}

// "The responder and initiator MUST pass the peer's provided IRD and ORD values to the ULP" "The
// initiator MUST pass the responder provided IRD and ORD to the ULP for both MPA Accept and Reject
// messages." "The responder MAY reject the connection request if the initiator IRD is not
// sufficient for the ULP-required ORD and specify the required ORD in the MPA Reject Frame
// responder ORD."
// MPA-6581-9.1-1, MPA-6581-9.1-2, MPA-6581-9.1-6, MPA-6581-9.1-10, MPA-6581-9.1-11, MPA-6581-9.1-16
func TestRFC6581_9_1_PeerDepths(t *testing.T) {
	i, r := Config{IRD: 4, ORD: 30}, Config{IRD: 7, ORD: 32}
	req := ask(t, i)
	reply, a := accept(t, r, req)
	if req.IRD != 4 || req.ORD != 30 || a.PeerIRD != 4 || a.PeerORD != 30 {
		t.Errorf("Request %d, %d; the Responder's ULP learns %d, %d", req.IRD, req.ORD, a.PeerIRD, a.PeerORD)
	}
	if a, err := i.HandleReply(req, reply); err != nil || a.PeerIRD != 7 || a.PeerORD != 4 {
		t.Errorf("the Initiator's ULP learns %d, %d, %v, want 7, 4", a.PeerIRD, a.PeerORD, err)
	}
	reject, err := r.Reject(req)
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.HandleReply(req, overTheWire(t, reject))
	if e := (*RejectError)(nil); !errors.As(err, &e) || !e.Enhanced || e.IRD != 7 || e.ORD != 32 {
		t.Errorf("rejected: %v, want IRD 7 and the ORD required, 32", err)
	}
}

// "The responder MUST set its ORD at most to the initiator IRD." "the initiator MUST set its IRD at
// least to the responder ORD and its ORD at most to the responder IRD. If the initiator does not
// have sufficient resources for the required IRD, it MUST send a TERM message [...] the TERM
// message MUST contain Layer 2, Error Type 0, Error Code 6." MPA-6581-9.1-7, MPA-6581-9.1-9,
// MPA-6581-9.1-11, MPA-6581-9.1-12, MPA-6581-9.1-13, MPA-6581-9.1-14, MPA-6581-9.1-15
func TestRFC6581_9_1_Depths(t *testing.T) {
	for iIRD := range 20 {
		for rORD := range 20 {
			reply, a := accept(t, Config{ORD: rORD}, ask(t, Config{IRD: iIRD}))
			if a.ORD != min(iIRD, rORD) || int(reply.ORD) != a.ORD {
				t.Errorf("IRD %d, wanted ORD %d: ORD %d, stated %d", iIRD, rORD, a.ORD, reply.ORD)
			}
			i := Config{IRD: iIRD, ORD: 16}
			got, err := i.HandleReply(ask(t, i), Frame{Reply: true, Revision: 2, Enhanced: true, IRD: 4, ORD: uint16(rORD)})
			if got.ORD != 4 {
				t.Errorf("ORD 16, Responder's IRD 4: ORD %d", got.ORD)
			}
			if rORD <= iIRD {
				if err != nil || got.IRD < rORD {
					t.Errorf("IRD %d, Responder's ORD %d: IRD %d, %v", iIRD, rORD, got.IRD, err)
				}
				continue
			}
			e := wantCode(t, err, CodeInsufficientIRD)
			if layer, etype, code := e.TerminateCode(); layer != 2 || etype != 0 || code != 6 || got.Revision != 2 {
				t.Errorf("Terminate %d/%d/%d under %+v", layer, etype, code, got)
			}
		}
	}
}

// "The responder MUST respond to an initiator ORD value of 0x3FFF by leaving its local endpoint IRD
// value unchanged and setting the IRD to 0x3FFF in its reply message. The initiator MUST leave its
// local endpoint ORD value unchanged upon receiving a responder IRD value of 0x3FFF." The same
// holds for the initiator's IRD and the responder's ORD.
// MPA-6581-9.1-17, MPA-6581-9.1-18, MPA-6581-9.1-19, MPA-6581-9.1-20, MPA-6581-9.1-21
func TestRFC6581_9_1_LeftToTheULP(t *testing.T) {
	req := ask(t, Config{IRD: DepthULP, ORD: DepthULP})
	if got := req.AppendTo(nil)[20:24]; !bytes.Equal(got, unhex("3fff3fff")) {
		t.Errorf("Request has depths %x", got)
	}
	reply, a := accept(t, Config{IRD: 7, ORD: 9}, req)
	if got := reply.AppendTo(nil)[20:24]; !bytes.Equal(got, unhex("3fff3fff")) || a.IRD != 7 || a.ORD != 9 {
		t.Errorf("Reply has depths %x; the Responder's are %d, %d, want 7, 9", got, a.IRD, a.ORD)
	}
	// Only one of the two depths is left to the ULP.
	if reply, a = accept(t, Config{IRD: 7, ORD: 9}, ask(t, Config{IRD: DepthULP, ORD: 3})); reply.IRD != 7 || reply.ORD != DepthULP || a.ORD != 9 {
		t.Errorf("Reply %d, %d; ORD %d", reply.IRD, reply.ORD, a.ORD)
	}
	if reply, a = accept(t, Config{IRD: 7, ORD: 9}, ask(t, Config{IRD: 3, ORD: DepthULP})); reply.IRD != DepthULP || reply.ORD != 3 || a.IRD != 7 || a.ORD != 3 {
		t.Errorf("Reply %d, %d; IRD %d, ORD %d", reply.IRD, reply.ORD, a.IRD, a.ORD)
	}
	i := Config{IRD: 5, ORD: 6}
	a, err := i.HandleReply(ask(t, i), Frame{Reply: true, Revision: 2, Enhanced: true, IRD: DepthULP, ORD: DepthULP})
	if err != nil || a.IRD != 5 || a.ORD != 6 || a.PeerIRD != DepthULP || a.PeerORD != DepthULP {
		t.Errorf("HandleReply = %+v, %v, want IRD 5, ORD 6", a, err)
	}
}

// "The initiator MUST set Control Flag A to 1 for the peer-to-peer model. The initiator MUST set
// each Control Flag B, C, and D to 1 for each of the options it supports" "The initiator MUST set
// Control Flag A to 0 for the client-server model. The responder MUST set Control Flag A to 0 if
// Control Flag A is 0 in the request. If Control Flag A is set to 0, then Control Flags B, C, and D
// MUST also be set to 0. On reception, if Control Flag A is set to 0, then Control Flags B, C, and
// D MUST be ignored."
// MPA-6581-5-1, MPA-6581-9.2-1, MPA-6581-9.2-3, MPA-6581-9.2-4, MPA-6581-9.2-16, MPA-6581-9.2-17,
// MPA-6581-9.2-18, MPA-6581-9.2-19
func TestRFC6581_9_2_Model(t *testing.T) {
	tests := []struct {
		c    Config
		want string // octets 20 to 23
	}{
		{Config{PeerToPeer: true}, "8000c001"}, // Write and Read; ORD raised for the Read
		{Config{PeerToPeer: true, RTR: allRTR, ORD: 4}, "c000c004"},
		{Config{PeerToPeer: true, RTR: RTRSend, ORD: 4}, "c0000004"},
		{Config{PeerToPeer: true, RTR: RTRWrite}, "80008000"},
		{Config{RTR: allRTR}, "00000000"},
	}
	for _, tt := range tests {
		if got := ask(t, tt.c).AppendTo(nil)[20:24]; !bytes.Equal(got, unhex(tt.want)) {
			t.Errorf("%+v: Request has %x, want %s", tt.c, got, tt.want)
		}
	}
	if b := (Frame{Revision: 2, Enhanced: true, RTR: allRTR}).AppendTo(nil); !bytes.Equal(b[20:24], make([]byte, 4)) {
		t.Errorf("with A=0 there are %x", b[20:24])
	}
	// B, C and D are ignored without A, in either frame.
	req, err := parseFrame(unhex(reqKey+"50020004 4004c004"), false)
	if err != nil || req.PeerToPeer || req.RTR != 0 || req.IRD != 4 || req.ORD != 4 {
		t.Errorf("Request = %+v, %v", req, err)
	}
	reply, a := accept(t, Config{IRD: 4, ORD: 4, RTR: allRTR}, req)
	if got := reply.AppendTo(nil)[20:24]; !bytes.Equal(got, unhex("00040004")) || a.PeerToPeer || a.RTR != 0 {
		t.Errorf("Reply has %x; agreed on %+v", got, a)
	}
	reject, err := Config{IRD: 4, ORD: 4, RTR: allRTR}.Reject(req)
	if got := reject.AppendTo(nil)[20:24]; err != nil || !bytes.Equal(got, unhex("00040004")) {
		t.Errorf("rejecting Reply has %x, %v", got, err)
	}
	reply, err = parseFrame(unhex(repKey+"50020004 c004c004"), true)
	if err != nil || !reply.PeerToPeer {
		t.Fatalf("Reply = %+v, %v", reply, err)
	}
	if a, err := (Config{IRD: 4}).HandleReply(ask(t, Config{IRD: 4}), reply); err != nil || a.PeerToPeer || a.RTR != 0 {
		t.Errorf("A in the Reply only: %+v, %v", a, err)
	}
}

// "If Control Flag A is 1 in the MPA Request message, then the responder MUST set Control Flag A to
// 1 in the MPA reply message. For each initiator-supported RTR indication option, the responder
// SHOULD set the corresponding Control Flag" "The responder MUST set at least one RTR indication
// option if it supports more than one initiator-specified RTR indication option." "If the responder
// does not support any of the initiator-specified RTR indication options, then the responder MUST
// set at least one RTR indication type option it supports." "The responder MUST support at least
// one RTR indication option"
// MPA-6581-9.2-5, MPA-6581-9.2-6, MPA-6581-9.2-7, MPA-6581-9.2-8, MPA-6581-9.2-9, MPA-6581-9.2-11,
// MPA-6581-9.1-8
func TestRFC6581_9_2_ResponderKinds(t *testing.T) {
	for wanted := range allRTR + 1 {
		for own := range allRTR + 1 {
			req := Frame{Revision: 2, Enhanced: true, PeerToPeer: true, RTR: wanted}
			r := Config{RTR: own}
			for _, reject := range []bool{false, true} {
				reply, err := r.Reject(req)
				if !reject {
					reply, _, err = r.Accept(req)
				}
				octets := reply.AppendTo(nil)[20:24]
				wire := RTR(octets[0]>>6&1) | RTR(octets[2]>>6&2) | RTR(octets[2]>>4&4) // B, C and D
				if octets[0]&0x80 == 0 || wire != reply.RTR {
					t.Errorf("wanted %v of %v, reject %v: the Reply has %x, kinds %v", wanted, own, reject, octets, reply.RTR)
				}
				if err != nil || !reply.PeerToPeer || reply.RTR == 0 || reply.RTR&^r.rtr() != 0 {
					t.Errorf("wanted %v of %v, reject %v: %+v, %v", wanted, own, reject, reply, err)
				}
				common := r.rtr() & wanted
				if common != 0 && reply.RTR != common && reply.RTR != common&^RTRSend {
					t.Errorf("wanted %v of %v: %v", wanted, own, reply.RTR)
				}
				if reply.RTR&RTRRead != 0 && reply.IRD < 1 {
					t.Errorf("wanted %v of %v: %v with IRD %d", wanted, own, reply.RTR, reply.IRD)
				}
			}
		}
	}
}

// "Upon receiving the MPA Accept Frame with Control Flag A set to 1, the initiator MUST generate
// one of the negotiated RTR indications. If the initiator is not able to generate any of the
// responder-supported RTR indications, then it MUST send a TERM message [...] the TERM message MUST
// contain Layer 2, Error Type 0, Error Code 7." MPA-6581-1.1-2, MPA-6581-9.2-10, MPA-6581-9.2-12,
// MPA-6581-9.2-13, MPA-6581-9.2-14, MPA-6581-9.3-1, MPA-6581-9.3-2
func TestRFC6581_9_2_InitiatorKind(t *testing.T) {
	for own := RTR(1); own <= allRTR; own++ {
		for theirs := range allRTR + 1 {
			i := Config{PeerToPeer: true, RTR: own}
			reply := Frame{Reply: true, Revision: 2, Enhanced: true, IRD: 1, PeerToPeer: true, RTR: theirs}
			a, err := i.HandleReply(ask(t, i), reply)
			if own&theirs == 0 {
				e := wantCode(t, err, CodeNoRTR)
				if layer, etype, code := e.TerminateCode(); layer != 2 || etype != 0 || code != 7 || a.Revision != 2 || a.RTR != 0 {
					t.Errorf("%v and %v: Terminate %d/%d/%d under %+v", own, theirs, layer, etype, code, a)
				}
				continue
			}
			one := a.RTR == RTRSend || a.RTR == RTRWrite || a.RTR == RTRRead
			if err != nil || !a.PeerToPeer || !one || a.RTR&own&theirs == 0 || a.RTR == RTRRead && a.ORD != 1 {
				t.Errorf("%v and %v: %+v, %v", own, theirs, a, err)
			}
		}
	}
	i := Config{PeerToPeer: true}
	_, err := i.HandleReply(ask(t, i), Frame{Reply: true, Revision: 2, Enhanced: true, IRD: 1})
	wantCode(t, err, CodeNoRTR) // A=0 in the Reply
	_, err = Config{PeerToPeer: true, RTR: RTRRead}.HandleReply(ask(t, i), Frame{Reply: true, Revision: 2, Enhanced: true, PeerToPeer: true, RTR: RTRRead})
	wantCode(t, err, CodeNoRTR) // only a Read is left, and none may be in flight
	// The depths are checked first.
	_, err = i.HandleReply(ask(t, i), Frame{Reply: true, Revision: 2, Enhanced: true, PeerToPeer: true, ORD: 1})
	wantCode(t, err, CodeInsufficientIRD)
}

// The enhanced data take four of the 512 bytes. The other 508 may be Private Data of the ULP, in
// each frame.
// MPA-6581-9-4
func TestRFC6581_9_RoomForPrivateData(t *testing.T) {
	req := ask(t, Config{})
	for n := 500; n < 513; n++ {
		c := Config{PrivateData: bytes.Repeat([]byte{7}, n)}
		for desc, frame := range map[string]func() (Frame, error){
			"Request": c.Request,
			"Accept":  func() (Frame, error) { f, _, err := c.Accept(req); return f, err },
			"Reject":  func() (Frame, error) { return c.Reject(req) },
		} {
			f, err := frame()
			if n > 508 {
				if !errors.Is(err, errPrivateData) {
					t.Errorf("%s with %d octets: %v, want errPrivateData", desc, n, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s with %d octets: %v", desc, n, err)
			} else if b := f.AppendTo(nil); len(b) != 24+n || !bytes.Equal(b[24:], c.PrivateData) {
				t.Errorf("%s with %d octets: %x", desc, n, b)
			}
		}
	}
}
