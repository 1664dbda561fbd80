// Package panics makes errors of panics, where a goroutine or a timer of ours runs code that may
// panic: that of the program most of all. docs/goroutines.md lists these places.
package panics

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// An Error is a panic that was recovered. Its text has the stack, because such a panic is a bug: in
// this module, or in code of the program that this module calls.
type Error struct {
	value   any // that was passed to panic
	stack   []byte
	claimed atomic.Bool
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.value, e.stack) }

// count is the number of Errors that nobody has claimed, in the whole process.
var count atomic.Int64

// New makes an Error of a panic, in the goroutine that has panicked. Count counts it until it is
// claimed.
func New(value any) *Error {
	count.Add(1)
	return &Error{value: value, stack: debug.Stack()}
}

// Claim reports whether the caller must count the panic from now on. Only the first call returns
// true; Count does not count the panic any more.
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

// Forget forgets the panics that a test has brought about on purpose.
func Forget() { count.Store(0) }
