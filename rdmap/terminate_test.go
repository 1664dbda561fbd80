package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// terminateVectors pairs the Terminate vectors with their meanings.
func terminateVectors(t *testing.T) []struct {
	desc, vector, text string
	want               Terminate
} {
	writeHeader := unhex("c140 deadbe00 0000000000001000")
	return []struct {
		desc, vector, text string
		want               Terminate
	}{
		{"Tagged segment", vTermInvalidSTag, "DDP tagged buffer error: invalid STag",
			Terminate{Code: 0x1100, M: true, D: true, SegmentLen: 22, DDPHeader: writeHeader}},
		{"bounds", vTermBounds, "DDP tagged buffer error: base or bounds violation",
			Terminate{Code: 0x1101, M: true, D: true, SegmentLen: 22,
				DDPHeader: unhex("c140 12345601 00000000000010f9")}},
		{"Read Request", vTermReadSTag, "RDMA remote protection error: invalid STag",
			Terminate{Code: 0x0100, M: true, D: true, R: true, SegmentLen: 46,
				DDPHeader:  unhex("4141 00000000 00000001 00000001 00000000"),
				RDMAHeader: unhex("0a0b0c01 0000000000002000 00000008 deadbe00 0000000000001000")}},
		{"Read Request, bounds", vTermReadBounds, "RDMA remote protection error: base or bounds violation",
			Terminate{Code: 0x0101, M: true, D: true, R: true, SegmentLen: 46,
				DDPHeader:  unhex("4141 00000000 00000001 00000001 00000000"),
				RDMAHeader: unhex("0a0b0c01 0000000000002000 00000010 12345601 00000000000010f9")}},
		{"no headers", vTermCatastrophic, "RDMA local catastrophic error", Terminate{}},
		{"too long", vTermTooLong, "DDP untagged buffer error: DDP Message too long for available buffer",
			Terminate{Code: 0x1205, M: true, D: true, SegmentLen: 27,
				DDPHeader: unhex("4143 00000000 00000000 00000001 00000000")}},
		{"no buffer", vTermNoBuffer, "DDP untagged buffer error: invalid MSN: no buffer available",
			Terminate{Code: 0x1202, M: true, D: true, SegmentLen: 23,
				DDPHeader: unhex("4143 00000000 00000000 00000001 00000000")}},
		{"invalidate", vTermInvalidate, "RDMA remote operation error: STag cannot be Invalidated",
			Terminate{Code: 0x0209, M: true, D: true, SegmentLen: 23,
				DDPHeader: unhex("4144 deadbe00 00000000 00000002 00000000")}},
		{"opcode", vTermOpcode, "RDMA remote operation error: unexpected OpCode",
			Terminate{Code: 0x0206, M: true, D: true, SegmentLen: 18,
				DDPHeader: unhex("414c 00000000 00000000 00000001 00000000")}},
		{"misaligned", vTermMisaligned, "RDMA remote operation error: catastrophic error, localized to RDMAP Stream",
			Terminate{Code: 0x0207, M: true, D: true, SegmentLen: 70,
				DDPHeader: unhex("414a 00000000 00000001 00000002 00000000")}},
		{"CRC", vTermCRC, "MPA error: MPA CRC error", Terminate{Code: 0x2002}},
	}
}

