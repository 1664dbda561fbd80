package rdmap

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// afterDDP returns the payload of an untagged vector.
func afterDDP(t *testing.T, vector string) []byte {
	t.Helper()
	_, payload, err := ddp.ParseUntagged(unhex(vector))
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// codec is one of the package's fixed-size headers, for tests of all of them.
type codec struct {
	desc   string
	octets []byte
	value  any
	parse  func(b []byte) (value any, rest []byte, err error)
	append func(b []byte) []byte
}

func codecs(t *testing.T) []codec {
	read := ReadRequest{SinkSTag: 0x0A0B0C01, SinkTO: 0x2000, Size: 8, SourceSTag: 0x12345601, SourceTO: 0x1000}
	add := AtomicRequest{
		Op: AtomicFetchAdd, ID: 0xCAFE0001, STag: 0x12345601, TO: 0x1000, Data: 1, CompareMask: ^uint64(0),
	}
	swap := AtomicRequest{
		Op: AtomicCmpSwap, ID: 0xCAFE0002, STag: 0x12345601, TO: 0x1000,
		Data: 0x1111, Mask: ^uint64(0), Compare: 42, CompareMask: ^uint64(0),
	}
	response := AtomicResponse{ID: 0xCAFE0001, Original: 41}
	h := Handle{STag: 0x12345601, TO: 0x0102030405060708, Len: 0x1000}
	parseRead := func(b []byte) (any, []byte, error) { return anyOf(ParseReadRequest(b)) }
	parseAtomic := func(b []byte) (any, []byte, error) { return anyOf(ParseAtomicRequest(b)) }
	parseResponse := func(b []byte) (any, []byte, error) { return anyOf(ParseAtomicResponse(b)) }
	parseHandle := func(b []byte) (any, []byte, error) { return anyOf(ParseHandle(b)) }
	return []codec{
		{"Read Request", afterDDP(t, vReadRequest), read, parseRead, read.AppendTo},
		{"Read Request of length 0", afterDDP(t, vZeroRead), ReadRequest{}, parseRead, ReadRequest{}.AppendTo},
		{"FetchAdd", afterDDP(t, vFetchAdd), add, parseAtomic, add.AppendTo},
		{"CmpSwap", afterDDP(t, vCmpSwap), swap, parseAtomic, swap.AppendTo},
		{"Atomic Response", afterDDP(t, vAtomicResponse), response, parseResponse, response.AppendTo},
		{"handle", unhex("0102030405060708 12345601 00001000"), h, parseHandle, h.AppendTo},
	}
}

func anyOf[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

// "a Read Request header that MUST be used" is the 28 octets of figure 6; the layouts of RFC 7306
// are figures 4 and 6 there.
//
// RDMAP-5040-4.4-1, RDMAP-5040-4.2-1
func TestRFC5040_4_4_HeaderVectors(t *testing.T) {
	for _, c := range codecs(t) {
		t.Run(c.desc, func(t *testing.T) {
			if got := c.append([]byte("x")); !bytes.Equal(got, append([]byte("x"), c.octets...)) {
				t.Errorf("AppendTo gives %x, want %x", got[1:], c.octets)
			}
			got, rest, err := c.parse(append(bytes.Clone(c.octets), "rest"...))
			if err != nil || got != c.value || string(rest) != "rest" {
				t.Errorf("Parse(%x) = %+v, %q, %v, want %+v", c.octets, got, rest, err, c.value)
			}
			for i := range c.octets {
				if _, _, err := c.parse(c.octets[:i]); err == nil {
					t.Errorf("Parse accepted %d of %d octets", i, len(c.octets))
				}
			}
		})
	}
}

func TestParseErrorIsUnspecified(t *testing.T) {
	_, _, err := ParseReadRequest(make([]byte, 27))
	if err == nil || headerError(err).Code != 0x02FF {
		t.Errorf("ParseReadRequest(27 octets): %v, want 0x0/0x2/0xFF", err)
	}
}

// "This field is set to zero on transmit, ignored on receive." RDMAPX-7306-5.2.1-9
func TestRFC7306_5_2_1_ReservedBitsIgnored(t *testing.T) {
	b := afterDDP(t, vFetchAdd)
	copy(b, []byte{0xFF, 0xFF, 0xFF, 0xF0})
	r, _, err := ParseAtomicRequest(b)
	if err != nil || r.Op != AtomicFetchAdd {
		t.Errorf("ParseAtomicRequest with reserved bits set: %v, %v, want FetchAdd", r.Op, err)
	}
	all := AtomicRequest{ID: ^uint32(0), STag: ^ddp.STag(0), TO: allBits, Data: allBits, Mask: allBits, Compare: allBits, CompareMask: allBits}
	for op, want := range map[AtomicOp]string{AtomicFetchAdd: "00000000 ffffffff", AtomicCmpSwap: "00000002 ffffffff"} {
		all.Op = op
		if got := all.AppendTo(nil)[:8]; !bytes.Equal(got, unhex(want)) {
			t.Errorf("%v is sent with %x in front, want %s", op, got, want)
		}
	}
}

// "an error MUST be surfaced in response to … an Atomic Operation Code that the RNIC does not
// support"
// RDMAPX-7306-5.2.1-10, RDMAPX-7306-5.2.1-22
func TestRFC7306_5_2_1_AtomicOperationCodes(t *testing.T) {
	for op := range uint8(16) {
		b := afterDDP(t, vFetchAdd)
		b[3] = op
		_, _, err := ParseAtomicRequest(b)
		if op == 0 || op == 2 {
			if err != nil {
				t.Errorf("AOpCode %#x: %v", op, err)
			}
		} else if err == nil || headerError(err).Code != codeOpcode {
			t.Errorf("AOpCode %#x: %v, want unexpected OpCode", op, err)
		}
	}
	for op, want := range map[AtomicOp]string{0: "FetchAdd", 2: "CmpSwap", 1: "atomic operation 0x1"} {
		if got := op.String(); got != want {
			t.Errorf("AOpCode %d is called %q, want %q", op, got, want)
		}
	}
}

func TestHandleSlice(t *testing.T) {
	h := Handle{STag: 7, TO: 1000, Len: 100}
	for _, tt := range []struct {
		desc string
		off  int64
		n    int
		want Handle
		ok   bool
	}{
		{"all", 0, 100, h, true},
		{"middle", 10, 20, Handle{7, 1010, 20}, true},
		{"empty at the end", 100, 0, Handle{7, 1100, 0}, true},
		{"one too many", 1, 100, Handle{}, false},
		{"beyond", 101, 0, Handle{}, false},
		{"negative offset", -1, 2, Handle{}, false},
		{"negative length", 1, -1, Handle{}, false},
		{"offset that overflows", 1 << 62, 1, Handle{}, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			got, err := h.Slice(tt.off, tt.n)
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("Slice(%d, %d) = %+v, %v, want %+v", tt.off, tt.n, got, err, tt.want)
			}
		})
	}
}
