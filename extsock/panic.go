package extsock

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A PanicError is a panic in this module, or in a Tap or trace handler, that ended its connection and not the
// program. It is a bug; Stats.Panics counts it.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // where, as debug.Stack gives it
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// maxPanics is how many panics a connection may have. More mean that its end can't be reached.
const maxPanics = 4

// panicked counts a panic of the connection and returns it as an error.
func (p *pump) panicked(value any) error {
	if p.count.panics.Add(1) > maxPanics {
		panic(value)
	}
	e := &PanicError{Value: value, Stack: debug.Stack()}
	// A trace handler may be what panics.
	defer func() { _ = recover() }()
	p.cfg.trace.warn("panic", "value", fmt.Sprint(value), "stack", string(e.Stack))
	return e
}

// drainPanicked ends a connection whose way down has panicked. The transmit token is held; what was to be written is
// lost.
func (p *pump) drainPanicked(value any) {
	err := p.panicked(value)
	p.tx.mu.Lock()
	p.tx.batch, p.tx.full, p.tx.left, p.tx.middle, p.tx.done = nil, false, nil, false, 0
	p.tx.loan.end()
	p.tx.mu.Unlock()
	p.kill(err)
}

// startupPanics counts the panics during MPA startup, of the whole process.
var startupPanics atomic.Uint64

// guarded is f, with a panic as its error.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			startupPanics.Add(1)
			err = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return f()
}
