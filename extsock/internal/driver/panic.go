package driver

import (
	"fmt"
	"runtime/debug"

	"github.com/rddp/rddp/extsock/internal/counters"
	"github.com/rddp/rddp/extsock/internal/observe"
)

// maxPanics is the maximum number of panics of one connection that are recovered. A connection with
// more panics cannot reach an orderly end.
const maxPanics = 4

// A recovery makes errors of the panics of a connection. Any goroutine may call its methods.
type recovery struct {
	count   *counters.Counters
	toError func(value any) error // Config.Panicked
	trace   *observe.Trace        // nil: none
}

// panicked counts a panic of the connection and returns it as an error.
func (r *recovery) panicked(value any) error {
	if r.count.Panics.Add(1) > maxPanics || r.toError == nil {
		panic(value)
	}
	err := r.toError(value)
	// The trace handler itself may have panicked.
	defer func() { _ = recover() }()
	r.trace.Warn("panic", "value", fmt.Sprint(value), "stack", string(debug.Stack()))
	return err
}

// protect calls f, which calls code of the program while the connection ends. If f panics, protect
// counts the panic, and the connection ends as it would have.
func (r *recovery) protect(f func()) {
	defer func() {
		if value := recover(); value != nil {
			_ = r.panicked(value) // the connection has another reason to end
		}
	}()
	f()
}

// tracePanicked ends the connection whose trace handler has panicked. The caller of the trace may
// hold locks, so another goroutine does it.
func (d *Driver) tracePanicked(value any) {
	err := d.recovery.panicked(value)
	d.background.Go(func() { d.Kill(err) })
}
