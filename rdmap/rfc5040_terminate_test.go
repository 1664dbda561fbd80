package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// terminateOctets sends the Terminate that is due and returns its ULPDU.
func (s *side) terminateOctets() []byte {
	s.t.Helper()
	s.wantTerminate("")
	return s.wire[len(s.wire)-1]
}

// An errorCase is a way to cause one kind of error, and the parts of the Terminate about it (figure
// 10).
type errorCase struct {
	desc    string
	cause   func(x *pair)
	control string // the first two octets of the Terminate Header
	m, d, r bool
	tagged  bool // the segment at fault
}

func errorCases() []errorCase {
	inject := func(vector string) func(*pair) { return func(x *pair) { x.b.injectHex(vector) } }
	fail := func(err error) func(*pair) { return func(x *pair) { x.b.qp.Fail(err) } }
	return []errorCase{
		{"RDMAP local catastrophic", fail(errTest), "0000", false, false, false, false},
		{"RDMAP local catastrophic, of a segment", fail(&streamError{Header: make([]byte, 18), SegmentLen: 18}), "0000", false, false, false, false},
		{"RDMAP remote protection, Read Request", inject(vReadRequest), "0100", true, true, true, false},
		{"RDMAP remote protection, Send with Invalidate", func(x *pair) {
			r, err := x.b.domain.Register(make([]byte, 8), allAccess, x.b.stream()+1)
			if err != nil {
				panic(err)
			}
			h := ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(r.STag()), MSN: 1}
			x.b.inject(h.AppendTo(nil))
		}, "0109", true, true, false, false},
		{"RDMAP remote operation, untagged", inject("414c 00000000 00000000 00000001 00000000"), "0206", true, true, false, false},
		{"RDMAP remote operation, tagged", inject("c180 12345601 0000000000001000 01"), "0205", true, true, false, true},
		{"RDMAP remote operation, Read Request", inject("41c1 00000000 00000001 00000001 00000000" +
			"0a0b0c01 0000000000002000 00000008 12345601 0000000000001000"), "0205", true, true, false, false},
		{"DDP tagged buffer", inject(vWrite), "1100", true, true, false, true},
		{"DDP untagged buffer", inject("4143 00000000 00000000 00000002 00000000"), "1203", true, true, false, false},
		{"DDP untagged buffer, Read Request", inject("4141 00000000 00000001 00000002 00000000" +
			"0a0b0c01 0000000000002000 00000008 12345601 0000000000001000"), "1203", true, true, false, false},
		{"DDP local catastrophic", inject("41"), "1000", false, false, false, false},
		{"LLP", fail(codedError{2, 0, 2}), "2002", false, false, false, false},
	}
}

// "Layer: 4 bits. Identifies the layer that encountered the error." "M: bit 16. DDP Segment Length
// valid. … D: bit 17. DDP Header Included. … R: bit 18. RDMAP Header Included. See Figure 10 for
// when this bit SHOULD be set." The parts that the bits announce are present, and nothing else.
//
// RDMAP-5040-4.8-4 to RDMAP-5040-4.8-7, RDMAP-5040-4.8-24, RDMAP-5040-4.8-30, RDMAP-5040-4.8-32,
// RDMAP-5040-4.8-36 to RDMAP-5040-4.8-40
func TestRFC5040_4_8_HeaderControlBits(t *testing.T) {
	for _, tt := range errorCases() {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			tt.cause(x)
			u := x.b.terminateOctets()
			header := u[18:]
			if got := fmt.Sprintf("%x", header[:2]); got != tt.control {
				t.Errorf("layer, error type and code %s, want %s", got, tt.control)
			}
			if got := [3]bool{header[2]&0x80 != 0, header[2]&0x40 != 0, header[2]&0x20 != 0}; got != [3]bool{tt.m, tt.d, tt.r} {
				t.Errorf("M, D and R are %t, want %t, %t, %t", got, tt.m, tt.d, tt.r)
			}
			if header[2]&0x1F != 0 || header[3] != 0 {
				t.Errorf("reserved bits are sent: %x", header[:4])
			}
			want := 18 + 4
			if tt.m {
				want += 2
			}
			switch {
			case tt.d && tt.tagged:
				want += 14
			case tt.d:
				want += 18
			}
			if tt.r {
				want += 28
			}
			if len(u) != want {
				t.Errorf("ULPDU of %d octets, want %d: %x", len(u), want, u)
			}
		})
	}
}

