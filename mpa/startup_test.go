package mpa

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

const (
	reqKey = "4d504120 49442052 65712046 72616d65"
	repKey = "4d504120 49442052 65702046 72616d65"
)

// frames are Frames and their bytes on the wire.
var frames = []struct {
	desc  string
	frame Frame
	wire  string
}{
	{"Request", Frame{CRC: true, Revision: 1}, reqKey + "40 01 0000"},
	{"Reply", Frame{Reply: true, CRC: true, Revision: 1}, repKey + "40 01 0000"},
	{"Request with Private Data", Frame{Markers: true, CRC: true, Revision: 1, PrivateData: []byte("hello")}, reqKey + "c0 01 0005 68656c6c6f"},
	{"Reply, rejected", Frame{Reply: true, CRC: true, Reject: true, Revision: 1, PrivateData: []byte("no")}, repKey + "60 01 0002 6e6f"},
	{"plain frame of revision 2", Frame{CRC: true, Revision: 2}, reqKey + "40 02 0000"},
	{"enhanced Request", Frame{CRC: true, Enhanced: true, Revision: 2, IRD: 16, ORD: 8, PeerToPeer: true, RTR: allRTR, PrivateData: []byte("hi")},
		reqKey + "50 02 0006 c010 c008 6869"},
	{"enhanced Reply", Frame{Reply: true, CRC: true, Enhanced: true, Revision: 2, IRD: 8, ORD: 16, PeerToPeer: true, RTR: RTRWrite},
		repKey + "50 02 0004 8008 8010"},
	{"client-server", Frame{CRC: true, Enhanced: true, Revision: 2, IRD: 4, ORD: 4}, reqKey + "50 02 0004 0004 0004"},
	{"depths left to the ULP", Frame{CRC: true, Enhanced: true, Revision: 2, IRD: DepthULP, ORD: DepthULP}, reqKey + "50 02 0004 3fff 3fff"},
	{"enhanced, as much Private Data as there can be", Frame{CRC: true, Enhanced: true, Revision: 2, IRD: 1, ORD: 2, PrivateData: make([]byte, 508)},
		reqKey + "50 02 0200 0001 0002" + strings.Repeat("00", 508)},
	{"enhanced Reply, rejected", Frame{Reply: true, CRC: true, Reject: true, Enhanced: true, Revision: 2, IRD: 8, ORD: 32}, repKey + "70 02 0004 0008 0020"},
}

// TestFrames encodes and parses frames whose bytes are known. ParseFrame refuses each part of a
// frame, and a frame with one byte more.
// MPA-5044-7.1.1-1, MPA-5044-7.1.1-2, MPA-5044-7.1.1-4, MPA-5044-7.1-5, MPA-6581-9-1, MPA-6581-9-4,
// MPA-6581-6-11
func TestFrames(t *testing.T) {
	for _, tt := range frames {
		t.Run(tt.desc, func(t *testing.T) {
			want, f := unhex(tt.wire), tt.frame
			if got := f.AppendTo([]byte("x")); !bytes.Equal(got[1:], want) || got[0] != 'x' {
				t.Errorf("%+v: AppendTo = %x, want %x", f, got[1:], want)
			}
			if n, err := FrameLen(want[:FrameHeaderLen]); n != len(want) || err != nil {
				t.Errorf("FrameLen(%x) = %d, %v, want %d", want[:FrameHeaderLen], n, err, len(want))
			}
			got, err := parseFrame(want, f.Reply)
			if len(got.PrivateData) == 0 {
				got.PrivateData = nil
			}
			if err != nil || !reflect.DeepEqual(got, f) {
				t.Errorf("ParseFrame(%x) = %+v, %v, want %+v", want, got, err, f)
			}
			for n := range want {
				_, err := parseFrame(want[:n], f.Reply)
				wantCode(t, err, CodeFrame)
				if n < FrameHeaderLen {
					_, err = FrameLen(want[:n])
					wantCode(t, err, CodeFrame)
				}
			}
			_, err = parseFrame(append(bytes.Clone(want), 0), f.Reply)
			wantCode(t, err, CodeFrame)
			_, err = parseFrame(want, !f.Reply)
			wantCode(t, err, CodeFrame)
		})
	}
}

