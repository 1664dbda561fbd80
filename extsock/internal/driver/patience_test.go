package driver

import (
	"testing"
	"time"
)

// TestPatience checks that one goroutine of the process polls at a time, and that a connection
// where polling was in vain does not poll.
func TestPatience(t *testing.T) {
	// The connections of earlier tests may poll until they have ended.
	for end := time.Now().Add(time.Minute); openDrivers() > 0 || patient.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("connections of earlier tests have not ended within a minute")
		}
	}
	var a, b patience
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
			t.Fatalf("no patience after it was in vain %d times", i)
		}
		a.end(false)
	}
	waits := 0
	for a.begin(0) == 0 {
		a.end(true)
		waits++
	}
	a.end(true)
	if waits != unlucky {
		t.Errorf("%d waits went without it, want %d", waits, unlucky)
	}
	if patient.Load() {
		t.Error("somebody has it at the end")
	}
}

// openDrivers returns how many drivers have not ended.
func openDrivers() uint64 {
	var sum Counters
	_, open := Totals(&sum)
	return open
}
