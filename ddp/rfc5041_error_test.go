package ddp

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

// Tests of RFC 5041 §7 and §8: what is refused, with which number, and that nothing of it is
// placed.

// A target is the receiver of a bad segment. It has a Region of 64 octets, one without RemoteWrite,
// one of another stream, one that is gone; on QN 0 two posted buffers of 32 octets, of which the
// first holds 10 octets of a message in progress; on QN 1 none; QN 3 is not valid.
type target struct {
	*pair
	memory         []guarded // all of the above, which must not change
	region         *Region
	readOnly, gone *Region
	foreign        *Region
	alien          *Region // of another Domain
	begun          []byte  // the segment that has begun the message
}

func newTarget(t testing.TB) *target {
	x := &target{pair: newPairWith(t, func(c *ReceiverConfig) { c.Queues[3] = nil })}
	region := func(d *Domain, a Access, stream uint64) *Region {
		g := newGuarded(64)
		x.memory = append(x.memory, g)
		return register(t, d, g.mem, a, stream)
	}
	x.region = region(x.domain, RemoteWrite, stream)
	x.readOnly = region(x.domain, RemoteRead|RemoteAtomic|ReadSink, stream)
	x.gone = region(x.domain, RemoteWrite, stream)
	x.gone.Deregister()
	x.foreign = region(x.domain, RemoteWrite, stream+1)
	x.alien = region(new(Domain), RemoteWrite, stream)
	x.memory = append(x.memory, x.post(0, 32, 1), x.post(0, 32, 2))
	x.begun = untagged(UntaggedHeader{MSN: 1}, 10)
	copy(x.begun[18:], bytes.Repeat([]byte{guard}, 10)) // so that "unchanged" is easy to check
	x.place(x.begun)
	x.wantIdle("a message has begun")
	return x
}

func (x *target) wantUnchanged() {
	x.Helper()
	for i, g := range x.memory {
		if !untouched(g.all) {
			x.Errorf("memory %d has changed: %x", i, g.all)
		}
	}
}

// untagged and tagged return a segment with n octets of payload.
func untagged(h UntaggedHeader, n int) []byte {
	return append(h.AppendTo(nil), make([]byte, n)...)
}
func tagged(h TaggedHeader, n int) []byte { return append(h.AppendTo(nil), make([]byte, n)...) }

// version changes a segment's DV.
func version(ulpdu []byte, dv byte) []byte {
	ulpdu[0] = ulpdu[0]&^3 | dv
	return ulpdu
}

type errorCase struct {
	desc string
	code Code
	bad  func(x *target) []byte
}

// at makes an errorCase of a tagged segment of n octets for TO off of a Region.
func at(desc string, code uint8, r func(x *target) *Region, off uint64, n int) errorCase {
	return errorCase{desc, 0x100 | Code(code), func(x *target) []byte {
		return tagged(TaggedHeader{Last: true, STag: r(x).STag(), TO: r(x).TO() + off}, n)
	}}
}

func queued(desc string, code uint8, h UntaggedHeader, n int) errorCase {
	return errorCase{desc, 0x200 | Code(code), func(*target) []byte { return untagged(h, n) }}
}

func region(x *target) *Region   { return x.region }
func readOnly(x *target) *Region { return x.readOnly }
func gone(x *target) *Region     { return x.gone }
func foreign(x *target) *Region  { return x.foreign }
func alien(x *target) *Region    { return x.alien }

