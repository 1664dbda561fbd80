package ddp

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

func TestHeaderTruncated(t *testing.T) {
	tagged, untagged := TaggedHeader{}.AppendTo(nil), UntaggedHeader{}.AppendTo(nil)
	for n := range len(tagged) {
		_, _, err := ParseTagged(tagged[:n])
		wantRefused(t, err, &Error{Code: CodeLocalCatastrophic, SegmentLen: n})
	}
	for n := range len(untagged) {
		_, _, err := ParseUntagged(untagged[:n])
		wantRefused(t, err, &Error{Code: CodeLocalCatastrophic, SegmentLen: n})
	}
	if len(tagged) != TaggedHeaderLen || len(untagged) != UntaggedHeaderLen {
		t.Errorf("headers of %d and %d octets, want 14 and 18", len(tagged), len(untagged))
	}
}

func TestHeaderControlField(t *testing.T) {
	tagged, untagged := TaggedHeader{}.AppendTo(nil), UntaggedHeader{}.AppendTo(nil)
	for c := range 256 {
		tagged[0], untagged[0] = byte(c)|0x80, byte(c)&^0x80
		last := c&0x40 != 0
		h, _, err := ParseTagged(tagged)
		u, _, uerr := ParseUntagged(untagged)
		if c&3 != 1 {
			wantRefused(t, err, &Error{Code: CodeTaggedVersion, Header: tagged, SegmentLen: TaggedHeaderLen})
			wantRefused(t, uerr, &Error{Code: CodeUntaggedVersion, Header: untagged, SegmentLen: UntaggedHeaderLen})
			continue
		}
		if err != nil || h.Last != last || uerr != nil || u.Last != last {
			t.Errorf("control field %#x: %v, Last %t; %v, Last %t; want Last %t twice", c, err, h.Last, uerr, u.Last, last)
		}
	}
	if IsTagged(nil) || IsTagged(untagged) || !IsTagged(tagged) {
		t.Error("IsTagged does not follow the T bit")
	}
}

// wantRefused checks the error of a header that is refused.
func wantRefused(t *testing.T, err error, want *Error) {
	t.Helper()
	if !reflect.DeepEqual(err, error(want)) {
		t.Errorf("%v, want %v", err, want)
	}
}

// A parser either accepts the octets or refuses them with a typed error. Accepted octets come out
// again unchanged, except for the reserved bits.
func FuzzHeaders(f *testing.F) {
	for _, last := range []bool{false, true} {
		f.Add(append(TaggedHeader{Last: last, RsvdULP: 0x43, STag: 0x01020304, TO: 0x05060708090A0B0C}.AppendTo(nil), "payload"...))
		f.Add(append(UntaggedHeader{Last: last, RsvdULP: 0x41, RsvdULP32: 1, QN: QNReadRequest, MSN: 2, MO: 3}.AppendTo(nil), "payload"...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tagged, rest, err := ParseTagged(b)
		checkParsed(t, b, TaggedHeaderLen, IsTagged(b), tagged.AppendTo(nil), rest, err)
		untagged, rest, err := ParseUntagged(b)
		checkParsed(t, b, UntaggedHeaderLen, !IsTagged(b), untagged.AppendTo(nil), rest, err)
	})
}

func checkParsed(t *testing.T, b []byte, headerLen int, rightModel bool, again, rest []byte, err error) {
	t.Helper()
	if err != nil {
		var e *Error
		if rightModel != errors.As(err, &e) && len(b) >= headerLen {
			t.Errorf("parsing %x: %v", b, err)
		}
		if len(b) >= headerLen && rightModel && b[0]&3 == 1 {
			t.Errorf("a good header, %x, is refused: %v", b, err)
		}
		return
	}
	again[0] |= b[0] & 0x3C
	if !rightModel || !bytes.Equal(append(again, rest...), b) {
		t.Errorf("%x becomes %x and %x", b, again, rest)
	}
}
