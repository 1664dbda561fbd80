package ddp

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Whatever a peer sends, and in whatever order it is shown: no panic, no octet outside the buffers,
// each buffer delivered once, and nothing after an error.
//
// The input is a list of steps: what to do, how many octets the segment has, the segment.
func FuzzReceiver(f *testing.F) {
	step := func(what byte, ulpdu []byte) []byte { return append([]byte{what, byte(len(ulpdu))}, ulpdu...) }
	h := TaggedHeader{Last: true, RsvdULP: 0x40, STag: worldSTag, TO: worldTO}
	u := UntaggedHeader{RsvdULP: 0x43, MSN: 1}
	f.Add(append(step(0, append(h.AppendTo(nil), 1, 2, 3)), step(0, append(u.AppendTo(nil), 4, 5))...))
	f.Add(append(step(2, append(h.AppendTo(nil), 1, 2, 3)), step(1, append(u.AppendTo(nil), 4, 5))...))
	for _, v := range vectors {
		f.Add(step(0, unhex(v.hex)))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := newWorld(t)
		delivered := make(map[uint64]bool)
		for len(in) >= 2 {
			what, n := in[0], min(int(in[1]), len(in)-2)
			ulpdu := in[2:][:n:n]
			in = in[2+n:]
			if what%4 == 0 {
				w.place(ulpdu)
			} else { // early, this far ahead
				w.r.TryPlace(w.off+uint64(what/4)*8, ulpdu)
			}
			w.checkDeliveries(t, delivered)
		}
		for i, g := range w.memory {
			if !g.intact() {
				t.Errorf("octets around memory %d have changed: %x", i, g.all)
			}
		}
		w.checkSilence(t)
	})
}

func (w *world) checkDeliveries(t *testing.T, delivered map[uint64]bool) {
	for w.r.Deliver(w.off) {
		m := w.r.Message()
		if w.r.Err() != nil {
			t.Errorf("delivered after an error: %+v", m)
		}
		if m.Tagged {
			continue
		}
		if delivered[m.ID] || uint32(len(m.Buffer)) != m.Len || m.QN > QNReadRequest {
			t.Errorf("delivered %+v", m)
		}
		delivered[m.ID] = true
	}
}

// checkSilence checks, if there was an error, that good segments no longer have any effect.
func (w *world) checkSilence(t *testing.T) {
	if w.r.Err() == nil {
		return
	}
	before := bytes.Clone(w.memory[0].mem)
	h := TaggedHeader{Last: true, STag: worldSTag, TO: worldTO}.AppendTo(nil)
	w.place(binary.BigEndian.AppendUint64(h, ^binary.BigEndian.Uint64(before)))
	if w.r.Deliver(w.off) || !bytes.Equal(w.memory[0].mem, before) {
		t.Error("a segment after the error is placed or delivered")
	}
}
