package driver

import (
	"errors"
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
