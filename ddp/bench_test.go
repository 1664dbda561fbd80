package ddp

import (
	"fmt"
	"testing"
)

func BenchmarkSender(b *testing.B) {
	for _, size := range []int{64, 1400, 64 << 10, 1 << 20} {
		for _, mulpdu := range []int{1448, 64768} {
			b.Run(fmt.Sprintf("size=%d/mulpdu=%d", size, mulpdu), func(b *testing.B) {
				var s Sender
				m := send(make([]byte, size))
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for s.Start(&m); s.Next(mulpdu); s.Release() {
						_ = s.Segment()
					}
				}
			})
		}
	}
}

// The first payload is small, to show the cost of everything but the copy.
var benchPayloads = []int{8, 1400, 64 << 10}

func BenchmarkPlaceTagged(b *testing.B) {
	for _, size := range benchPayloads {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p := newPair(b)
			r := p.register(make([]byte, size), RemoteWrite)
			ulpdu := append(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}.AppendTo(nil), make([]byte, size)...)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				p.r.Place(p.off, ulpdu)
				p.off += fpduLen(ulpdu)
				if !p.r.Deliver(p.off) {
					b.Fatal(p.r.Err())
				}
			}
		})
	}
}

func BenchmarkPlaceUntagged(b *testing.B) {
	for _, size := range benchPayloads {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			p := newPair(b)
			h := UntaggedHeader{Last: true, MSN: 1}
			ulpdu := append(h.AppendTo(nil), make([]byte, size)...)
			buffer := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := post(p.queues[0], nil, buffer, 1); err != nil {
					b.Fatal(err)
				}
				h.AppendTo(ulpdu[:0])
				h.MSN++
				p.r.Place(p.off, ulpdu)
				p.off += fpduLen(ulpdu)
				if !p.r.Deliver(p.off) {
					b.Fatal(p.r.Err())
				}
			}
		})
	}
}

// BenchmarkPlaceAmongEarly places segments in order while the maximum number of segments is placed
// early.
func BenchmarkPlaceAmongEarly(b *testing.B) {
	p := newPair(b)
	r := p.register(make([]byte, 4096), RemoteWrite)
	h := TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}
	for i := range uint64(maxEarly) {
		early := TaggedHeader{STag: r.STag(), TO: r.TO() + 8 + i}.AppendTo(nil)
		if !p.r.TryPlace(1<<60+i, append(early, 1)) {
			b.Fatal("not placed early")
		}
	}
	ulpdu := append(h.AppendTo(nil), make([]byte, 8)...)
	b.ReportAllocs()
	for b.Loop() {
		p.r.Place(p.off, ulpdu)
		p.off += fpduLen(ulpdu)
		if !p.r.Deliver(p.off) {
			b.Fatal(p.r.Err())
		}
	}
}