// errorCases provokes every error of RFC 5041 §7.2, one fault at a time if possible.
func errorCases() []errorCase {
	cases := []errorCase{
		{"STag 0", 0x100, func(*target) []byte { return tagged(TaggedHeader{Last: true}, 1) }},
		{"STag unknown", 0x100, func(x *target) []byte {
			return tagged(TaggedHeader{Last: true, STag: x.region.STag() ^ 0x00010000, TO: x.region.TO()}, 8)
		}},
		{"STag of which the last octet is wrong", 0x100, func(x *target) []byte {
			return tagged(TaggedHeader{Last: true, STag: x.region.STag() ^ 1, TO: x.region.TO()}, 8)
		}},
		at("STag revoked", 0, gone, 0, 8),
		at("STag of another Domain", 0, alien, 0, 8),
		at("no right", 0, readOnly, 0, 8),
		at("one octet before the base", 1, region, math.MaxUint64, 1),
		at("across the base", 1, region, math.MaxUint64, 2),
		at("one octet at the end", 1, region, 64, 1),
		at("across the end", 1, region, 63, 2),
		at("all and one octet more", 1, region, 0, 65),
		at("TO far away", 1, region, 1<<32, 1),
		at("not the last segment", 1, region, 64, 1),
		at("of another stream", 2, foreign, 0, 8),
		queued("QN without buffers, first MSN", 2, UntaggedHeader{Last: true, QN: 1, MSN: 1}, 1),
		queued("QN without buffers, no payload", 2, UntaggedHeader{Last: true, QN: 1, MSN: 1}, 0),
		queued("QN without buffers, MO too", 2, UntaggedHeader{Last: true, QN: 1, MSN: 1, MO: 9}, 1),
		queued("QN not valid here", 1, UntaggedHeader{Last: true, QN: 3, MSN: 1}, 1),
		queued("QN 4", 1, UntaggedHeader{Last: true, QN: 4, MSN: 1}, 1),
		queued("QN 7, no payload", 1, UntaggedHeader{Last: true, QN: 7, MSN: 1}, 0),
		queued("QN 2^32-1", 1, UntaggedHeader{Last: true, QN: math.MaxUint32, MSN: 1}, 1),
		queued("MSN 0", 3, UntaggedHeader{Last: true, MO: 10}, 1),
		queued("MSN of the next buffer", 3, UntaggedHeader{Last: true, MSN: 2}, 1),
		queued("MSN beyond the buffers", 3, UntaggedHeader{Last: true, MSN: 3}, 1),
		queued("MSN far ahead, no payload", 3, UntaggedHeader{Last: true, MSN: 0x80000001, MO: 10}, 0),
		queued("MSN wrong in a QN without buffers", 3, UntaggedHeader{Last: true, QN: 1, MSN: 2}, 1),
		queued("MO 0 again", 4, UntaggedHeader{Last: true, MSN: 1}, 1),
		queued("MO one too low", 4, UntaggedHeader{Last: true, MSN: 1, MO: 9}, 1),
		queued("MO with a hole before", 4, UntaggedHeader{Last: true, MSN: 1, MO: 11}, 1),
		queued("MO with a hole before, no payload", 4, UntaggedHeader{Last: true, MSN: 1, MO: 11}, 0),
		queued("MO at the buffer's end", 4, UntaggedHeader{Last: true, MSN: 1, MO: 32}, 1),
		queued("MO 2^32-1", 4, UntaggedHeader{Last: true, MSN: 1, MO: math.MaxUint32}, 1),
		queued("MO 2^32-1 with so much that 32 bits wrap", 4, UntaggedHeader{Last: true, MSN: 1, MO: math.MaxUint32}, 12),
		queued("first MO of a message is 4", 4, UntaggedHeader{Last: true, QN: 2, MSN: 1, MO: 4}, 1),
		queued("one octet too long", 5, UntaggedHeader{Last: true, MSN: 1, MO: 10}, 23),
		queued("one octet too long, not the last segment", 5, UntaggedHeader{MSN: 1, MO: 10}, 23),
		queued("far too long", 5, UntaggedHeader{Last: true, MSN: 1, MO: 10}, 64750),
	}
	for n := range uint64(2) {
		cases = append(cases, errorCase{fmt.Sprintf("TO + %d is 2^64 or more", n+1), CodeTOWrap, func(x *target) []byte {
			return tagged(TaggedHeader{Last: true, STag: x.region.STag(), TO: math.MaxUint64}, int(n+1))
		}})
	}
	for _, dv := range []byte{0, 2, 3} {
		cases = append(cases,
			errorCase{fmt.Sprintf("tagged, DV %d", dv), CodeTaggedVersion, func(x *target) []byte {
				return version(tagged(TaggedHeader{Last: true, STag: x.region.STag(), TO: x.region.TO()}, 8), dv)
			}},
			errorCase{fmt.Sprintf("untagged, DV %d", dv), CodeUntaggedVersion, func(*target) []byte {
				return version(untagged(UntaggedHeader{Last: true, MSN: 1, MO: 10}, 8), dv)
			}})
	}
	for _, n := range []int{0, 1, 13} {
		cases = append(cases, errorCase{fmt.Sprintf("%d octets", n), 0, func(*target) []byte { return tagged(TaggedHeader{Last: true}, 0)[:n] }})
	}
	return append(cases, errorCase{"17 octets", 0, func(*target) []byte { return untagged(UntaggedHeader{Last: true, MSN: 1, MO: 10}, 0)[:17] }})
}

