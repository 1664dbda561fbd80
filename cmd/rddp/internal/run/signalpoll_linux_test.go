//go:build amd64 || arm64

package run

import (
	"testing"
	"time"
)

// The waiting calls together look for signals equally often, however many there are, and none more
// often than every 50 ms.
func TestLooks(t *testing.T) {
	var l signalPollers
	const calls = 100 * pollersMost
	for n := 1; n <= calls; n++ {
		got := l.enter()
		if got < signalPoll || n > pollersMost && time.Duration(n)*signalPoll/got > pollersMost {
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
