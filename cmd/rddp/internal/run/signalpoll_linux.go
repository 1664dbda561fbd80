//go:build amd64 || arm64

package run

import (
	"sync/atomic"
	"syscall"
	"time"
)

// A signal does not interrupt a call that the supervisor has begun to answer: see seccomp's
// install. A long wait would therefore delay the program's signal handler. The supervisor is not
// notified of signals for another process, so each waiting call checks for them periodically.

const (
	// signalPoll is the interval at which a call checks for signals, if few calls wait.
	signalPoll = 50 * time.Millisecond
	// pollersMost is the number of calls that check once in each signalPoll. If there are more
	// calls, each checks less often, so the processor time stays the same.
	pollersMost = 8
)

// restart is ERESTARTSYS. When a signal is pending for the thread, the kernel has the thread make
// the call again, or ends it by EINTR if a handler without SA_RESTART runs.
const restart syscall.Errno = 512

// signalPollers counts the waiting calls that check for signals.
type signalPollers struct{ n atomic.Int64 }

// enter counts one more call, and returns the interval.
func (l *signalPollers) enter() time.Duration {
	l.n.Add(1)
	return l.interval()
}

func (l *signalPollers) leave() { l.n.Add(-1) }

// interval returns the time between two checks of a call.
func (l *signalPollers) interval() time.Duration {
	return max(signalPoll, signalPoll*time.Duration(l.n.Load())/pollersMost)
}
