package driver

import (
	"sync/atomic"
	"time"
)

// A burst finds out whether calls of the program follow one another quickly: Writes of up to one
// message, or Posts. Then one write to TCP can take what several calls add. The zero value works.
// Any goroutine may call its methods.
type burst struct {
	calls atomic.Int32 // in the present burst
	prev  atomic.Int32 // in the burst before
}

// A call belongs to a burst when the program has come back within burstGap burstTimes in a row.
const (
	burstGap   = 20 * time.Microsecond
	burstTimes = 4
)

// IsQuick notes a call and reports whether it belongs to a burst. gap is the time since the end of
// the call before it. answers says that data has come from the peer since then: the call is
// probably the answer to that data, and another one does not follow.
func (b *burst) IsQuick(gap time.Duration, answers bool) bool {
	if answers || gap > burstGap {
		b.prev.Store(b.calls.Swap(0))
	}
	b.calls.Add(1)
	return b.IsOn()
}

// IsOn returns what the last IsQuick has reported.
func (b *burst) IsOn() bool { return b.calls.Load() > burstTimes }

// IsNext reports whether the burst before the present one had burstTimes calls or more. Then the
// present burst probably becomes as long, and its first calls need not find that out again.
func (b *burst) IsNext() bool { return b.prev.Load() >= burstTimes }
