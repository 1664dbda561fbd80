package extsock

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// A panicError says that a connection ended because of a panic in this module, in a Tap or in a
// trace handler. Its text has the stack, because a panic in this module is a bug. The program goes
// on. stats.Counts.Panics counts such panics in DDP mode, and TotalStats also those during startup.
type panicError struct {
	value any // that was passed to panic
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.value, e.stack) }

// newPanicError makes an error of a panic, in the goroutine that has panicked.
func newPanicError(value any) error { return &panicError{value, debug.Stack()} }

// startupPanics is the number of panics during MPA startup, in the whole process.
var startupPanics atomic.Uint64

// guarded calls f. If f panics, guarded returns a *panicError.
func guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			startupPanics.Add(1)
			err = newPanicError(value)
		}
	}()
	return f()
}
