package ddp

import (
	"bytes"
	"errors"
	"testing"
)

// Tests of RFC 5041 §1.2, §5.1, §5.2 and §8.2: where a message goes, and what names it.

// "For the Tagged Buffer Model, a DDP Message can start at an arbitrary offset within the Tagged
// Buffer. For the Untagged Buffer Model, a DDP Message can only start at offset 0."
// DDP-5041-1.2-4
func TestRFC5041_1_2_WhereAMessageStarts(t *testing.T) {
	for off := range uint64(16) {
		p := newPair(t)
		region, posted := newGuarded(20), p.post(0, 20, 1)
		r := p.register(region.mem, RemoteWrite)
		p.send(write(r, off, []byte{1, 2, 3, 4}), 128)
		p.wantMessage("Write")
		if !bytes.Equal(region.mem[off:][:4], []byte{1, 2, 3, 4}) || !untouched(region.mem[:off]) || !untouched(region.mem[off+4:]) {
			t.Errorf("Write at %d: %x", off, region.mem)
		}
		segment := untagged(UntaggedHeader{Last: true, MSN: 1, MO: uint32(off)}, 4)
		p.place(segment)
		if off > 0 {
			p.wantFailure(segment, CodeInvalidMO)
			if !untouched(posted.all) {
				t.Errorf("a message that begins at MO %d: %x", off, posted.mem)
			}
		} else if m := p.wantMessage("Send"); m.Len != 4 || &m.Buffer[0] != &posted.mem[0] {
			t.Errorf("delivered %+v, want the buffer's first octets", m)
		}
	}
}

// "a Tagged Buffer can potentially be written multiple times."
// DDP-5041-5.1.1-1
func TestRFC5041_5_1_1_WrittenAgain(t *testing.T) {
	p := newPair(t)
	g := newGuarded(8)
	r := p.register(g.mem, RemoteWrite)
	want := bytes.Repeat([]byte{guard}, 8)
	for i, w := range []struct {
		off  uint64
		data string
	}{{0, "aaaa"}, {0, "bbbb"}, {2, "cccc"}, {2, "dd"}, {0, "eeeeeeee"}, {7, "f"}} {
		p.send(write(r, w.off, []byte(w.data)), 16)
		p.wantMessage("Write")
		copy(want[w.off:], w.data)
		if !bytes.Equal(g.mem, want) || !g.intact() {
			t.Errorf("after Write %d: %q, want %q", i, g.mem, want)
		}
	}
}

// "For an Untagged DDP Message, the combination of the QN and MSN uniquely identifies a DDP
// Message." Messages with the same MSN on four queues arrive interleaved, segment by segment.
// DDP-5041-5.2-6
func TestRFC5041_5_2_QNAndMSN(t *testing.T) {
	p := newPair(t)
	var posted [NumQueues][3]guarded
	var segments [NumQueues][][]byte
	for qn := range QN(NumQueues) {
		for k := range posted[qn] {
			posted[qn][k] = p.post(qn, 40, uint64(qn)<<8|uint64(k+1))
			m := Message{QN: qn, Payload: [][]byte{bytes.Repeat([]byte{byte(qn)<<4 | byte(k+1)}, 40)}, Len: 40}
			segments[qn] = append(segments[qn], cut(&p.s, &m, 28)...)
		}
	}
	for i := range segments[0] {
		for qn := range QN(NumQueues) {
			p.place(segments[qn][i])
		}
	}
	for k := range uint32(3) {
		for qn := range QN(NumQueues) {
			m := p.wantMessage("message")
			want := bytes.Repeat([]byte{byte(qn)<<4 | byte(k+1)}, 40)
			if m.QN != qn || m.MSN != k+1 || m.ID != uint64(qn)<<8|uint64(k+1) || !bytes.Equal(posted[qn][k].mem, want) {
				t.Errorf("delivered %+v with %x, want QN %d MSN %d", m, posted[qn][k].mem, qn, k+1)
			}
		}
	}
	p.wantIdle("all are delivered")
}

