package ddp

import (
	"bytes"
	"testing"
)

// What is placed before its turn is a message like any other: "DDP MUST Place the ULP Payload
// contained in all valid incoming DDP Segments", and "DDP MUST provide" STag, RsvdULP and length
// "when the DDP Message is delivered". Every other segment comes early, the last one of the message
// included or not.
// DDP-5041-5.2-5, DDP-5041-4.2-8, DDP-5041-4.2-13, DDP-5041-4.3-8, DDP-5041-5.4-3, DDP-5041-5.4-4, DDP-5041-5.4-5
func TestRFC5041_5_4_PartlyEarly(t *testing.T) {
	data := randomBytes(seeded(t), 500)
	for first := range 2 {
		for _, rsvd := range []uint8{0x00, 0x5A, 0xA5, 0xFF} {
			p := newPair(t)
			g, posted := newGuarded(500), p.post(0, 500, 1)
			r := p.register(g.mem, RemoteWrite)
			w, s := write(r, 0, data), send(data)
			w.RsvdULP, s.RsvdULP, s.RsvdULP32 = rsvd, rsvd, 0x01010101*uint32(rsvd)
			for _, m := range []Message{w, s} {
				segments := cut(&p.s, &m, 118)
				begin := p.off
				var at []uint64
				for _, b := range segments {
					at = append(at, p.off)
					p.off += fpduLen(b)
				}
				p.off = begin
				for i := first; i < len(segments); i += 2 {
					if !p.r.TryPlace(at[i], segments[i]) {
						t.Fatalf("segment %d is not placed early", i)
					}
				}
				for i, b := range segments {
					if i%2 == first {
						p.off += fpduLen(b)
						continue
					}
					p.place(b)
				}
				got := p.wantMessage("all segments have come")
				if got.Tagged != m.Tagged || got.RsvdULP != rsvd || got.RsvdULP32 != m.RsvdULP32 || got.Len != 500 || got.STag != m.STag {
					t.Errorf("delivered %+v, want %+v", got, m)
				}
			}
			if !bytes.Equal(g.mem, data) || !bytes.Equal(posted.mem, data) || !g.intact() || !posted.intact() {
				t.Errorf("other octets are placed: %x, %x", g.all, posted.all)
			}
		}
	}
}
