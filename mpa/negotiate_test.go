package mpa

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
)

// A startup is one exchange of encoded frames.
type startup struct {
	req, reply Frame // as received
	i, r       Agreement
	iErr, rErr error
}

// start runs MPA startup between two ends. If the Responder fails, it sends no Reply, and the other
// fields are zero.
func start(t *testing.T, i, r Config) startup {
	t.Helper()
	req, err := i.Request()
	if err != nil {
		t.Fatalf("%+v: Request: %v", i, err)
	}
	s := startup{req: overTheWire(t, req)}
	reply, a, err := r.Accept(s.req)
	if s.r, s.rErr = a, err; err != nil {
		return s
	}
	s.reply = overTheWire(t, reply)
	s.i, s.iErr = i.HandleReply(req, s.reply)
	return s
}

// overTheWire encodes a frame and parses it.
func overTheWire(t *testing.T, f Frame) Frame {
	t.Helper()
	b := f.AppendTo(nil)
	if n, err := FrameLen(b[:FrameHeaderLen]); err != nil || n != len(b) {
		t.Fatalf("FrameLen(%x) = %d, %v", b[:FrameHeaderLen], n, err)
	}
	f, err := parseFrame(b, f.Reply)
	if err != nil {
		t.Fatalf("ParseFrame(%x): %v", b, err)
	}
	return f
}

// TestStartup checks what some pairs of ends agree on.
func TestStartup(t *testing.T) {
	tests := []struct {
		desc string
		i, r Config
		wi   Agreement
		wr   Agreement
	}{
		{"the zero Config", Config{}, Config{},
			Agreement{Revision: 2, Enhanced: true, CRC: true}, Agreement{Revision: 2, Enhanced: true, CRC: true}},
		{"revision 1", Config{Revision: 1, IRD: 3, ORD: 4}, Config{IRD: 5, ORD: 6},
			Agreement{Revision: 1, CRC: true, IRD: 3, ORD: 4}, Agreement{Revision: 1, CRC: true, IRD: 5, ORD: 6}},
		{"revision 2, not enhanced", Config{NoEnhanced: true, IRD: 3, ORD: 4}, Config{IRD: 5, ORD: 6},
			Agreement{Revision: 2, CRC: true, IRD: 3, ORD: 4}, Agreement{Revision: 2, CRC: true, IRD: 5, ORD: 6}},
		{"depths that fit", Config{IRD: 8, ORD: 8}, Config{IRD: 16, ORD: 4},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 8, ORD: 8, PeerIRD: 16, PeerORD: 4},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 16, ORD: 4, PeerIRD: 8, PeerORD: 8}},
		{"depths that have to be adapted", Config{IRD: 4, ORD: 30}, Config{IRD: 7, ORD: 20},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 4, ORD: 7, PeerIRD: 7, PeerORD: 4},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 7, ORD: 4, PeerIRD: 4, PeerORD: 30}},
		{"peer-to-peer", Config{PeerToPeer: true}, Config{},
			Agreement{Revision: 2, Enhanced: true, CRC: true, ORD: 1, PeerIRD: 1, PeerToPeer: true, RTR: RTRWrite},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRWrite | RTRRead}},
		{"peer-to-peer, Send only", Config{PeerToPeer: true, RTR: allRTR}, Config{RTR: RTRSend},
			Agreement{Revision: 2, Enhanced: true, CRC: true, PeerToPeer: true, RTR: RTRSend},
			Agreement{Revision: 2, Enhanced: true, CRC: true, PeerORD: 1, PeerToPeer: true, RTR: RTRSend}},
		{"peer-to-peer, Read only", Config{PeerToPeer: true, RTR: RTRSend | RTRRead}, Config{RTR: allRTR},
			Agreement{Revision: 2, Enhanced: true, CRC: true, ORD: 1, PeerIRD: 1, PeerToPeer: true, RTR: RTRRead},
			Agreement{Revision: 2, Enhanced: true, CRC: true, IRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRRead}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			tt.i.PrivateData, tt.r.PrivateData = []byte("from the Initiator"), []byte("from the Responder")
			tt.wi.PrivateData, tt.wr.PrivateData = tt.r.PrivateData, tt.i.PrivateData
			s := start(t, tt.i, tt.r)
			if s.iErr != nil || s.rErr != nil {
				t.Fatalf("errors %v and %v", s.iErr, s.rErr)
			}
			if !reflect.DeepEqual(s.i, tt.wi) {
				t.Errorf("Initiator agreed on %+v, want %+v", s.i, tt.wi)
			}
			if !reflect.DeepEqual(s.r, tt.wr) {
				t.Errorf("Responder agreed on %+v, want %+v", s.r, tt.wr)
			}
		})
	}
}