// Figure 7: the control and reserved bits, octets 0 to 3; the DDP Segment Length, 4 and 5; the
// terminated DDP header from octet 6 on, "112 bits for Tagged Messages and 144 bits for Untagged
// Messages"; then the terminated RDMA header. "DDP Segment Length … MUST be valid if the M bit is
// set": that of the whole segment at fault.
//
// RDMAP-5040-4.8-1, RDMAP-5040-4.8-2, RDMAP-5040-4.8-26 to RDMAP-5040-4.8-29, RDMAP-5040-4.8-31,
// RDMAP-5040-4.8-33
func TestRFC5040_4_8_TerminateLayout(t *testing.T) {
	for _, tt := range []struct {
		desc, segment, control string
		n, length              int // of the DDP header, and of the Terminate's ULPDU
	}{
		{"tagged", "c140 deadbe00 0000000000001000 01020304 05", "1100 c000", 14, 38},
		{"untagged", "4143 00000000 00000000 00000001 00000001 010203", "1204 c000", 18, 42},
		{"Read Request", vReadRequest, "0100 e000", 18, 70},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			bad := unhex(tt.segment)
			x.b.inject(bad)
			u := x.b.terminateOctets()
			want := unhex("4147 00000000 00000002 00000001 00000000" + tt.control)
			want = binary.BigEndian.AppendUint16(want, uint16(len(bad)))
			want = append(want, bad[:tt.n]...)
			if tt.desc == "Read Request" {
				want = append(want, bad[18:]...)
			}
			if !bytes.Equal(u, want) || len(u) != tt.length {
				t.Errorf("sent %x of %d octets, want %x of %d", u, len(u), want, tt.length)
			}
			got, err := ParseTerminate(u[18:])
			if err != nil || int(got.SegmentLen) != len(bad) || !bytes.Equal(got.DDPHeader, bad[:tt.n]) {
				t.Errorf("it reads as %+v, %v", got, err)
			}
		})
	}
}

// Figure 9, the RDMA layer: "Local Catastrophic Error … This error type does not have an error
// code. Any value in this field is acceptable." rddp sends 0 and accepts any value.
//
// RDMAP-5040-4.8-8
func TestRFC5040_4_8_LocalCatastrophicError(t *testing.T) {
	x := newPair(t, params{})
	x.b.qp.Fail(errTest)
	x.b.wantTerminate("0000 0000")
	for code := range 256 {
		x := newPair(t, params{})
		x.b.inject(untagged(OpTerminate, 2, 1, []byte{0x00, byte(code), 0, 0}))
		var e *TerminateError
		if !errors.As(x.b.qp.Err(), &e) || !e.Remote || e.Terminate.Code != TerminateCode(code) ||
			e.Terminate.Code.String() != "RDMA local catastrophic error" {
			t.Errorf("code %#02x is taken as %v", code, x.b.qp.Err())
		}
	}
}

// wantTaken lets a Terminate of three numbers arrive, and checks that its words are those of figure
// 9.
func wantTaken(t *testing.T, layer, etype, code uint8, want string) {
	t.Helper()
	x := newPair(t, params{})
	x.a.inject(untagged(OpTerminate, 2, 1, []byte{layer<<4 | etype, code, 0, 0}))
	var e *TerminateError
	if !errors.As(x.a.qp.Err(), &e) || !e.Remote || e.Terminate.Code != makeCode(layer, etype, code) ||
		e.Terminate.Code.String() != want {
		t.Errorf("%d/%d/%#02x is taken as %v, want %q", layer, etype, code, x.a.qp.Err(), want)
	}
}

// Figure 9, the RDMA layer's Remote Protection Errors: what causes each error, and that this end
// understands it. rddp never sends "Unspecified Error", because it knows the error.
//
// RDMAP-5040-4.8-9 to RDMAP-5040-4.8-15
func TestRFC5040_4_8_RemoteProtectionErrors(t *testing.T) {
	type cause struct {
		read       bool // otherwise a Send with Invalidate
		access     ddp.Access
		otherOwner bool
		gone       bool
		to         func(r *ddp.Region) uint64
	}
	front := func(r *ddp.Region) uint64 { return r.TO() }
	for _, tt := range []struct {
		code  uint8
		words string
		cause cause
	}{
		{0x00, "invalid STag", cause{true, ddp.RemoteRead, false, true, front}},
		{0x01, "base or bounds violation", cause{true, ddp.RemoteRead, false, false, func(r *ddp.Region) uint64 { return r.TO() + 1 }}},
		{0x02, "access rights violation", cause{true, ddp.RemoteWrite, false, false, front}},
		{0x03, "STag not associated with RDMAP Stream", cause{true, ddp.RemoteRead, true, false, front}},
		{0x04, "TO wrap", cause{true, ddp.RemoteRead, false, false, func(*ddp.Region) uint64 { return ^uint64(0) - 3 }}},
		{0x09, "STag cannot be Invalidated", cause{false, allAccess, true, false, front}},
	} {
		t.Run(tt.words, func(t *testing.T) {
			x := newPair(t, params{})
			stream := x.b.stream()
			if tt.cause.otherOwner {
				stream++
			}
			r, err := x.b.domain.Register(make([]byte, 8), tt.cause.access, stream)
			if err != nil {
				t.Fatal(err)
			}
			if tt.cause.gone {
				r.Deregister()
			}
			x.b.recv(1, 8)
			wr := WorkRequest{Op: WorkSendInvalidate, Invalidate: r.STag()}
			if tt.cause.read {
				wr = WorkRequest{Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: r.STag(), TO: tt.cause.to(r)}}
			}
			x.a.post(wr)
			x.a.transmit()
			x.b.receive()
			x.b.wantTerminate(fmt.Sprintf("01%02x", tt.code))
			wantTaken(t, 0, 1, tt.code, "RDMA remote protection error: "+tt.words)
		})
	}
	wantTaken(t, 0, 1, 0xFF, "RDMA remote protection error: unspecified error")
}