// "The following figure depicts a Terminate Header that MUST be used for the Terminate Message";
// "The Terminate Control field MUST have the format defined in Figure 8"; DDP Segment Length "MUST
// be present when the D bit is set", the DDP header too, and the RDMA header "MUST be present if
// the R bit is set".
//
// RDMAP-5040-4.8-1, RDMAP-5040-4.8-2, RDMAP-5040-4.8-27, RDMAP-5040-4.8-28, RDMAP-5040-4.8-31,
// RDMAP-5040-4.8-33
func TestRFC5040_4_8_TerminateVectors(t *testing.T) {
	for _, tt := range terminateVectors(t) {
		t.Run(tt.desc, func(t *testing.T) {
			b := afterDDP(t, tt.vector)
			if got := tt.want.appendTo(nil); !bytes.Equal(got, b) {
				t.Errorf("appendTo gives %x, want %x", got, b)
			}
			got, err := ParseTerminate(b)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("ParseTerminate(%x) = %+v, %v, want %+v", b, got, err, tt.want)
			}
			if got.Code.String() != tt.text {
				t.Errorf("text %q, want %q", got.Code, tt.text)
			}
			if longer, err := ParseTerminate(append(bytes.Clone(b), make([]byte, 52)...)); err != nil ||
				!reflect.DeepEqual(longer, tt.want) {
				t.Errorf("with octets after it: %+v, %v, want %+v", longer, err, tt.want)
			}
			for i := range b {
				cut, err := ParseTerminate(b[:i])
				if tt.want.R && i >= 4+2+18 {
					// Some peers set R without a header.
					if err != nil || cut.R || !bytes.Equal(cut.DDPHeader, tt.want.DDPHeader) {
						t.Errorf("%d octets: %+v, %v, want no RDMA header", i, cut, err)
					}
				} else if err == nil {
					t.Errorf("ParseTerminate accepted %d of %d octets", i, len(b))
				}
			}
		})
	}
}

// "Reserved: 13 bits. This field MUST be set to zero on transmit, ignored on receive."
// RDMAP-5040-4.8-24, RDMAP-5040-4.8-25
func TestRFC5040_4_8_ReservedBits(t *testing.T) {
	for _, tt := range terminateVectors(t) {
		b := tt.want.appendTo(nil)
		if b[2]&0x1F != 0 || b[3] != 0 {
			t.Errorf("%s: reserved bits sent: %x", tt.desc, b)
		}
		b = afterDDP(t, tt.vector)
		b[2] |= 0x1F
		b[3] = 0xFF
		got, err := ParseTerminate(b)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s, reserved bits set: %+v, %v, want %+v", tt.desc, got, err, tt.want)
		}
		x := newPair(t, params{})
		x.a.inject(untagged(OpTerminate, 2, 1, b))
		var e *TerminateError
		if !errors.As(x.a.qp.Err(), &e) || !e.Remote || !reflect.DeepEqual(e.Terminate, tt.want) {
			t.Errorf("%s, reserved bits set: a QP takes it as %v, want %+v", tt.desc, x.a.qp.Err(), tt.want)
		}
	}
}

// All known peers set M and D together. The segment length is present if either is set.
func TestTerminateLengthWithOneFlag(t *testing.T) {
	for _, tt := range []struct {
		octets string
		want   Terminate
	}{
		{"1100 8000 0016", Terminate{Code: 0x1100, M: true, SegmentLen: 22}},
		{"1100 4000 0016 c140 deadbe00 0000000000001000", Terminate{Code: 0x1100, D: true, SegmentLen: 22,
			DDPHeader: unhex("c140 deadbe00 0000000000001000")}},
	} {
		b := unhex(tt.octets)
		got, err := ParseTerminate(b)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ParseTerminate(%x) = %+v, %v, want %+v", b, got, err, tt.want)
		}
		if again := got.appendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("appendTo gives %x, want %x", again, b)
		}
	}
}