// TestStartupProperties checks that the results of the two ends fit together, for any two Configs.
// MPA-6581-9.1-1 to MPA-6581-9.1-5, MPA-6581-9.1-9, MPA-6581-9.2-2
func TestStartupProperties(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 6581))
	depth := func() int {
		return []int{0, 1, rnd.IntN(20), rnd.IntN(DepthULP), DepthULP - 1, DepthULP}[rnd.IntN(6)]
	}
	config := func() Config {
		return Config{
			Revision: uint8(rnd.IntN(3)), NoEnhanced: rnd.IntN(8) == 0, NoCRC: rnd.IntN(2) == 0, Markers: rnd.IntN(2) == 0,
			IRD: depth(), ORD: depth(), RTR: RTR(rnd.IntN(8)), PrivateData: make([]byte, rnd.IntN(maxEnhancedPrivateData+1)),
		}
	}
	agreed, refused, useless := 0, 0, 0
	for range 50000 {
		ic, rc := config(), config()
		ic.PeerToPeer = ic.revision() == 2 && !ic.NoEnhanced && rnd.IntN(2) == 0
		s := start(t, ic, rc)
		if s.rErr != nil {
			refused++
			wantCode(t, s.rErr, CodeFrame)
			continue
		}
		i, r := s.i, s.r
		if i.CRC != r.CRC || i.TxMarkers != r.RxMarkers || i.RxMarkers != r.TxMarkers || i.Revision != r.Revision || i.Enhanced != r.Enhanced {
			t.Fatalf("%+v and %+v do not fit: %+v, %+v", ic, rc, i, r)
		}
		if want := ic.rtr(); ic.PeerToPeer && s.req.RTR != want || !ic.PeerToPeer && s.req.RTR != 0 {
			t.Fatalf("%+v: the Request states %v", ic, s.req.RTR)
		}
		if s.iErr != nil {
			useless++
			// A Responder that follows the rules never has an ORD that is too large.
			if e := (*Error)(nil); !errors.As(s.iErr, &e) || e.Code != CodeNoRTR {
				t.Fatalf("%+v and %+v: %v", ic, rc, s.iErr)
			}
			continue
		}
		agreed++
		if !i.Enhanced {
			continue
		}
		if int(s.req.IRD) != ic.IRD || int(s.req.ORD) < ic.ORD || int(s.req.ORD) > max(ic.ORD, 1) {
			t.Fatalf("%+v: the Request states %d, %d", ic, s.req.IRD, s.req.ORD)
		}
		// The Reply states the Responder's own depths, unless the Initiator leaves them to the ULP.
		own := func(v uint16, depth int, asked uint16) bool {
			return v == DepthULP && asked == DepthULP || int(v) == depth
		}
		if !own(s.reply.IRD, r.IRD, s.req.ORD) || !own(s.reply.ORD, r.ORD, s.req.IRD) {
			t.Fatalf("%+v and %+v: the Reply states %d, %d, the Responder has %d, %d", ic, rc, s.reply.IRD, s.reply.ORD, r.IRD, r.ORD)
		}
		// A depth that an end leaves to the ULP is exempt.
		if i.ORD > r.IRD && s.reply.IRD != DepthULP || r.ORD > i.IRD && s.reply.ORD != DepthULP {
			t.Fatalf("%+v and %+v: depths %+v, %+v", ic, rc, i, r)
		}
		if i.PeerToPeer != ic.PeerToPeer || r.PeerToPeer != ic.PeerToPeer || i.RTR&r.RTR != i.RTR || i.PeerToPeer != (i.RTR != 0) {
			t.Fatalf("%+v and %+v: models %+v, %+v", ic, rc, i, r)
		}
		// Either no RTR Send arrives, or the Responder has a buffer ready for it. A Read is within
		// the depth.
		if r.RTR&RTRSend != 0 && i.RTR != RTRSend || i.RTR == RTRRead && (i.ORD < 1 || r.IRD < 1) {
			t.Fatalf("%+v and %+v: RTR %v of %v, ORD %d, IRD %d", ic, rc, i.RTR, r.RTR, i.ORD, r.IRD)
		}
	}
	if agreed < 10000 || refused < 1000 || useless < 100 {
		t.Errorf("%d agreed, %d refused, %d useless", agreed, refused, useless)
	}
}

