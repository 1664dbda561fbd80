package spec

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// hostile is a peer like credulous, but it changes octets, and repeats, omits and invents messages.
func hostile(r *rand.Rand) fake {
	return func(f *fakeConn) {
		record := lends
		if r.IntN(2) == 0 { // STags that are similar to others
			record.ReadOnly.STag, record.WriteOnly.STag = record.Region.STag^0x005A5A00, record.Region.STag^0x00FF5A00
		}
		if r.IntN(8) == 0 {
			record.Region.TO = r.Uint64() >> r.IntN(64)
		}
		if f.part == Initiator && r.IntN(2) == 0 {
			word := r.Uint32() | bitA
			f.Write(frame{key: keyRequest, flags: flagS, revision: 2, private: record.AppendTo(enhanced(word))}.octets())
			theirs, ok := f.frame()
			if !ok {
				return
			}
			f.crc = theirs.flags&flagC != 0
		} else if !f.startup(record) {
			return
		}
		for range 40 {
			g := segment{
				ddp: ddpLast | version, rdmap: version<<6 | byte(r.IntN(12)), stag: record.Region.STag, to: r.Uint64(),
				msn: 1 + r.Uint32N(3), payload: make([]byte, r.IntN(60)*r.IntN(2)),
			}
			if op := g.op(); op == opWrite || op == opReadResponse {
				g.ddp |= ddpTagged
			} else {
				g.qn = []uint32{0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3}[op]
			}
			if g.qn == qnSend {
				f.msn++
				g.msn = f.msn
			}
			for i := range g.payload {
				g.payload[i] = byte(r.Uint32() & r.Uint32())
			}
			octets := fpdu{ulpdu: g.octets()}.appendTo(nil, 0, f.crc, false)
			switch r.IntN(20) {
			case 0:
				octets[r.IntN(len(octets))]++
			case 1:
				octets = octets[:r.IntN(len(octets))]
			}
			if _, err := f.Write(octets); err != nil || r.IntN(40) == 0 {
				return
			}
		}
	}
}

// Whatever a peer sends, each case ends, and none panics.
func TestHostilePeers(t *testing.T) {
	for seed := range uint64(25) {
		for _, part := range []Part{Responder, Initiator} {
			t.Logf("seed %d, peer %v", seed, part)
			r := rand.New(rand.NewPCG(seed, uint64(part)))
			var mu sync.Mutex // the peers of cases overlap
			next := func() uint64 {
				mu.Lock()
				defer mu.Unlock()
				return r.Uint64()
			}
			if results := against(t, part, func(f *fakeConn) { hostile(rand.New(rand.NewPCG(next(), 0)))(f) }); len(results) != len(Select(part, nil)) {
				t.Errorf("seed %d: %d results", seed, len(results))
			}
		}
	}
}

// A Read without its header is not an RTR.
func TestShortRTR(t *testing.T) {
	r := against(t, Initiator, func(f *fakeConn) {
		f.Write(frame{key: keyRequest, flags: flagS, revision: 2, private: enhanced(bitA | bitD | depths(1, 1))}.octets())
		if _, ok := f.frame(); ok {
			f.crc = true
			f.put(untagged(opReadRequest, qnRead, 1, nil))
			<-f.over
		}
	}, "5044/4.1/lengths")["5044/4.1/lengths"]
	if want := "a RDMA Read Request of length 0 as the first FPDU"; r.Status != StatusFail || r.Expected != want {
		t.Errorf("%s: expected %q, want %q", r.Status, r.Expected, want)
	}
}

// The STag that is meant to be wrong is not one of the peer's.
func TestOtherSTag(t *testing.T) {
	s := &session{record: Record{Region: Region{STag: 1}}}
	for range 4 {
		other := s.otherSTag()
		if slices.Contains([]uint32{s.record.Region.STag, s.record.ReadOnly.STag, s.record.WriteOnly.STag}, other) {
			t.Errorf("%#x is one of %+v", other, s.record)
		}
		s.record.ReadOnly.STag, s.record.WriteOnly.STag = other, s.record.ReadOnly.STag
	}
}

// A peer that checks only some of an STag's bits is detected.
func TestSTagBits(t *testing.T) {
	for _, tt := range []struct {
		desc        string
		mask        uint32
		first, last Status
	}{
		{"all bits", 1<<32 - 1, StatusPass, StatusPass},
		{"not the last byte, a key", 0xFFFFFF00, StatusPass, StatusFail},
		{"not the first byte, an index", 0x00FFFFFF, StatusFail, StatusPass},
	} {
		peer := func(f *fakeConn) {
			if !f.startup(lends) {
				return
			}
			for {
				g, ok := f.next()
				switch {
				case !ok:
					return
				case !g.tagged():
					f.send(opSend, g.payload)
				case (g.stag^lends.Region.STag)&tt.mask != 0:
					f.put(untagged(opTerminate, qnTerminate, 1, []byte{0x11, 0, 0, 0}))
					return
				}
			}
		}
		r := against(t, Responder, peer, "5041/7.2/stag-first-bit", "5041/7.2/stag-last-bit")
		if first, last := r["5041/7.2/stag-first-bit"], r["5041/7.2/stag-last-bit"]; first.Status != tt.first || last.Status != tt.last {
			t.Errorf("%s: first bit %s, came %q; last bit %s, came %q", tt.desc, first.Status, first.Got, last.Status, last.Got)
		}
	}
	named := func(f *fakeConn) {
		record := lends
		record.ReadOnly.STag = record.Region.STag ^ 1
		f.startup(record)
		f.next()
		f.send(opSend, []byte("still there?"))
		<-f.over
	}
	if r := against(t, Responder, named, "5041/7.2/stag-last-bit")["5041/7.2/stag-last-bit"]; r.Status != StatusSkip {
		t.Errorf("an STag that the peer has named: %s, came %q", r.Status, r.Got)
	}
}
