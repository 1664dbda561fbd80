// Package clock says which clock a Stack of toe/usertcp goes by: real time, or in tests a clock
// that the test turns.
package clock

import (
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// A Clock is the time of a Stack and of the links in memory. All timers of TCP are its timers.
type Clock interface {
	tcpip.Clock

	// Join says that time must not pass while a worker has something to do. settle waits until it
	// has nothing to do, and returns a number that has changed if the worker has given others
	// something to do. After leave, settle is not called any more.
	Join(settle func() uint64) (leave func())
}

// The clock of the Stacks and links that are made from now on; nil means real time.
var forTests atomic.Pointer[Clock]

// Set makes c the clock of all Stacks and links that are made from now on, or real time if c is
// nil. Only tests call it.
func Set(c Clock) {
	if c == nil {
		forTests.Store(nil)
		return
	}
	forTests.Store(&c)
}

// Get returns the clock of a new Stack or link.
func Get() Clock {
	if c := forTests.Load(); c != nil {
		return *c
	}
	return real{tcpip.NewStdClock()}
}

// real is real time, which passes whatever anybody has to do.
type real struct{ tcpip.Clock }

func (real) Join(func() uint64) (leave func()) { return func() {} }
