package driver

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/toe/simtoe"
)

// TestStreamEndGivesMemoryBack checks that a connection that has ended keeps no memory of copied
// Writes, whether these were posted or not.
func TestStreamEndGivesMemoryBack(t *testing.T) {
	for _, fenced := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			a, b, _ := streamPair(sa, sb)
			synctest.Wait()
			a.tx.fenced.Store(fenced)
			if !fenced { // the request is posted, but not sent
				if !a.tx.token.tryTake() {
					t.Fatal("the token is taken on an idle connection")
				}
			}
			if n, err := a.Write([]byte("never sent"), nil); n != 10 || err != nil {
				t.Fatal(n, err)
			}
			if !fenced {
				a.tx.postStream()
				a.tx.token.free()
			}
			copies := func() int {
				a.bytes.mu.Lock()
				defer a.bytes.mu.Unlock()
				return a.bytes.tx.Copies()
			}
			if n := copies(); n != 1 {
				t.Errorf("fenced %v: %d copies before the end, want 1", fenced, n)
			}
			failure := errors.New("the end")
			a.Kill(failure)
			synctest.Wait()
			if s := a.end.life.state(); s != lifeClosed {
				t.Errorf("fenced %v: the connection is %v", fenced, s)
			}
			if n := copies(); n != 0 {
				t.Errorf("fenced %v: %d copies after the end", fenced, n)
			}
			if n, err := a.Write([]byte("more"), nil); n != 0 || !errors.Is(err, failure) {
				t.Errorf("fenced %v: Write after the end = %d, %v", fenced, n, err)
			}
			b.Kill(failure)
			synctest.Wait()
		})
	}
}

// TestWriteThatThePeerHasRead checks that a long Write succeeds if the peer has read all of it and
// then closes in order before the goroutine of the Write runs again. Data and a rendezvous differ
// in which end sends the last message.
func TestWriteThatThePeerHasRead(t *testing.T) {
	for _, tt := range []struct {
		name         string
		n, crossover int
	}{
		{"data", 20 * machineSize, 0},
		{"rendezvous", machineOffer, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(true)
			a, b := m.ends[0], m.ends[1]
			b.arrive(math.MaxInt)
			b.beginRead(2*machineOffer, false)
			a.beginWrite(tt.n, tt.crossover)
			if a.write == nil {
				t.Fatal("the Write does not wait")
			}
			for len(b.got) < tt.n { // the Write does not look, but its bytes go out
				before := len(b.got)
				b.arrive(math.MaxInt)
				b.goOn(t)
				if b.read == nil && len(b.got) < tt.n {
					b.beginRead(2*machineOffer, false)
				}
				a.arrive(math.MaxInt)
				if a.d.bytes.due.Load() {
					a.d.transmit()
				}
				if len(b.got) == before && len(b.s.in) == 0 {
					t.Fatalf("%d of %d bytes have arrived, and no more come", before, tt.n)
				}
			}
			b.beginClose()
			b.goOn(t)
			a.arrive(math.MaxInt)
			if !a.d.end.peerLeft() {
				t.Fatalf("the connection is %v", a.d.end.life.state())
			}
			if ended, _, _, n, err := a.d.writer.look(true); !ended || n != tt.n || err != nil {
				t.Errorf("look = %v, %d of %d bytes, %v", ended, n, tt.n, err)
			}
			a.writeOver(tt.n)
			if err := m.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWriteAfterTheEnd checks that a long Write fails if TCP has taken the last of it only after
// the peer has closed in order: the peer does not read these bytes.
func TestWriteAfterTheEnd(t *testing.T) {
	for _, left := range []bool{false, true} {
		m := newMachine(true)
		a, b := m.ends[0], m.ends[1]
		b.arrive(math.MaxInt)
		a.takes(0)
		const n = 3 * machineSize
		a.beginWrite(n, 0)
		if a.write == nil || a.rest == restNone {
			t.Fatal("the Write does not wait for TCP")
		}
		a.goOn(t) // up to the wait
		if left {
			b.beginClose()
			b.goOn(t)
			a.arrive(math.MaxInt)
		}
		a.takes(math.MaxInt)
		a.d.tx.token.pickUp()
		a.writeRest()
		if a.d.end.peerLeft() != left {
			t.Fatalf("the connection is %v", a.d.end.life.state())
		}
		ended, _, _, k, err := a.d.writer.look(true)
		if !ended || k != n || (err != nil) != left {
			t.Errorf("the peer has left %v: look = %v, %d of %d bytes, %v", left, ended, k, n, err)
		}
		a.writeOver(k)
		if err := m.end(); err != nil {
			t.Error(err)
		}
	}
}

// goOn continues everything that is woken at this end.
func (e *machineEnd) goOn(t *testing.T) {
	t.Helper()
	for rounds := 0; e.poke(); rounds++ {
		if rounds > 10_000 {
			t.Fatalf("%s goes on forever", e.name)
		}
	}
}

// TestEndGivesBurstMemoryBack checks that a connection that ends in the middle of a burst of Writes
// gives back what the burst has taken from the budget, although its messages were never posted.
func TestEndGivesBurstMemoryBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, _ := streamPair(sa, sb)
		synctest.Wait()
		a.tx.fenced.Store(true)
		before := MemoryReserved()
		for range 20 {
			if n, err := a.Write(make([]byte, 5000), nil); n != 5000 || err != nil {
				t.Fatal(n, err)
			}
		}
		if n := MemoryReserved() - before; n != aheadCost {
			t.Errorf("a burst has taken %d bytes, want %d", n, aheadCost)
		}
		failure := errors.New("the end")
		a.Kill(failure)
		synctest.Wait()
		if n := MemoryReserved() - before; n != 0 {
			t.Errorf("%d bytes are still taken after the end", n)
		}
		b.Kill(failure)
		synctest.Wait()
	})
}