// Linux siw sends layer and etype swapped, M, D and R as 0x01, 0x02, 0x04, and the payload's
// length.
func TestTerminateHostOrder(t *testing.T) {
	for _, tt := range []struct {
		desc, octets, text string
		host               bool
		m, d, r            bool
		n                  uint16
	}{
		{"bad STag Write", "11 00 03 00 0008 c140 deadbe00 0000000000001000",
			"DDP tagged buffer error: invalid STag", true, true, true, false, 8},
		{"no buffer", "21 02 03 00 0005 4143 00000000 00000000 00000001 00000000",
			"DDP untagged buffer error: invalid MSN: no buffer available", true, true, true, false, 5},
		{"Read Request refused", "10 01 07 00 0000 4141 00000000 00000001 00000008 00000000" +
			"0a0b0c01 0000000000002000 00000010 12345601 00000000000010f9",
			"RDMA remote protection error: base or bounds violation", true, true, true, true, 0},
		{"R set for a Send with Invalidate", "20 09 07 00 0005 4144 deadbe00 00000000 00000002 00000000",
			"RDMA remote operation error: STag cannot be Invalidated", true, true, true, false, 5},
		{"CRC error", "02 02 00 00", "MPA error: MPA CRC error", true, false, false, false, 0},
		{"unexpected opcode, no headers", "20 06 00 00", "MPA error: insufficient IRD resources", false, false, false, false, 0},
		{"the same both ways", "00 ff 00 00", "RDMA local catastrophic error", false, false, false, false, 0},
		{"in no RFC either way", "33 44 00 00", "layer 0x3, error type 0x3, code 0x44", false, false, false, false, 0},
		{"the other reserved octet set", "11 00 03 01", "DDP tagged buffer error: invalid STag", false, false, false, false, 0},
		{"M only", "11 00 01 00", "DDP tagged buffer error: invalid STag", false, false, false, false, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			b := unhex(tt.octets)
			got, err := ParseTerminate(b)
			if err != nil {
				t.Fatal(err)
			}
			if got.HostOrder != tt.host || got.M != tt.m || got.D != tt.d || got.R != tt.r || got.SegmentLen != tt.n {
				t.Errorf("ParseTerminate(%x) = %+v", b, got)
			}
			if got.Code.String() != tt.text {
				t.Errorf("text %q, want %q", got.Code, tt.text)
			}
		})
	}
}

// "Figure 9 … defines the valid values that MUST be used for this field"; with RFC 5041 §7.2, RFC
// 5044 §8 and RFC 6581 §8, which RFC 6580 §3 lists.
//
// RDMAP-6580-3.1-1, RDMAP-6580-3.2-1, RDMAP-6580-3.3-1
func TestRFC5040_4_8_RegisteredCodes(t *testing.T) {
	registered := func(layer, etype, code uint8) bool {
		set := map[string]string{
			"0/1": "00 01 02 03 04 09 ff",
			"0/2": "05 06 07 08 09 ff",
			"1/0": "00",
			"1/1": "00 01 02 03 04",
			"1/2": "01 02 03 04 05 06",
			"2/0": "01 02 03 04 05 06 07",
		}
		key := fmt.Sprintf("%d/%d", layer, etype)
		return key == "0/0" || key == "1/3" || bytes.Contains(fmt.Appendf(nil, " %s ", set[key]), fmt.Appendf(nil, " %02x ", code))
	}
	for layer := range uint8(16) {
		for etype := range uint8(16) {
			for code := range 256 {
				c := makeCode(layer, etype, uint8(code))
				if got, want := c.isRegistered(), registered(layer, etype, uint8(code)); got != want {
					t.Errorf("code %#04x is registered: %t, want %t", uint16(c), got, want)
				}
				if c.String() == "" {
					t.Errorf("no text for %d/%d/%#x", layer, etype, code)
				}
			}
		}
	}
	if got := TerminateCode(0x0177).String(); got != "RDMA remote protection error: code 0x77" {
		t.Errorf("text of an unknown code: %q", got)
	}
}