// TestFlags checks that each flag has its bit, alone and in both directions, in Requests and
// Replies. Only a Reply has R.
// MPA-5044-7.1.1-6, MPA-6581-6-1 to MPA-6581-6-4, MPA-6581-9-2, MPA-6581-9-3, MPA-6581-9-5
func TestFlags(t *testing.T) {
	enhanced := Frame{Reply: true, Revision: 2, Enhanced: true}
	with := func(change func(f *Frame)) Frame {
		f := enhanced
		change(&f)
		return f
	}
	tests := []struct {
		desc  string
		frame Frame
		want  string // octets 16 to 23
	}{
		{"none", Frame{Reply: true, Revision: 2}, "00020000"},
		{"M", Frame{Reply: true, Revision: 2, Markers: true}, "80020000"},
		{"C", Frame{Reply: true, Revision: 2, CRC: true}, "40020000"},
		{"R", Frame{Reply: true, Revision: 2, Reject: true}, "20020000"},
		{"S", enhanced, "10020004 00000000"},
		{"M and S", with(func(f *Frame) { f.Markers = true }), "90020004 00000000"},
		{"C and S", with(func(f *Frame) { f.CRC = true }), "50020004 00000000"},
		{"R and S", with(func(f *Frame) { f.Reject = true }), "30020004 00000000"},
		{"A", with(func(f *Frame) { f.PeerToPeer = true }), "10020004 80000000"},
		{"B", with(func(f *Frame) { f.PeerToPeer, f.RTR = true, RTRSend }), "10020004 c0000000"},
		{"C of the enhanced data", with(func(f *Frame) { f.PeerToPeer, f.RTR = true, RTRWrite }), "10020004 80008000"},
		{"D", with(func(f *Frame) { f.PeerToPeer, f.RTR = true, RTRRead }), "10020004 80004000"},
		{"IRD", with(func(f *Frame) { f.IRD = 0x3fff }), "10020004 3fff0000"},
		{"ORD", with(func(f *Frame) { f.ORD = 0x3fff }), "10020004 00003fff"},
		{"IRD 1", with(func(f *Frame) { f.IRD = 1 }), "10020004 00010000"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			for reply, key := range map[bool]string{false: reqKey, true: repKey} {
				f := tt.frame
				if f.Reply = reply; f.Reject && !reply {
					continue
				}
				want := append(unhex(key), unhex(tt.want)...)
				if got := f.AppendTo(nil); !bytes.Equal(got, want) {
					t.Errorf("%+v: AppendTo = %x, want %x", f, got, want)
				}
				got, err := parseFrame(want, reply)
				got.PrivateData = nil
				if err != nil || !reflect.DeepEqual(got, f) {
					t.Errorf("ParseFrame(%x) = %+v, %v, want %+v", want, got, err, f)
				}
			}
		})
	}
}

// TestBadFrames checks that a frame with one error is improperly formatted.
func TestBadFrames(t *testing.T) {
	plain, enhanced := unhex(reqKey+"40 01 0000"), unhex(reqKey+"50 02 0004 0004 0004")
	tests := []struct {
		desc   string
		frame  []byte
		change func(b []byte)
	}{
		{"revision 0", plain, func(b []byte) { b[17] = 0 }},
		{"revision 3", plain, func(b []byte) { b[17] = 3 }},
		{"revision 255", enhanced, func(b []byte) { b[17] = 255 }},
		{"PD_Length one more than there is", plain, func(b []byte) { b[19] = 1 }},
		{"PD_Length one less than there is", enhanced, func(b []byte) { b[19] = 3 }},
		{"PD_Length 513", plain, func(b []byte) { b[18], b[19] = 2, 1 }},
		{"PD_Length 65535", plain, func(b []byte) { b[18], b[19] = 255, 255 }},
		{"S without enhanced data", plain, func(b []byte) { b[16], b[17] = 0x50, 2 }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			for _, reply := range []bool{false, true} {
				b := bytes.Clone(tt.frame)
				key := Key(reply)
				copy(b, key[:])
				if _, err := parseFrame(b, reply); err != nil {
					t.Fatalf("ParseFrame(%x) before the change: %v", b, err)
				}
				tt.change(b)
				f, err := parseFrame(b, reply)
				wantCode(t, err, CodeFrame)
				if !reflect.DeepEqual(f, Frame{}) {
					t.Errorf("ParseFrame(%x) = %+v with its error", b, f)
				}
			}
		})
	}
	for n := range 4 {
		b := append(unhex(reqKey), 0x50, 2, 0, byte(n))
		_, err := parseFrame(append(b, make([]byte, n)...), false)
		wantCode(t, err, CodeFrame)
	}
}

// TestFramesThatCannotBe checks that AppendTo panics for frames that only a bug of ours can make.
// MPA-6581-6-7, MPA-6581-7-4
func TestFramesThatCannotBe(t *testing.T) {
	tests := []struct {
		desc  string
		frame Frame
	}{
		{"too much Private Data", Frame{Revision: 1, PrivateData: make([]byte, maxPrivateData+1)}},
		{"too much Private Data, enhanced", Frame{Revision: 2, Enhanced: true, PrivateData: make([]byte, maxEnhancedPrivateData+1)}},
		{"IRD of 15 bits", Frame{Revision: 2, Enhanced: true, IRD: 0x4000}},
		{"ORD of 15 bits", Frame{Revision: 2, Enhanced: true, ORD: 0x4000}},
		{"enhanced frame of revision 1", Frame{Revision: 1, Enhanced: true}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) { wantPanic(t, func() { tt.frame.AppendTo(nil) }) })
	}
}

func TestRTRString(t *testing.T) {
	tests := []struct {
		rtr  RTR
		want string
	}{{0, "none"}, {RTRSend, "Send"}, {RTRWrite, "Write"}, {RTRRead, "Read"}, {allRTR, "Send|Write|Read"}, {RTRRead | 0x40, "Read|RTR(0x40)"}}
	for _, tt := range tests {
		if got := tt.rtr.String(); got != tt.want {
			t.Errorf("RTR(%d).String() = %q, want %q", uint8(tt.rtr), got, tt.want)
		}
	}
}
