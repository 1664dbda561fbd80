package filecopy

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

var (
	someAttr = attr{Type: typeFile, Perm: 0o640, Size: 0x1122334455, Sec: -2, Nsec: 5}
	someSum  = sum{0xaa, 31: 0xbb}
)

const (
	someAttrHex = "01 01a0 0000001122334455 fffffffffffffffe 00000005"
	someSumHex  = "aa" + "000000000000000000000000000000000000000000000000000000000000" + "bb"
)

// messages contains one message of each kind, with its encoding.
var messages = []struct {
	m   message
	hex string
}{
	{message{kind: kindStat, text: "a/b"}, "01 612f62"},
	{message{kind: kindList, text: "."}, "02 2e"},
	{message{kind: kindNext}, "03"},
	{message{kind: kindMkdir, text: "d"}, "04 64"},
	{message{kind: kindSetAttr, attr: attr{Type: typeDir, Perm: 0o755}, text: "d"}, "05 02 01ed 0000000000000000 0000000000000000 00000000 64"},
	{message{kind: kindGet, attr: someAttr, number: 3, sum: someSum, text: "f"}, "06" + someAttrHex + "0000000000000003" + someSumHex + "66"},
	{message{kind: kindRelease, number: 7}, "07 0000000000000007"},
	{message{kind: kindPut, attr: someAttr, text: "f"}, "08" + someAttrHex + "66"},
	{message{kind: kindBegin, number: 9}, "09 0000000000000009"},
	{message{kind: kindWritten, number: 1}, "0a 0000000000000001"},
	{message{kind: kindEnd, sum: someSum}, "10" + someSumHex},
	{message{kind: kindBusy}, "11"},
	{message{kind: kindAttr, attr: someAttr}, "20" + someAttrHex},
	{message{kind: kindEntries, flag: true, entries: []entry{{"f", someAttr}, {"gh", someAttr}}}, "21 01" + someAttrHex + "01 66" + someAttrHex + "02 6768"},
	{message{kind: kindMade, flag: true}, "22 01"},
	{message{kind: kindFile, attr: someAttr, number: 1}, "23" + someAttrHex + "0000000000000001"},
	{message{kind: kindChunk, number: 2, handle: rdmap.Handle{STag: 3, TO: 4, Len: 5}}, "24 0000000000000002 0000000000000004 00000003 00000005"},
	{message{kind: kindReady, number: 2, sum: someSum}, "25 0000000000000002" + someSumHex},
	{message{kind: kindGrant, number: 2, handle: rdmap.Handle{STag: 3, TO: 4, Len: 5}}, "26 0000000000000002 0000000000000004 00000003 00000005"},
	{message{kind: kindDone, sum: someSum}, "27" + someSumHex},
	{message{kind: kindError, code: 1, text: "no"}, "28 01 6e6f"},
}

var unhex = prototest.Unhex

// TestModTime: package os can set each modification time.
func TestModTime(t *testing.T) {
	const first, last = -9_223_372_036, 9_223_372_035
	for _, tt := range []struct{ sec, want int64 }{
		{0, 0}, {-1, -1}, {last, last}, {last + 1, last}, {math.MaxInt64, last}, {first, first}, {first - 1, first}, {math.MinInt64, first},
	} {
		got := attr{Sec: tt.sec, Nsec: 999_999_999}.modTime()
		if set := time.Unix(0, got.UnixNano()); got.Unix() != tt.want || !set.Equal(got) {
			t.Errorf("%d seconds become %v, and %v on disk; want %d seconds", tt.sec, got, set, tt.want)
		}
	}
}

func TestMessage(t *testing.T) {
	seen := map[kind]bool{}
	for _, tt := range messages {
		seen[tt.m.kind] = true
		t.Run(tt.m.kind.String(), func(t *testing.T) {
			want := unhex(tt.hex)
			if got := tt.m.appendTo(nil); !bytes.Equal(got, want) {
				t.Errorf("appendTo: %x, want %x", got, want)
			}
			m, err := parseMessage(want)
			if err != nil || !reflect.DeepEqual(m, tt.m) {
				t.Errorf("parseMessage(%x) = %+v, %v; want %+v", want, m, err, tt.m)
			}
			whole := layouts[tt.m.kind]
			for i := range want[:len(want)-len(tt.m.text)] {
				// A list may end after each entry.
				if whole&hasEntries != 0 && (i == 2 || i == 2+attrLen+2) {
					continue
				}
				if m, err := parseMessage(want[:i]); err == nil {
					t.Errorf("parseMessage(%x), %d of %d bytes, = %+v", want[:i], i, len(want), m)
				}
			}
			if whole&hasText == 0 {
				if _, err := parseMessage(append(bytes.Clone(want), 0)); err == nil {
					t.Error("accepted with a byte too many")
				}
			}
		})
	}
	for k := range layouts {
		if !seen[k] || kindNames[k] == "" {
			t.Errorf("%v has no test or no name", k)
		}
	}
}

