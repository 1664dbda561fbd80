package extsock_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestRendezvousHasty: as TestStreamDeadlines, where Writes are offered and Reads grant their memory, and either is
// over at any point of that.
func TestRendezvousHasty(t *testing.T) {
	rounds, calls := uint64(300), 12
	if extsock.Slow() {
		rounds = 60
	}
	if testing.Short() {
		rounds = 15
	}
	var offers, octets uint64
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			wire := simtoe.Config{Seed: seed, Window: []int{5000, 100_000, 400_000}[seed%3], Delay: time.Duration(seed%4) * 500 * time.Microsecond}
			if seed%5 == 0 {
				wire.Split, wire.Early = true, 0.3
			}
			i, r := alwaysOffers(6), alwaysOffers(32)
			i.cfg.Markers = seed%2 == 0
			r.cfg.Markers = i.cfg.Markers
			ci, cr := simPair(t, wire, i, r)
			var all sync.WaitGroup
			var sent, got [2]int
			for i, c := range []*extsock.Conn{ci, cr} {
				all.Go(func() {
					sent[i] = writeHasty(t, c, 100*i, calls, newLengths(seed+uint64(i), 800_000))
					c.SetWriteDeadline(time.Time{})
					if err := c.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() { got[i] = readHasty(t, c, 100*(1-i), newLengths(seed+uint64(i)+2, 900_000)) })
			}
			all.Wait()
			if sent[0] != got[1] || sent[1] != got[0] {
				t.Errorf("seed %d: %v octets were counted, %v have come", seed, sent, got)
			}
			for _, c := range []*extsock.Conn{ci, cr} {
				s := c.Stats()
				offers += s.Offers
				octets += s.RendezvousOctets
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
	if t.Logf("%d offers, %d octets by rendezvous", offers, octets); octets == 0 {
		t.Error("the test is wrong: there was no rendezvous")
	}
}
