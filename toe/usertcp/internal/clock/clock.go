// Package clock chooses the clock of a Stack of toe/usertcp: real time, or in tests a clock that
// the test advances.
package clock

import (
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// A Clock is the time of a Stack and of the links in memory. All timers of TCP are its timers.
type Clock interface {
	tcpip.Clock

	// Join says that time must not pass while a worker has work to do. settle waits until the
	// worker has none, and returns a number that has changed if the worker has given work to
	// others. After leave, settle is no longer called.
	Join(settle func() uint64) (leave func())
}

// forTests is the clock of new Stacks and links; nil means real time.
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

// real is real time, which does not wait for workers.
type real struct{ tcpip.Clock }

func (real) Join(func() uint64) (leave func()) { return func() {} }
