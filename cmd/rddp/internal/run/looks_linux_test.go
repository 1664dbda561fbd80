//go:build amd64 || arm64

package run

import (
	"testing"
	"time"
)

// The waiting calls together look for signals equally often, however many there are, and none more
// often than every 50 ms.
func TestLooks(t *testing.T) {
	var l looks
	const calls = 100 * looksMost
	for n := 1; n <= calls; n++ {
		got := l.enter()
		if got < signalPoll || n > looksMost && time.Duration(n)*signalPoll/got > looksMost {
			t.Fatalf("%d calls look every %v", n, got)
		}
	}
	for range calls - 1 {
		l.leave()
	}
	if got := l.interval(); got != signalPoll {
		t.Errorf("one call looks every %v", got)
	}
}