// "For either Untagged or Tagged DDP Messages, the Data Sink is not required to verify that the
// entire ULP Message has been received." An Untagged Message with a hole is refused anyway. A
// Tagged one is delivered, and its Contiguous is false. DDP-5041-5.2-15
func TestRFC5041_5_2_MessageWithAHole(t *testing.T) {
	p := newPair(t)
	g := newGuarded(12)
	r := p.register(g.mem, RemoteWrite)
	p.place(tagged(TaggedHeader{STag: r.STag(), TO: r.TO()}, 4))
	p.place(tagged(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO() + 8}, 4))
	if m := p.wantMessage("Tagged, with a hole"); m.Len != 8 || m.Contiguous || !untouched(g.mem[4:8]) || g.mem[3] != 0 || g.mem[8] != 0 {
		t.Errorf("delivered %+v, memory %x", m, g.mem)
	}
	posted := p.post(0, 12, 1)
	p.place(untagged(UntaggedHeader{MSN: 1}, 4))
	hole := untagged(UntaggedHeader{Last: true, MSN: 1, MO: 8}, 4)
	p.place(hole)
	p.wantFailure(hole, CodeInvalidMO)
	if !untouched(posted.mem[4:]) {
		t.Errorf("buffer %x", posted.mem)
	}
}

// "Note that the PD ID is locally defined and cannot be directly manipulated by the Remote Peer."
// "Note that the DDP Stream ID is locally defined and cannot be directly manipulated by the Remote
// Peer." Whatever else a segment says, the Region of another stream, and that of another Domain,
// stay out of reach.
// DDP-5041-8.2-3
func TestRFC5041_8_2_LocallyDefined(t *testing.T) {
	for _, foreignDomain := range []bool{false, true} {
		for v := range 1 << 8 {
			for rsvd := range 1 << 4 {
				p := newPair(t)
				d := p.domain
				if foreignDomain {
					d = new(Domain)
				}
				g := newGuarded(8)
				r := register(t, d, g.mem, RemoteWrite, stream+1)
				ulpdu := tagged(TaggedHeader{Last: v&1 == 0, RsvdULP: uint8(v), STag: r.STag(), TO: r.TO()}, 8)
				ulpdu[0] |= byte(rsvd) << 2
				if p.r.TryPlace(p.off, ulpdu) {
					t.Fatalf("segment %x is placed early", ulpdu)
				}
				p.place(ulpdu)
				var e *Error
				if p.r.Deliver(p.off) || !errors.As(p.r.Err(), &e) || !untouched(g.all) {
					t.Fatalf("segment %x: %v, memory %x", ulpdu, p.r.Err(), g.all)
				}
			}
		}
	}
}

// "The following error numbers MUST be used when reporting errors to the ULP." "0x3 Reserved for
// the use by the LLP". Segments of all kinds of octets produce no other number. DDP-5041-7.2-14,
// DDP-5041-7.2-1
func TestRFC5041_7_2_NoOtherNumbers(t *testing.T) {
	table := map[uint8][]uint8{0: {0}, 1: {0, 1, 2, 3, 4}, 2: {1, 2, 3, 4, 5, 6}}
	seen := map[[2]uint8]bool{}
	note := func(desc string, err error) {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", desc, err)
		}
		etype, code := uint8(e.Code>>8), uint8(e.Code)
		if !bytes.Contains(table[etype], []byte{code}) {
			t.Errorf("%s: %d/%d is not in the table", desc, etype, code)
		}
		seen[[2]uint8{etype, code}] = true
	}
	rnd := seeded(t)
	for _, c := range errorCases() {
		x := newTarget(t)
		if c.desc == "first MO of a message is 4" {
			x.post(2, 32, 3)
		}
		x.place(c.bad(x))
		x.r.Deliver(x.off)
		note(c.desc, x.r.Err())
		for range 20 { // the same with one octet of the header changed
			x := newTarget(t)
			bad := c.bad(x)
			if n := min(len(bad), headerLen(bad)); n > 0 {
				bad[rnd.IntN(n)] = byte(rnd.Uint32())
			}
			x.place(bad)
			x.r.Deliver(x.off)
			var e *Error
			if err := x.r.Err(); err != nil && (!errors.As(err, &e) || e.Code != CodeULP) {
				note(c.desc+", changed", err)
			}
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d numbers seen, want all 12: %v", len(seen), seen)
	}
}
