package toe

import (
	"sync"
	"testing"
	"testing/synctest"
)

// TestGateOpensOnce: a Gate holds one opening, however often it is opened.
func TestGateOpensOnce(t *testing.T) {
	var g Gate
	g.Wait() // the zero Gate is open
	g.Open()
	g.Open()
	g.Wait()
	if g.mu.TryLock() {
		t.Error("the Gate is still open")
	}
	g.Open()
	g.Wait()
}

// TestGateLosesNothing: a goroutine that waits after each look sees everything that others did
// before they opened the Gate.
func TestGateLosesNothing(t *testing.T) {
	const openers, times = 4, 5000
	var g Gate
	var mu sync.Mutex
	n := 0
	for range openers {
		go func() {
			for range times {
				mu.Lock()
				n++
				mu.Unlock()
				g.Open()
			}
		}()
	}
	for seen := 0; seen < openers*times; {
		g.Wait()
		mu.Lock()
		seen = n
		mu.Unlock()
	}
}

// TestGateHandsOver: everything before Open happens before Wait returns, without another lock. The
// race detector checks this.
func TestGateHandsOver(t *testing.T) {
	var there, back Gate
	there.Wait()
	back.Wait()
	n := 0
	go func() {
		for range 1000 {
			there.Wait()
			n++
			back.Open()
		}
	}()
	for i := range 1000 {
		n++
		there.Open()
		back.Wait()
		if n != 2*(i+1) {
			t.Fatalf("n = %d, want %d", n, 2*(i+1))
		}
	}
}

// TestGateOfABubble: a goroutine outside a bubble opens the Gate of one inside, and vice versa.
func TestGateOfABubble(t *testing.T) {
	var inside, outside Gate
	inside.Wait()
	outside.Wait()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			outside.Wait()
			inside.Open()
		}
	}()
	synctest.Test(t, func(*testing.T) {
		for range 100 {
			outside.Open()
			inside.Wait()
		}
	})
	<-done
}

func TestGateAllocatesNothing(t *testing.T) {
	var g Gate
	if n := testing.AllocsPerRun(100, func() { g.Wait(); g.Open() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