// "For non-zero-length Untagged DDP Segments, the DDP Segment MUST be validated before Placement by
// verifying:" QN, MSN and buffer, MO, sum of length and MO, range of MSN. "For non-zero-length
// Tagged DDP Segments, the segment MUST be validated before Placement by verifying:" STag, buffer,
// TO, sum of length and TO, no wrap. "If the DDP layer detects any of the receive errors listed in
// this section, it MUST cease placing the remainder of the DDP Segment and report the error(s) to
// the ULP. The DDP layer SHOULD include in the error report the DDP Header, the type of error, and
// the length of the DDP segment, if available." "The following error numbers MUST be used when
// reporting errors to the ULP." DDP-5041-7.1-1 DDP-5041-7.1-2 DDP-5041-7.1-3 DDP-5041-7.1-8
// DDP-5041-7.1-9 DDP-5041-7.1-10 DDP-5041-7.1-12 DDP-5041-7.1-13 DDP-5041-7.1-14 DDP-5041-7.1-15
// DDP-5041-7.1-16 DDP-5041-7.1-17 DDP-5041-7.1-19 DDP-5041-7.1-20 DDP-5041-7.1-21 DDP-5041-7.2-1
// DDP-5041-7.2-2 DDP-5041-7.2-3 DDP-5041-7.2-4 DDP-5041-7.2-5 DDP-5041-7.2-6 DDP-5041-7.2-7
// DDP-5041-7.2-8 DDP-5041-7.2-9 DDP-5041-7.2-10 DDP-5041-7.2-11 DDP-5041-7.2-12 DDP-5041-7.2-13
// DDP-5041-6.2.2-3 DDP-5041-4.1-19 DDP-5041-1.2-3 DDP-5041-8.1-1 DDP-5041-8.3.1-4 DDP-5041-8.3.1-5
func TestRFC5041_7_1_ValidatedBeforePlacement(t *testing.T) {
	for _, c := range errorCases() {
		t.Run(c.desc, func(t *testing.T) {
			x := newTarget(t)
			if c.desc == "first MO of a message is 4" {
				x.memory = append(x.memory, x.post(2, 32, 3))
			}
			bad := c.bad(x)
			if placed := x.r.TryPlace(x.off, bad); placed {
				// As a hint the segment is not checked, but its payload may only go where payload
				// is allowed.
				x.checkHint(t, bad)
				x = newTarget(t)
				bad = c.bad(x)
			}
			x.wantUnchanged()
			x.place(bad)
			x.wantFailure(bad, c.code)
			x.wantUnchanged()
		})
	}
}

