package counters

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/rdmap"
)

// enlist returns n connections that have each counted an FPDU. They end with the test.
func enlist(t testing.TB, n int) []*Counters {
	all := make([]*Counters, n)
	for i := range all {
		all[i] = new(Counters)
		all[i].Enlist(nil)
		all[i].Add(Received+FPDUs, 1)
	}
	t.Cleanup(func() {
		for _, c := range all {
			if c.IsLive() {
				c.Retire(false)
			}
		}
	})
	return all
}

// since returns how much more of kind k the process has counted than before.
func since(before Sums, k Kind) uint64 {
	sum, _, _, _ := Totals()
	return sum[k] - before[k]
}

// changed returns how many connections the next Totals has to look at.
func changed() int {
	live.mu.Lock()
	defer live.mu.Unlock()
	return live.changed.len
}

// TestTotalsOfQuietConnections: Totals looks only at the connections that have counted since the
// last call, and allocates nothing.
func TestTotalsOfQuietConnections(t *testing.T) {
	before, _, _, _ := Totals()
	all := enlist(t, 3*atOnce)
	if n := changed(); n != len(all) {
		t.Errorf("%d of %d new connections are to be added up", n, len(all))
	}
	if n := since(before, Received+FPDUs); n != uint64(len(all)) {
		t.Errorf("%d counted, want %d", n, len(all))
	}
	if n := changed(); n != 0 {
		t.Errorf("%d are to be added up after Totals", n)
	}
	all[5].Add(Stalls, 2)
	all[7].Set(Sent+Octets, 100)
	all[5].Message(Sent, rdmap.Control(rdmap.OpSendSE))
	if n := changed(); n != 2 {
		t.Errorf("two have counted, and %d are to be added up", n)
	}
	all[5].Retire(false)
	if n := changed(); n != 1 {
		t.Errorf("one of two has ended, and %d are to be added up", n)
	}
	for k, want := range map[Kind]uint64{Stalls: 2, Sent + Octets: 100, Sent + Sends: 1} {
		if n := since(before, k); n != want {
			t.Errorf("%d of kind %d counted, want %d", n, k, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, c := range all[6:] {
			c.Add(Combined, 1)
		}
		Totals()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTotalsExact: the sums miss nothing and count nothing twice while connections begin, count and
// end, and another goroutine calls Totals all the time. No sum ever decreases.
func TestTotalsExact(t *testing.T) {
	const workers, rounds, adds = 4, 20, 200
	before, begun, open, failed := Totals()
	var work, ask sync.WaitGroup
	var over atomic.Bool
	for range 2 {
		ask.Go(func() {
			last := before
			for !over.Load() {
				sum, _, _, _ := Totals()
				for k := range sum {
					if sum[k] < last[k] {
						t.Errorf("kind %d fell from %d to %d", k, last[k], sum[k])
					}
				}
				last = sum
			}
		})
	}
	for range workers {
		work.Go(func() {
			for i := range rounds {
				var c Counters
				c.Enlist(nil)
				var late sync.WaitGroup
				late.Go(func() { // a Read, which may count after the end
					for range adds {
						c.Add(Copied, 3)
					}
				})
				for n := range uint64(adds) {
					c.Add(Received+FPDUs, 1)
					c.Set(Received+Octets, 10*(n+1))
				}
				c.Retire(i%2 == 0)
				late.Wait()
				if c.Load(Copied) != 3*adds {
					t.Errorf("%d octets copied, want %d", c.Load(Copied), 3*adds)
				}
			}
		})
	}
	work.Wait()
	over.Store(true)
	ask.Wait()
	for k, want := range map[Kind]uint64{Received + FPDUs: 1, Received + Octets: 10, Copied: 3} {
		if n := since(before, k); n != want*workers*rounds*adds {
			t.Errorf("%d of kind %d counted, want %d", n, k, want*workers*rounds*adds)
		}
	}
	_, b, o, f := Totals()
	if b -= begun; b != workers*rounds || o != open || f-failed != workers*rounds/2 {
		t.Errorf("%d have begun, %d are open and %d have failed, want %d, %d and %d", b, o, f-failed, workers*rounds, open, workers*rounds/2)
	}
	if n := changed(); n != 0 {
		t.Errorf("%d are to be added up at the end", n)
	}
}

// BenchmarkTotals calls Totals with connections of which none has counted since the last call, or
// all have. The result includes the time of these counts.
func BenchmarkTotals(b *testing.B) {
	for _, n := range []int{0, 1000, 4000} {
		b.Run(fmt.Sprintf("quiet=%d", n), func(b *testing.B) {
			enlist(b, n)
			Totals()
			b.ReportAllocs()
			for b.Loop() {
				Totals()
			}
		})
		b.Run(fmt.Sprintf("busy=%d", n), func(b *testing.B) {
			all := enlist(b, n)
			Totals()
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range all {
					c.Add(Received+FPDUs, 1)
				}
				Totals()
			}
		})
	}
}

// BenchmarkAdd measures what one count costs on the data path.
func BenchmarkAdd(b *testing.B) {
	c := enlist(b, 1)[0]
	for b.Loop() {
		c.Add(Received+FPDUs, 1)
	}
}