// TestRequestErrors checks that an invalid Config fails before anything is sent.
// MPA-5044-7.1.1-31, MPA-6581-6-10, MPA-6581-7-4, MPA-6581-9-2
func TestRequestErrors(t *testing.T) {
	enhanced := Frame{Revision: 2, Enhanced: true}
	tests := []struct {
		desc string
		c    Config
		req  Frame // for a Responder
		want error
	}{
		{"revision 3", Config{Revision: 3}, enhanced, errRevision},
		{"IRD negative", Config{IRD: -1}, enhanced, errDepth},
		{"IRD of 15 bits", Config{IRD: 16384}, enhanced, errDepth},
		{"ORD of 15 bits", Config{ORD: 16384}, enhanced, errDepth},
		{"509 octets of Private Data in an enhanced frame", Config{PrivateData: make([]byte, 509)}, enhanced, errPrivateData},
		{"513 octets of Private Data", Config{Revision: 1, PrivateData: make([]byte, 513)}, Frame{Revision: 1}, errPrivateData},
		{"513 octets of Private Data, revision 2", Config{NoEnhanced: true, PrivateData: make([]byte, 513)}, Frame{Revision: 2}, errPrivateData},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			if f, err := tt.c.Request(); !errors.Is(err, tt.want) || !reflect.DeepEqual(f, Frame{}) {
				t.Errorf("Request = %+v, %v, want %v", f, err, tt.want)
			}
			if f, a, err := tt.c.Accept(tt.req); !errors.Is(err, tt.want) || !reflect.DeepEqual(f, Frame{}) || !reflect.DeepEqual(a, Agreement{}) {
				t.Errorf("Accept = %+v, %+v, %v, want %v", f, a, err, tt.want)
			}
			if f, err := tt.c.Reject(tt.req); !errors.Is(err, tt.want) || f.Reject {
				t.Errorf("Reject = %+v, %v, want %v", f, err, tt.want)
			}
		})
	}
	for _, c := range []Config{{PeerToPeer: true, Revision: 1}, {PeerToPeer: true, NoEnhanced: true}} {
		if _, err := c.Request(); !errors.Is(err, errPeerToPeer) {
			t.Errorf("%+v: Request: %v, want %v", c, err, errPeerToPeer)
		}
	}
	largest := Config{IRD: DepthULP - 1, ORD: DepthULP, PrivateData: make([]byte, 508)}
	f, err := largest.Request()
	if b := f.AppendTo(nil); err != nil || f.IRD != 16382 || f.ORD != 16383 || len(b) != 532 || !bytes.Equal(b[18:24], unhex("0200 3ffe3fff")) {
		t.Errorf("Request = %+v, %v", f, err)
	}
}

// TestReplyDoesNotFit checks that a Reply that does not match our Request is improperly formatted.
// MPA-5044-7.1.2-12
func TestReplyDoesNotFit(t *testing.T) {
	tests := []struct {
		desc  string
		c     Config
		reply Frame
	}{
		{"plain Reply to an enhanced Request", Config{}, Frame{Reply: true, Revision: 2}},
		{"revision 1 to an enhanced Request", Config{}, Frame{Reply: true, Revision: 1}},
		{"plain rejection of an enhanced Request", Config{}, Frame{Reply: true, Revision: 1, Reject: true}},
		{"enhanced Reply to a plain Request", Config{NoEnhanced: true}, Frame{Reply: true, Revision: 2, Enhanced: true}},
		{"revision 2 to a Request of revision 1", Config{Revision: 1}, Frame{Reply: true, Revision: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			req, err := tt.c.Request()
			if err != nil {
				t.Fatal(err)
			}
			a, err := tt.c.HandleReply(req, tt.reply)
			wantCode(t, err, CodeFrame)
			if !reflect.DeepEqual(a, Agreement{}) {
				t.Errorf("agreed on %+v", a)
			}
		})
	}
	// Without enhanced data, a Reply of revision 1 is as valid as one of revision 2.
	c := Config{NoEnhanced: true}
	req, _ := c.Request()
	if a, err := c.HandleReply(req, Frame{Reply: true, Revision: 1}); err != nil || a.Revision != 1 {
		t.Errorf("HandleReply = %+v, %v, want revision 1", a, err)
	}
}

// TestPrivateDataIsACopy checks that the Agreement does not change when the frame's buffer is
// reused.
func TestPrivateDataIsACopy(t *testing.T) {
	b := Frame{Reply: true, Revision: 1, PrivateData: []byte("hello")}.AppendTo(nil)
	for _, flags := range []byte{0, flagReject} {
		b[16] = flags
		reply, err := parseFrame(b, true)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Config{Revision: 1}.HandleReply(Frame{Revision: 1}, reply)
		if e := (*RejectError)(nil); errors.As(err, &e) {
			a.PrivateData = e.PrivateData
		}
		copy(b[20:], "HELLO")
		if !bytes.Equal(a.PrivateData, []byte("hello")) {
			t.Errorf("flags %x: Private Data became %q", flags, a.PrivateData)
		}
		copy(b[20:], "hello")
	}
}

// An end that receives a frame of its own role returns ErrSameRole, whatever else the frame
// contains.
func TestSameRole(t *testing.T) {
	c := Config{}
	request := Frame{Revision: 2, Enhanced: true}
	reply := Frame{Reply: true, Revision: 2, Enhanced: true}
	refusal := Frame{Reply: true, Revision: 2, Enhanced: true, Reject: true}
	_, initiator := c.HandleReply(request, request)
	_, _, responder := c.Accept(reply)
	_, refuser := c.Reject(refusal)
	for desc, err := range map[string]error{"HandleReply": initiator, "Accept": responder, "Reject": refuser} {
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeFrame || !errors.Is(err, ErrSameRole) {
			t.Errorf("%s: %v, want %v with %v", desc, err, CodeFrame, ErrSameRole)
		}
	}
}
