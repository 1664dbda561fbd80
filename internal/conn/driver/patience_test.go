package driver

import (
	"testing"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// TestPatience checks that one goroutine of the process polls at a time, and that a connection
// where polling found nothing does not poll.
func TestPatience(t *testing.T) {
	awaitImpatience(t)
	for _, fixed := range []time.Duration{time.Second, -1} {
		p := patience{fixed: fixed, bulk: true, luck: -1}
		if got := p.begin(time.Hour); got != min(max(fixed, 0), time.Millisecond) || patient.Load() {
			t.Errorf("with %v: patience of %v, for this one alone: %t", fixed, got, patient.Load())
		}
		p.end(false)
	}
	var b patience
	a := alone(t)
	if a.begin(shortWait+1) != 0 {
		t.Fatal("patience after a long wait")
	}
	if a.begin(0) == 0 {
		t.Fatal("no patience at first")
	}
	if b.begin(0) != 0 {
		t.Error("two have it at once")
	}
	b.end(true) // b did not poll
	if b.luck != 0 || !patient.Load() {
		t.Errorf("the end of nothing: luck %d, patient %v", b.luck, patient.Load())
	}
	a.end(true)
	for range 10 * maxLuck {
		if a.begin(0) == 0 {
			t.Fatal("no patience where it was rewarded")
		}
		a.end(true)
	}
	for i := range maxLuck + 1 {
		if a.begin(0) == 0 {
			t.Fatalf("no patience after it found nothing %d times", i)
		}
		a.end(false)
	}
	waits := 0
	for a.begin(0) == 0 {
		a.end(true)
		waits++
	}
	a.end(true)
	if want := unlucky + stillAlone; waits != want {
		t.Errorf("%d waits went without it, want %d", waits, want)
	}
	if patient.Load() {
		t.Error("somebody has it at the end")
	}
}

// alone returns the patience of a connection that may poll, because no other has waited recently.
func alone(t *testing.T) *patience {
	t.Helper()
	p := &patience{}
	if n := waitsWithout(p); n != stillAlone {
		t.Fatalf("%d waits of a new connection do not poll, want %d", n, stillAlone)
	}
	return p
}

// waitsWithout makes p wait until it polls, and returns how many waits did not poll.
func waitsWithout(p *patience) (n int) {
	for n < 2*aloneAgain && p.begin(0) == 0 {
		n++
	}
	p.end(true)
	return n
}

// TestPatienceOfOneAlone checks that a connection polls only while no other waits, and that it
// checks that again and again.
func TestPatienceOfOneAlone(t *testing.T) {
	awaitImpatience(t)
	a, b := alone(t), alone(t)
	if n := waitsWithout(a); n != 0 {
		t.Fatalf("%d waits did not poll, although the connection was alone before", n)
	}
	for _, others := range []int{0, 1, 3} {
		for polls := 0; a.begin(0) != 0; polls++ {
			a.end(true)
			if polls > lonePolls {
				t.Fatal("a connection polls without end")
			}
		}
		for range others {
			b.begin(shortWait + 1)
		}
		want := stillAlone - 1 // one wait was the end of the loop
		if others > 0 {
			want = aloneAgain
		}
		if n := waitsWithout(a); n != want {
			t.Errorf("%d waits did not poll after %d of another, want %d", n, others, want)
		}
	}
}

// TestNoPatienceAmongOthers checks that no connection polls in a process in which another waits now
// and then, once both have had time to notice.
func TestNoPatienceAmongOthers(t *testing.T) {
	awaitImpatience(t)
	a, b := alone(t), alone(t)
	polls := func(waits int) (n int) {
		for i := range waits {
			p := a
			if i%7 == 0 { // no divisor of how often a connection polls in a row
				p = b
			}
			if p.begin(0) != 0 {
				n++
				p.end(true)
			}
		}
		return n
	}
	if polls(20*lonePolls) == 0 {
		t.Error("a connection that was alone did not poll")
	}
	if n := polls(20 * lonePolls); n != 0 {
		t.Errorf("%d polls while others waited", n)
	}
}

// awaitImpatience waits for the connections of earlier tests, which may poll until they have ended.
func awaitImpatience(t *testing.T) {
	t.Helper()
	prototest.Wait(t, "the connections of earlier tests end", func() bool { return openDrivers() == 0 && !patient.Load() })
}

// A patientScript is a script that records the patience of each read.
type patientScript struct {
	script
	patience []time.Duration
}

func (s *patientScript) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	s.patience = append(s.patience, patience)
	return s.give(l.Lend())
}

// TestNoPatienceForBulkData checks that a Read with the receive role polls after a short read of
// the stream, and not after a long one.
func TestNoPatienceForBulkData(t *testing.T) {
	awaitImpatience(t)
	s := &patientScript{}
	d, _, _ := idleDriver(&s.script)
	d.rx.stream = s
	d.rx.patience = *alone(t)
	d.role.now.Store(uint32(byRead))
	for _, n := range []int{100, bulkFrom, 100, 100} {
		s.in = make([]byte, n)
		if k, _, err := d.rx.readSegment(forRead); k != n || err != nil {
			t.Fatalf("readSegment = %d, %v, want %d bytes", k, err, n)
		}
		d.rx.giveBack()
	}
	if p := s.patience; p[0] == 0 || p[1] == 0 || p[2] != 0 || p[3] == 0 {
		t.Errorf("patience %v, want none in the third read only", p)
	}
	if patient.Load() {
		t.Error("somebody polls at the end")
	}
}

// openDrivers returns how many drivers have not ended.
func openDrivers() uint64 {
	_, _, open, _ := counters.Totals()
	return open
}