func TestMessageMalformed(t *testing.T) {
	tests := []struct{ desc, hex string }{
		{"empty", ""},
		{"unknown kind", "00"},
		{"unknown kind", "ff00"},
		{"type 0", "20 00 01a0 0000001122334455 fffffffffffffffe 00000005"},
		{"type 4", "20 04 01a0 0000000000000000 fffffffffffffffe 00000005"},
		{"setuid", "20 01 09ed 0000001122334455 fffffffffffffffe 00000005"},
		{"size above 2^63-1", "20 01 01a0 8000000000000000 fffffffffffffffe 00000005"},
		{"directory with a size", "20 02 01a0 0000000000000001 fffffffffffffffe 00000005"},
		{"10^9 nanoseconds", "20 01 01a0 0000000000000001 fffffffffffffffe 3b9aca00"},
		{"flag 2", "22 02"},
		{"entry without a name", "21 00" + someAttrHex + "00"},
		{"entry with a slash", "21 00" + someAttrHex + "03 612f62"},
		{"entry ..", "21 00" + someAttrHex + "02 2e2e"},
		{"entry .", "21 00" + someAttrHex + "01 2e"},
		{"entry with a NUL", "21 00" + someAttrHex + "01 00"},
		{"entry shorter than it says", "21 00" + someAttrHex + "ff 61"},
	}
	for _, tt := range tests {
		if m, err := parseMessage(unhex(tt.hex)); err == nil {
			t.Errorf("%s: parseMessage(%s) = %+v", tt.desc, tt.hex, m)
		}
	}
}

// A full message of entries fits into the buffers, with names of any length.
func TestEntriesFit(t *testing.T) {
	m := message{kind: kindEntries}
	for range entriesAtOnce {
		m.entries = append(m.entries, entry{name: strings.Repeat("n", maxName), attr: attr{Type: typeFile, Size: math.MaxInt64}})
	}
	if n := len(m.appendTo(nil)); n > maxMessage {
		t.Errorf("%d entries take %d bytes of %d", entriesAtOnce, n, maxMessage)
	}
	long := message{kind: kindGet, text: strings.Repeat("p", maxPath)}
	if n := len(long.appendTo(nil)); n > maxMessage {
		t.Errorf("get takes %d bytes of %d", n, maxMessage)
	}
}

// Error messages keep the identity of errors.
func TestErrorMessage(t *testing.T) {
	for _, want := range codes {
		m, err := parseMessage(errorMessage(want).appendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.remoteError(); !errors.Is(err, want) {
			t.Errorf("%v came as %v", want, err)
		}
	}
	m := errorMessage(errors.New(strings.Repeat("x", 2*maxText)))
	if len(m.text) != maxText || m.code != codeOther {
		t.Errorf("a long error: %d bytes, code %d", len(m.text), m.code)
	}
	m = errorMessage(errors.New("\x1b[31mred\a"))
	if got := m.remoteError().Error(); strings.ContainsAny(got, "\x1b\a") {
		t.Errorf("control characters came through: %q", got)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, tt := range messages {
		f.Add(unhex(tt.hex))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if err != nil {
			return
		}
		if got := m.appendTo(nil); !bytes.Equal(got, b) {
			t.Errorf("parseMessage(%x) = %+v, which gives %x", b, m, got)
		}
		if m.attr.Size > math.MaxInt64 || m.attr.size() < 0 || m.attr.Perm > 0o777 {
			t.Errorf("parseMessage(%x) let %+v through", b, m.attr)
		}
		for _, e := range m.entries {
			if !isElement(e.name) {
				t.Errorf("parseMessage(%x) let the name %q through", b, e.name)
			}
		}
	})
}

// The greeting contains the idle timeout in whole milliseconds, in 32 bits. Other bytes are not
// accepted as a greeting.
func TestGreeting(t *testing.T) {
	want := []byte("rddp files\x02\x00\x01\xd4\xc0")
	if got := appendGreeting(nil, 2*time.Minute); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, tt := range []struct{ said, heard time.Duration }{
		{2 * time.Minute, 2 * time.Minute}, {0, 0}, {-1, 0}, {time.Millisecond + 1, time.Millisecond},
		{1 << 62, math.MaxUint32 * time.Millisecond},
	} {
		if got, ok := parseGreeting(appendGreeting(nil, tt.said)); !ok || got != tt.heard {
			t.Errorf("%v came as %v, %t; want %v", tt.said, got, ok, tt.heard)
		}
	}
	for i := range want {
		if _, ok := parseGreeting(want[:i]); ok {
			t.Errorf("%d bytes of %d are a greeting", i, len(want))
		}
		if i < len(greeting)+1 {
			bad := bytes.Clone(want)
			bad[i] ^= 1
			if _, ok := parseGreeting(bad); ok {
				t.Errorf("%q is a greeting", bad)
			}
		}
	}
	if _, ok := parseGreeting(append(want, 0)); ok {
		t.Error("a greeting with a byte behind it is one")
	}
}
