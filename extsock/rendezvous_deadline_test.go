package extsock_test

import (
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestRendezvousHasty: as TestStreamDeadlines, where Writes are offered and Reads grant their
// memory, and either is over at any point of that.
func TestRendezvousHasty(t *testing.T) {
	rounds, calls := uint64(300), 12
	if testmode.Slow() {
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

// TestRendezvousTakenBackKeepsCredits: RDMA Writes use no credits, so those that are taken back
// when the time of their Write is over give none back. One too many, and the peer's next message
// would look like a lie.
func TestRendezvousTakenBackKeepsCredits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{})
		slow := &trickle{Conn: b}
		ci, cr := switched(t, a, slow, alwaysOffers(8), alwaysOffers(8))
		got := make(chan int, 1)
		go func() {
			n, err := cr.Read(make([]byte, 8<<20))
			if err != nil {
				t.Error(err)
			}
			got <- n
		}()
		synctest.Wait()
		slow.slow.Store(true)
		ci.SetWriteDeadline(time.Now().Add(5 * time.Second))
		n, err := ci.Write(make([]byte, 8<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n > 6<<20 {
			t.Fatalf("Write = %d, %v, want a part of it to have been taken back", n, err)
		}
		slow.slow.Store(false)
		if m := <-got; m != n {
			t.Errorf("Read = %d octets, want the %d that were counted", m, n)
		}
		if _, err := cr.Write([]byte("x")); err != nil { // gives all credits back
			t.Error(err)
		}
		if err := cr.CloseWrite(); err != nil {
			t.Error(err)
		}
		if p, err := io.ReadAll(ci); string(p) != "x" || err != nil {
			t.Errorf("the writer reads %q, %v", p, err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}