// checkHint looks at memory after a hint was taken: only the posted buffers may have changed.
func (x *target) checkHint(t *testing.T, bad []byte) {
	t.Helper()
	for i, g := range x.memory {
		if !g.intact() || i < len(x.memory)-2 && !untouched(g.mem) {
			t.Errorf("hint %x has changed memory %d: %x", bad, i, g.all)
		}
	}
	if begun := x.memory[len(x.memory)-2].mem[:10]; !untouched(begun) {
		t.Errorf("hint %x has changed what was placed before: %x", bad, begun)
	}
}

// "DDP MUST silently drop any subsequent incoming DDP Segments."
// DDP-5041-7.1-22 DDP-5041-3-11
func TestRFC5041_7_1_DropsWhatFollows(t *testing.T) {
	for _, c := range errorCases() {
		if c.desc == "first MO of a message is 4" {
			continue // there is no buffer in this test
		}
		t.Run(c.desc, func(t *testing.T) {
			x := newTarget(t)
			// Two messages come before the bad segment: both are delivered, though only afterwards.
			before := x.post(2, 4, 8)
			x.memory[0] = newGuarded(64)
			good := x.register(x.memory[0].mem, RemoteWrite)
			x.send(Message{QN: 2, Payload: [][]byte{{1, 2, 3, 4}}, Len: 4}, 128)
			x.send(write(good, 0, []byte{5}), 128)
			bad := c.bad(x)
			x.place(bad)
			// And some come after it, right ones and wrong ones.
			x.place(tagged(TaggedHeader{Last: true, STag: good.STag(), TO: good.TO() + 1}, 8))
			x.place(untagged(UntaggedHeader{Last: true, MSN: 1, MO: 10}, 1))
			x.place(untagged(UntaggedHeader{Last: true, QN: 9}, 1))
			x.place(nil)
			if x.r.TryPlace(x.off, tagged(TaggedHeader{Last: true, STag: good.STag(), TO: good.TO()}, 8)) {
				t.Error("segment placed early after the failure")
			}
			if err := x.r.Err(); err != nil {
				t.Errorf("Err = %v before the messages before it are delivered", err)
			}
			if m := x.wantMessage("the Send before"); m.QN != 2 || !bytes.Equal(before.mem, []byte{1, 2, 3, 4}) {
				t.Errorf("delivered %+v", m)
			}
			if err := x.r.Err(); err != nil {
				t.Errorf("Err = %v before the messages before it are delivered", err)
			}
			if m := x.wantMessage("the Write before"); !m.Tagged {
				t.Errorf("delivered %+v", m)
			}
			x.wantFailure(bad, c.code)
			x.wantFailure(bad, c.code)
			if x.memory[0].mem[0] != 5 {
				t.Error("the Write before the failure was not placed")
			}
			x.memory[0].mem[0] = guard
			x.wantUnchanged()
		})
	}
}

// The errors that the vectors of Terminates are about, as Layer, Error Type, Error Code, length and
// header. DDP-5041-7.1-21 DDP-5041-7.2-1
func TestRFC5041_7_2_TerminateVectors(t *testing.T) {
	tests := []struct {
		desc      string
		bad       []byte
		posted    int
		terminate string // first 6 octets of the Terminate header, then the terminated DDP header
	}{
		{"V5: Write to an STag that does not exist", tagged(TaggedHeader{Last: true, RsvdULP: 0x40, STag: 0xDEADBE00, TO: 0x1000}, 8),
			-1, "1100c0000016" + "c140deadbe000000000000001000"},
		{"V6: Write of 8 octets, one beyond the end", tagged(TaggedHeader{Last: true, RsvdULP: 0x40, STag: 0x12345601, TO: 0x10F9}, 8),
			-1, "1101c0000016" + "c1401234560100000000000010f9"},
		{"V20: Send of 9 octets to a buffer of 8", untagged(UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1}, 9),
			8, "1205c000001b" + "414300000000000000000000000100000000"},
		{"V21: Send without a buffer", untagged(UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1}, 5),
			-1, "1202c0000017" + "414300000000000000000000000100000000"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			p := newPair(t)
			p.move(p.register(make([]byte, 256), RemoteRead|RemoteWrite), 0x12345601, 0x1000)
			if tt.posted >= 0 {
				p.post(0, tt.posted, 1)
			}
			p.place(tt.bad)
			want := unhex(tt.terminate)
			p.wantFailure(tt.bad, Code(want[0]&15)<<8|Code(want[1]))
			e := p.r.Err().(*Error)
			n := e.SegmentLen
			if got := append([]byte{1<<4 | byte(e.Code>>8), byte(e.Code), 0xC0, 0, byte(n >> 8), byte(n)}, e.Header...); !bytes.Equal(got, want) {
				t.Errorf("Terminate header %x, want %x", got, want)
			}
		})
	}
}

