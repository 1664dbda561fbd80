package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestRendezvousHasty is TestStreamDeadlines with rendezvous: Writes are offered and Reads grant
// their memory, and either may end at any point.
func TestRendezvousHasty(t *testing.T) {
	const calls = 12
	var offers, octets uint64
	for seed := range uint64(testmode.Rounds(300, 20)) {
		bubble(t, func(t *testing.T) {
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

// TestRendezvousTakenBackKeepsCredits: RDMA Writes use no credits, so RDMA Writes that are taken
// back when the deadline of their Write passes give none back. With one credit too many, the peer's
// next message would look like a fault.
func TestRendezvousTakenBackKeepsCredits(t *testing.T) {
	bubble(t, func(t *testing.T) {
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

// TestRendezvousAfterCloseRead: after CloseRead, bytes that the peer places for a Read that has
// returned are discarded like messages, and count as lost: Close resets the connection.
func TestRendezvousAfterCloseRead(t *testing.T) {
	for _, closes := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			const size = 1 << 20
			wire := simtoe.Config{Timing: func() simtoe.Timing { return &secondLater{} }, Window: 2 * size}
			ci, cr := simPair(t, wire, alwaysOffers(8), alwaysOffers(8))
			got := make(chan error, 1)
			go func() {
				cr.SetReadDeadline(time.Now().Add(2500 * time.Millisecond)) // the offer has come, its data has not
				n, err := cr.Read(make([]byte, size))
				if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
					got <- nil
					return
				}
				got <- fmt.Errorf("Read = %d, %w", n, err)
			}()
			synctest.Wait()
			wrote := make(chan error, 1)
			go func() { _, err := ci.Write(make([]byte, size)); wrote <- err }()
			if err := <-got; err != nil {
				t.Fatal(err)
			}
			cr.SetReadDeadline(time.Time{})
			if closes {
				if err := cr.CloseRead(); err != nil {
					t.Fatal(err)
				}
			} else {
				if _, err := io.ReadFull(cr, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-wrote; err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if n := ci.Stats().RendezvousOctets; n != size {
				t.Fatalf("%d bytes went by rendezvous, want all %d", n, size)
			}
			cr.Close()
			want := io.EOF
			if closes {
				want = syscall.ECONNRESET
			}
			if n, err := ci.Read(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
				t.Errorf("CloseRead %t: the peer's Read = %d, %v, want %v", closes, n, err, want)
			}
			ci.Close()
			settle()
		})
	}
}

// A secondLater is a link on which bytes travel for a second.
type secondLater struct {
	arrived uint64
	way     []flight
}

// A flight is n bytes that arrive together.
type flight struct {
	at time.Duration
	n  int
}

func (s *secondLater) Send(now time.Duration, n int) {
	s.way = append(s.way, flight{now + time.Second, n})
}

func (s *secondLater) Advance(now time.Duration) (arrived uint64, next time.Duration, ok bool) {
	for len(s.way) > 0 && s.way[0].at <= now {
		s.arrived += uint64(s.way[0].n)
		s.way = s.way[1:]
	}
	if len(s.way) == 0 {
		return s.arrived, 0, false
	}
	return s.arrived, s.way[0].at, true
}
