package ddp

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestPlaceApart checks that it makes no difference whether a segment's payload lies behind its
// header: the same bytes are placed, and the same segments fail.
func TestPlaceApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5041, 3))
	for range 200 {
		behind, apart := newPair(t), newPair(t)
		var got [2][]byte
		var errs [2]error
		seed := rnd.Uint64()
		for i, p := range []*pair{behind, apart} {
			rnd := rand.New(rand.NewPCG(seed, 1))
			memory := make([]byte, 5000)
			r := p.register(memory, RemoteWrite)
			p.move(r, 7, 1000)
			buffers := []guarded{p.post(QNSend, 3000, 1), p.post(QNSend, 3000, 2)}
			tx := new(Sender)
			for range 6 {
				m := write(r, uint64(rnd.IntN(3000)), randomBytes(rnd, rnd.IntN(2000)))
				if rnd.IntN(3) == 0 {
					m = send(randomBytes(rnd, rnd.IntN(3200)))
				}
				for _, u := range cut(tx, &m, 100+rnd.IntN(2000)) {
					if rnd.IntN(40) == 0 {
						u[rnd.IntN(len(u))] ^= 1 << rnd.IntN(8)
					}
					if i == 0 {
						p.place(u)
						continue
					}
					n := min(headerLen(u), len(u))
					p.r.PlaceApart(p.off, bytes.Clone(u[:n]), bytes.Clone(u[n:]))
					p.off += fpduLen(u)
				}
			}
			for p.r.Deliver(p.off) {
				got[i] = append(got[i], p.r.Message().Buffer...)
			}
			errs[i] = p.r.Err()
			got[i] = append(got[i], memory...)
			for _, b := range buffers {
				if !b.intact() {
					t.Fatal("bytes outside of a buffer")
				}
			}
		}
		a, b := errs[0], errs[1]
		if !bytes.Equal(got[0], got[1]) || (a == nil) != (b == nil) || a != nil && a.Error() != b.Error() {
			t.Fatalf("seed %d: %v apart, %v else; the same bytes: %t", seed, b, a, bytes.Equal(got[0], got[1]))
		}
	}
}
