package extsock

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A PanicError says that a connection ended because of a panic in this module, in a Tap or in a
// trace handler. The program goes on. Stats.Panics counts such panics in DDP mode, and TotalStats
// also those during startup. A panic in this module is a bug.
type PanicError struct {
	Value any    // the value that was passed to panic
	Stack []byte // the stack of the panic, as debug.Stack returns it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// maxPanics is how many panics of one connection are recovered. After more than that, its orderly
// end cannot be reached.
const maxPanics = 4

// panicked counts a panic of the connection and returns it as an error.
func (p *pump) panicked(value any) error {
	if p.count.panics.Add(1) > maxPanics {
		panic(value)
	}
	e := &PanicError{Value: value, Stack: debug.Stack()}
	// The trace handler itself may have panicked.
	defer func() { _ = recover() }()
	p.cfg.trace.warn("panic", "value", fmt.Sprint(value), "stack", string(e.Stack))
	return e
}

// drainPanicked ends a connection that has panicked while it was sending. The caller holds the
// transmit token. Data that was to be written is lost.
func (p *pump) drainPanicked(value any) {
	err := p.panicked(value)
	p.tx.mu.Lock()
	p.tx.batch, p.tx.full, p.tx.left, p.tx.middle, p.tx.done = nil, false, nil, false, 0
	p.tx.loan.end()
	p.tx.mu.Unlock()
	p.kill(err)
}

// startupPanics is the number of panics during MPA startup, in the whole process.
var startupPanics atomic.Uint64

// guarded calls f. If f panics, guarded returns a *PanicError.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			startupPanics.Add(1)
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}
