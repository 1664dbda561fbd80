package driver

import (
	"fmt"
	"runtime/debug"
)

// maxPanics is the maximum number of panics of one connection that are recovered. A connection with
// more panics cannot reach an orderly end.
const maxPanics = 4

// panicked counts a panic of the connection and returns it as an error.
func (d *Driver) panicked(value any) error {
	if d.count.Panics.Add(1) > maxPanics || d.cfg.Panicked == nil {
		panic(value)
	}
	err := d.cfg.Panicked(value)
	// The trace handler itself may have panicked.
	defer func() { _ = recover() }()
	d.cfg.Trace.Warn("panic", "value", fmt.Sprint(value), "stack", string(debug.Stack()))
	return err
}

// protect calls f, which calls code of the program while the connection ends. If f panics, protect
// counts the panic, and the connection ends as it would have.
func (d *Driver) protect(f func()) {
	defer func() {
		if value := recover(); value != nil {
			_ = d.panicked(value) // the connection has another reason to end
		}
	}()
	f()
}

// tracePanicked ends the connection whose trace handler has panicked. The caller of the trace may
// hold locks, so another goroutine does it.
func (d *Driver) tracePanicked(value any) {
	err := d.panicked(value)
	go d.Kill(err)
}

// drainPanicked ends a connection that has panicked while it was sending. The caller holds the
// transmit token. The bytes of the batch are lost.
func (d *Driver) drainPanicked(value any) {
	err := d.panicked(value)
	d.tx.ddp.Release() // the Region that it may hold is not used any more
	d.tx.batch = nil
	d.tx.abandon()
	d.tx.loan.end()
	d.Kill(err)
}