// Figure 9, the RDMA layer's Remote Operation Errors. No error in rddp concerns more than one
// stream, so it never sends "Catastrophic error, global".
//
// RDMAP-5040-4.8-16 to RDMAP-5040-4.8-21
func TestRFC5040_4_8_RemoteOperationErrors(t *testing.T) {
	for _, tt := range []struct {
		code    uint8
		words   string
		segment func(x *pair) []byte // nil: rddp understands the code but never sends it
	}{
		{0x05, "invalid RDMAP version", func(*pair) []byte { return unhex("4183 00000000 00000000 00000001 00000000") }},
		{0x06, "unexpected OpCode", func(*pair) []byte { return unhex("414d 00000000 00000000 00000001 00000000") }},
		{0x07, "catastrophic error, localized to RDMAP Stream", func(x *pair) []byte {
			r, _ := x.b.register(16, allAccess)
			return untagged(OpAtomicRequest, 1, 1, AtomicRequest{STag: r.STag(), TO: r.TO() + 1}.AppendTo(nil))
		}},
		{0x08, "catastrophic error, global", nil},
		{0x09, "STag cannot be Invalidated", func(*pair) []byte { return unhex("4144 deadbe00 00000000 00000001 00000000") }},
		{0xFF, "unspecified error", func(*pair) []byte { return untagged(OpReadRequest, 1, 1, make([]byte, 27)) }},
	} {
		t.Run(tt.words, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			if tt.segment != nil {
				x.b.inject(tt.segment(x))
				x.b.wantTerminate(fmt.Sprintf("02%02x c000", tt.code))
			}
			// With a header, because without one siw's bit order is ambiguous.
			u := append([]byte{0x02, tt.code, 0xC0, 0, 0, 18}, unhex(vZeroSend)...)
			x.a.inject(untagged(OpTerminate, 2, 1, u))
			var e *TerminateError
			if !errors.As(x.a.qp.Err(), &e) || !e.Remote || e.Terminate.Code.String() != "RDMA remote operation error: "+tt.words {
				t.Errorf("code %#02x is taken as %v", tt.code, x.a.qp.Err())
			}
		})
	}
}

// Figure 9: "DDP: See DDP Specification". "When the error is detected at an LLP layer, an LLP layer
// creates the Error Type … and the RDMAP layer inserts it into this field": DDP's numbers (RFC 5041
// §7.2) are sent unchanged.
//
// RDMAP-5040-4.8-22
func TestRFC5040_4_8_DDPErrors(t *testing.T) {
	for etype, codes := range [][]uint8{{0}, {0, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}} {
		for _, code := range codes {
			x := newPair(t, params{})
			x.b.qp.Fail(&ddp.Error{Code: ddp.Code(etype)<<8 | ddp.Code(code), Header: unhex(vZeroSend), SegmentLen: 18})
			x.b.wantTerminate(fmt.Sprintf("1%x%02x", etype, code))
		}
	}
}

// Figure 9: "For MPA, see MPA Specification" (RFC 5044 §8, RFC 6581 §8). Errors 1 and 4 mean that
// there is no connection to send a Terminate on.
//
// RDMAP-5040-4.8-23, RDMAP-5040-6.2-3
func TestRFC5040_4_8_MPAErrors(t *testing.T) {
	for code := uint8(1); code <= 7; code++ {
		x := newPair(t, params{})
		x.b.qp.Fail(codedError{2, 0, code})
		if code == 1 || code == 4 {
			x.b.wantNothing()
			continue
		}
		x.b.wantTerminate(fmt.Sprintf("20%02x 0000", code))
	}
}
