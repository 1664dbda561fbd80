//go:build amd64 || arm64

package run

import (
	"sync/atomic"
	"time"
)

// A signal does not interrupt a call that the supervisor has begun to answer: see seccomp's
// install. So a call that waits for long looks for signals now and then, or it would hold up a
// handler of the program. Nothing tells the supervisor of a signal for another process.

const (
	// signalPoll is how often a call looks for signals, if few calls wait.
	signalPoll = 50 * time.Millisecond
	// looksMost is how many calls look in that time. More calls look less often each, so that what
	// they take of the processor does not grow with their number.
	looksMost = 8
)

// looks counts the calls that wait and look for signals.
type looks struct{ n atomic.Int64 }

// enter counts one more call, and returns its interval.
func (l *looks) enter() time.Duration {
	l.n.Add(1)
	return l.interval()
}

func (l *looks) leave() { l.n.Add(-1) }

// interval returns after what time a call is to look.
func (l *looks) interval() time.Duration {
	return max(signalPoll, signalPoll*time.Duration(l.n.Load())/looksMost)
}
