package ddp

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// This file measures how the cost of an operation grows with the number of Regions in the Domain.
// The benchmarks report the time of one operation. The tests count allocations, bytes and tries.

// counts are the numbers of Regions of the benchmarks.
var counts = []int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000}

// registerMany registers n Regions over the same memory.
func registerMany(t testing.TB, d *Domain, n int) []*Region {
	mem := make([]byte, 64)
	all := make([]*Region, n)
	for i := range all {
		all[i] = register(t, d, mem, RemoteRead|RemoteWrite, stream)
	}
	return all
}

// BenchmarkRegisterAmongRegions registers and deregisters one more Region.
func BenchmarkRegisterAmongRegions(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("regions=%d", n), func(b *testing.B) {
			d := new(Domain)
			all := registerMany(b, d, n)
			mem := make([]byte, 64)
			b.ReportAllocs()
			for b.Loop() {
				register(b, d, mem, RemoteRead, stream).Deregister()
			}
			runtime.KeepAlive(all)
		})
	}
}

// BenchmarkPlaceAmongRegions places a segment in one of the Regions: in the same one each time, or
// in one after another, so that nothing of the Region is in a cache.
func BenchmarkPlaceAmongRegions(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("regions=%d", n), func(b *testing.B) {
			p := newPair(b)
			all := registerMany(b, p.domain, n)
			rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			ulpdu := make([]byte, TaggedHeaderLen+8)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				r := all[i%n]
				i++
				TaggedHeader{Last: true, STag: r.stag, TO: r.base}.AppendTo(ulpdu[:0])
				p.r.Place(p.off, ulpdu)
				p.off += fpduLen(ulpdu)
				if !p.r.Deliver(p.off) {
					b.Fatal(p.r.Err())
				}
			}
		})
	}
}

// A countingReader is a random source that counts the bytes taken from it.
type countingReader struct {
	*rand.ChaCha8
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	c.n += len(p)
	return c.ChaCha8.Read(p)
}

// A Domain with many Regions draws hardly more STags than Regions, needs a fixed number of bytes
// for each, and looks one up without an allocation.
func TestManyRegions(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	for _, n := range []int{100, 10_000, 200_000} {
		random := &countingReader{ChaCha8: rand.NewChaCha8([32]byte{seed})}
		d := &Domain{Random: random}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all := registerMany(t, d, n)
		runtime.ReadMemStats(&after)
		// Of 200,000 STags about 5 are drawn twice. A draw reads bytes for 32 Regions.
		if tries := random.n / keyLen; tries > n+n/1000+32 {
			t.Errorf("%d Regions: %d STags drawn", n, tries)
		}
		if testmode.Race {
			continue // the race detector allocates
		}
		if objects := float64(after.Mallocs-before.Mallocs) / float64(n); objects > 1.5 {
			t.Errorf("%d Regions: %.2f allocations each", n, objects)
		}
		if octets := float64(after.TotalAlloc-before.TotalAlloc) / float64(n); octets > maxRegionOctets {
			t.Errorf("%d Regions: %.0f bytes each", n, octets)
		}
		r := all[n/2]
		wantNoAllocs(t, fmt.Sprintf("Check among %d Regions", n), func() {
			if _, err := d.Check(r.stag, r.base, 8, RemoteRead, stream); err != nil {
				t.Error(err)
			}
		})
	}
}

// maxRegionOctets is the maximum number of bytes that a Region may need, without its memory and
// with its share of the growth of the Domain's table.
const maxRegionOctets = 400