// A write may end exactly where the Region does, or fill all of it.
// DDP-5041-7.1-15 DDP-5041-7.1-16 DDP-5041-4.2-17 DDP-5041-4.2-18
func TestRFC5041_7_1_WholeRangeIsLegal(t *testing.T) {
	for _, c := range []struct{ off, n uint64 }{{0, 1}, {1, 1}, {0, 64}, {63, 1}, {13, 51}} {
		x := newTarget(t)
		x.place(tagged(TaggedHeader{Last: true, STag: x.region.STag(), TO: x.region.TO() + c.off}, int(c.n)))
		x.wantMessage("Write")
		g := x.memory[0]
		if !untouched(g.mem[:c.off]) || !untouched(g.mem[c.off+c.n:]) || !g.intact() || bytes.Count(g.mem[c.off:][:c.n], []byte{0}) != int(c.n) {
			t.Errorf("%d octets at %d: memory %x", c.n, c.off, g.all)
		}
	}
}

// "if the PD ID of the DDP Stream is not the same as the PD ID of the STag targeted by the Tagged
// DDP Message, then the DDP Segment is not Placed, and the DDP layer MUST surface a local error to
// the ULP." "if the DDP Stream ID of the DDP Stream is not the same as the DDP Stream ID of the
// STag targeted by the Tagged DDP Message, then the DDP Segment is not Placed and the DDP layer
// MUST surface a local error to the ULP." "DDP MUST support Protection Domain association and DDP
// Stream association mechanisms for associating an STag and a DDP Stream." "If an STag is not valid
// on a DDP Stream, DDP MUST pass the invalid access attempt to the ULP." DDP-5041-8.2-1
// DDP-5041-8.2-2 DDP-5041-8.2-5 DDP-5041-8.3-3 DDP-5041-8.3-5 DDP-5041-8.3.1-2 DDP-5041-8.3.1-3
// DDP-5041-2.3-4 SEC-5042-6.1.1-4 SEC-5042-6.1.1-5 SEC-5042-6.1.1-6
func TestRFC5041_8_2_Association(t *testing.T) {
	tests := []struct {
		desc   string
		mine   bool   // the Region's Domain is the stream's
		stream uint64 // the Region's stream
		code   Code   // 0: may be used
	}{
		{"this stream's", true, stream, 0},
		{"every stream's", true, 0, 0},
		{"another stream's", true, stream + 1, CodeNotAssociated},
		{"another Domain's, same stream number", false, stream, CodeInvalidSTag},
		{"another Domain's, every stream's", false, 0, CodeInvalidSTag},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			p := newPair(t)
			d := p.domain
			if !tt.mine {
				d = new(Domain)
			}
			g := newGuarded(8)
			r := register(t, d, g.mem, RemoteRead|RemoteWrite|RemoteAtomic, tt.stream)
			ulpdu := tagged(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}, 8)
			if tt.code != 0 && p.r.TryPlace(p.off, ulpdu) {
				t.Error("placed early")
			}
			p.place(ulpdu)
			if tt.code == 0 {
				p.wantMessage("Write")
				return
			}
			p.wantFailure(ulpdu, tt.code)
			if e := kinds(p.r.Err()); len(e) != 1 {
				t.Errorf("Err = %v does not tell of the access", p.r.Err())
			}
			if !untouched(g.all) {
				t.Errorf("memory = %x", g.all)
			}
			for _, need := range []Access{RemoteRead, RemoteAtomic} {
				if _, err := p.domain.Check(r.STag(), r.TO(), 8, need, stream); err == nil {
					t.Errorf("Check(%v) succeeds", need)
				}
			}
			if err := p.domain.Invalidate(r.STag(), stream); err == nil {
				t.Error("Invalidate succeeds")
			}
		})
	}
}

