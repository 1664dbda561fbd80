package toe

import (
	"runtime"
	"sync"
	"sync/atomic"
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
	for _, way := range []Watching{WatchInside, WatchOutside} {
		g, c := NewGate(way), &counted{opened: make(chan struct{})}
		if n := testing.AllocsPerRun(100, func() { g.Leave(c); g.Open(); <-c.opened }); n != 0 {
			t.Errorf("%v: %v allocations of one who leaves", way, n)
		}
	}
}

// A counted counts the goroutines that a Gate starts, one at a time.
type counted struct {
	runs   atomic.Int32
	opened chan struct{} // for each
}

func (c *counted) GateOpened() {
	c.runs.Add(1)
	c.opened <- struct{}{}
}

// TestGateThatIsLeft: an opening after Leave starts one goroutine, and an opening before it lets
// the goroutine that would leave go on. No opening is lost, and none counts twice.
func TestGateThatIsLeft(t *testing.T) {
	for _, way := range []Watching{WatchInside, WatchOutside} {
		g, c := NewGate(way), &counted{opened: make(chan struct{})}
		g.Open()
		if !g.Leave(c) {
			t.Fatalf("%v: the Gate was open", way)
		}
		for round := range int32(3) {
			if g.Leave(c) {
				t.Fatalf("%v: the Gate was shut", way)
			}
			g.Open()
			<-c.opened
			if n := c.runs.Load(); n != round+1 {
				t.Fatalf("%v: %d goroutines, want %d", way, n, round+1)
			}
		}
		g.Open()
		g.Open()
		g.Wait()
		if g.Leave(c) || c.runs.Load() != 3 {
			t.Fatalf("%v: an opening counted twice", way)
		}
	}
}

// A visitor leaves a Gate whenever nothing is new, and looks again when it has come back.
type visitor struct {
	g       *Gate
	n       atomic.Int64 // changed before each Open
	seen    int64        // the visitor's
	here    atomic.Int32 // goroutines of the visitor
	want    int64
	done    chan struct{}
	tooMany atomic.Bool
}

func (v *visitor) GateOpened() {
	if v.here.Add(1) != 1 {
		v.tooMany.Store(true)
	}
	for {
		if v.seen = v.n.Load(); v.seen == v.want {
			close(v.done)
			return
		}
		v.here.Add(-1)
		if !v.g.Leave(v) {
			return
		}
		v.here.Add(1)
	}
}

// TestGateLeftLosesNothing: a visitor that leaves after each look sees all that others did before
// they opened the Gate, and never has two goroutines.
func TestGateLeftLosesNothing(t *testing.T) {
	for _, way := range []Watching{WatchInside, WatchOutside} {
		v := &visitor{g: NewGate(way), want: 20_000, done: make(chan struct{})}
		v.GateOpened() // nothing is new: it leaves, and the first Open finds it away
		var wg sync.WaitGroup
		const openers, pause = 5, 500
		for i := range openers {
			wg.Go(func() {
				for j := range v.want / openers {
					v.n.Add(1)
					v.g.Open()
					if i%2 == 0 {
						runtime.Gosched()
					}
					for j%pause == 0 && v.here.Load() != 0 {
						runtime.Gosched() // until it leaves again
					}
				}
			})
		}
		wg.Wait()
		<-v.done
		if v.tooMany.Load() {
			t.Errorf("%v: two goroutines", way)
		}
	}
}
