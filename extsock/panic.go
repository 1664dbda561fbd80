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

// newPanicError makes an error of a panic, in the goroutine that has panicked.
func newPanicError(value any) error { return &PanicError{Value: value, Stack: debug.Stack()} }

// startupPanics is the number of panics during MPA startup, in the whole process.
var startupPanics atomic.Uint64

// guarded calls f. If f panics, guarded returns a *PanicError.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			startupPanics.Add(1)
			err = newPanicError(value)
		}
	}()
	return f()
}