// "DDP MUST provide a mechanism for the ULP to establish and revoke the TO range associated with
// the ULP Buffer referenced by the STag." "DDP MUST provide a mechanism for the ULP to establish
// and revoke STag validity." "An RNIC MUST provide a mechanism for the ULP to establish and revoke
// read, write, or read and write access to the ULP Buffer referenced by an STag." "An RNIC MUST
// ensure that a Remote Peer is not able to access memory outside the buffer specified when the STag
// was enabled for remote access." DDP-5041-8.3-1 DDP-5041-8.3-2 DDP-5041-8.3.1-4 DDP-5041-8.3.1-5
// DDP-5041-8.3.1-6 SEC-5042-6.2.1-2
// SEC-5042-6.3.5-1
func TestRFC5041_8_3_EstablishAndRevoke(t *testing.T) {
	for granted := range Access(16) {
		p := newPair(t)
		g := newGuarded(64)
		part := p.register(g.mem[8:16], granted)
		ulpdu := tagged(TaggedHeader{Last: true, STag: part.STag(), TO: part.TO()}, 8)
		if granted&RemoteWrite == 0 {
			p.place(ulpdu)
			p.wantFailure(ulpdu, CodeInvalidSTag)
			if !untouched(g.all) {
				t.Errorf("%v: memory = %x", granted, g.all)
			}
			continue
		}
		p.place(ulpdu)
		p.wantMessage("Write")
		if !untouched(g.mem[:8]) || !untouched(g.mem[16:]) || g.mem[8] == guard || g.mem[15] == guard {
			t.Errorf("%v: memory = %x", granted, g.mem)
		}
		part.Deregister()
		copy(g.mem[8:16], bytes.Repeat([]byte{guard}, 8))
		p.place(ulpdu)
		p.wantFailure(ulpdu, CodeInvalidSTag)
		if !untouched(g.all) {
			t.Errorf("%v: after Deregister: memory = %x", granted, g.all)
		}
	}
}

func TestErrorStrings(t *testing.T) {
	seen := make(map[string]bool)
	for etype := range uint8(4) {
		for code := range uint8(8) {
			s := (Code(etype)<<8 | Code(code)).String()
			if s == "" || seen[s] {
				t.Errorf("%d, %d is %q", etype, code, s)
			}
			seen[s] = true
		}
	}
	e := &Error{Code: CodeTooLong, Header: []byte{0x41}, SegmentLen: 27}
	if want := "ddp: Untagged Buffer Error: DDP Message too long for available buffer (segment of 27 bytes, header 41)"; e.Error() != want {
		t.Errorf("Error = %q, want %q", e, want)
	}
	if s := Code(CodeULP).String(); s == "" || seen[s] {
		t.Errorf("CodeULP is %q", s)
	}
	denied := &AccessError{Code: CodeInvalidSTag, Denied: true, STag: 1, TO: 2, N: 3, Need: RemoteRead, Stream: 4}
	if want := "ddp: access rights violation: STag 0x00000001, TO 0x2, 3 bytes, stream 4, for remote read"; denied.Error() != want {
		t.Errorf("Error = %q, want %q", denied, want)
	}
	if got := (RemoteRead | ReadSink).String(); got != "remote read|read sink" {
		t.Errorf("Access = %q", got)
	}
}