// TestTerminateFor checks the Terminate for each kind of error: figure 10.
//
// RDMAP-5040-4.8-30, RDMAP-5040-4.8-36 to RDMAP-5040-4.8-40
func TestTerminateFor(t *testing.T) {
	tagged := unhex("c140 deadbe00 0000000000001000")
	untagged := unhex("4143 00000000 00000000 00000001 00000000")
	read := unhex("0a0b0c01 0000000000002000 00000008 deadbe00 0000000000001000")
	for _, tt := range []struct {
		desc string
		err  error
		want string // the header in hex; empty: no Terminate
	}{
		{"nothing known", errTest, "0000 0000"},
		{"RDMAP local catastrophic", &streamError{Header: tagged}, "0000 0000"},
		{"RDMAP remote protection", &streamError{Code: 0x0102, Header: untagged, SegmentLen: 46},
			"0102 c000 002e 4143 00000000 00000000 00000001 00000000"},
		{"the same of a Read Request", &streamError{Code: 0x0102, Header: untagged, SegmentLen: 46, ReadRequest: read},
			"0102 e000 002e 4143 00000000 00000000 00000001 00000000 0a0b0c01 0000000000002000 00000008 deadbe00 0000000000001000"},
		{"RDMAP remote operation of a Read Request", &streamError{Code: 0x0207, Header: untagged, SegmentLen: 46, ReadRequest: read},
			"0207 c000 002e 4143 00000000 00000000 00000001 00000000"},
		{"RDMAP, no segment", &streamError{Code: 0x02FF}, "02ff 0000"},
		{"DDP local catastrophic", &ddp.Error{SegmentLen: 3}, "1000 0000"},
		{"DDP tagged", &ddp.Error{Code: ddp.CodeTOWrap, Header: tagged, SegmentLen: 22},
			"1103 c000 0016 c140 deadbe00 0000000000001000"},
		{"DDP, wrapped", fmt.Errorf("more: %w", &ddp.Error{Code: 0x201, Header: untagged, SegmentLen: 18}),
			"1201 c000 0012 4143 00000000 00000000 00000001 00000000"},
		{"refused by Admit", &ddp.Error{Code: ddp.CodeULP, Err: operationError(codeVersion, "x"), Header: tagged, SegmentLen: 22},
			"0205 c000 0016 c140 deadbe00 0000000000001000"},
		{"opcode changed", &ddp.Error{Code: ddp.CodeULP, Err: errors.New("RsvdULP changes"), Header: tagged, SegmentLen: 22},
			"0206 c000 0016 c140 deadbe00 0000000000001000"},
		{"MPA closed", codedError{2, 0, 1}, ""},
		{"MPA CRC", codedError{2, 0, 2}, "2002 0000"},
		{"MPA marker", codedError{2, 0, 3}, "2003 0000"},
		{"MPA frame", codedError{2, 0, 4}, ""},
		{"MPA local catastrophic", codedError{2, 0, 5}, "2005 0000"},
		{"MPA insufficient IRD", codedError{2, 0, 6}, "2006 0000"},
		{"MPA no RTR", codedError{2, 0, 7}, "2007 0000"},
		{"MPA CRC, of a segment", &streamError{Code: 0x2002, Header: untagged, SegmentLen: 46}, "2002 0000"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			term, ok := terminateFor(tt.err)
			if ok != (tt.want != "") {
				t.Fatalf("terminateFor(%v): %t", tt.err, ok)
			}
			if got := term.appendTo(nil); ok && !bytes.Equal(got, unhex(tt.want)) {
				t.Errorf("terminateFor(%v) = %x, want %s", tt.err, got, tt.want)
			}
		})
	}
}

// MPA's errors 5 to 7 can only be the first FPDU of an Initiator. At any other time the same octets
// are RDMAP's errors in siw's order. A Terminate with a header, or with another code, is unchanged.
func TestTerminateInContext(t *testing.T) {
	for _, tt := range []struct {
		octets [4]byte
		first  bool
		want   TerminateCode
	}{
		{[4]byte{0x20, 5}, false, 0x0205},
		{[4]byte{0x20, 6}, false, 0x0206},
		{[4]byte{0x20, 6}, true, 0x2006},
		{[4]byte{0x02, 6}, true, 0x2006},
		{[4]byte{0x02, 7}, true, 0x2007},
		{[4]byte{0x02, 7}, false, 0x0207},
		{[4]byte{0x20, 2}, false, 0x2002},
		{[4]byte{0x02, 2}, false, 0x2002},
		{[4]byte{0x02, 0xff}, true, 0x02FF},
	} {
		got, err := ParseTerminate(tt.octets[:])
		if err != nil {
			t.Fatal(err)
		}
		if got = got.inContext(tt.first); got.Code != tt.want {
			t.Errorf("%x, first FPDU of an Initiator %t: %v, want %x", tt.octets, tt.first, got, tt.want)
		}
	}
}
