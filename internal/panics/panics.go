// Package panics turns panics into errors, where a goroutine or a timer of this module runs code
// that may panic, above all code of the program. docs/goroutines.md lists these places.
package panics

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// An Error is a panic that was recovered. Its text contains the stack, because such a panic is a
// bug in this module, or in code of the program that this module calls.
type Error struct {
	value   any // the argument of panic
	stack   []byte
	claimed atomic.Bool
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.value, e.stack) }

// count is the number of Errors that nobody has claimed, in the whole process.
var count atomic.Int64

// New makes an Error from a panic, in the goroutine that has panicked. Count counts it until it is
// claimed.
func New(value any) *Error {
	count.Add(1)
	return &Error{value: value, stack: debug.Stack()}
}

// Claim reports whether the caller must count the panic from now on. Only the first call returns
// true; Count then no longer counts the panic.
func (e *Error) Claim() bool {
	if e.claimed.Swap(true) {
		return false
	}
	count.Add(-1)
	return true
}

// Guard calls f. If f panics, Guard returns an *Error.
func Guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = New(value)
		}
	}()
	return f()
}

// Count returns the number of panics that nobody has claimed.
func Count() uint64 { return uint64(max(count.Load(), 0)) }

// Forget forgets panics that a test has caused on purpose.
func Forget() { count.Store(0) }
