package driver

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/panics"
)

// maxPanics is the maximum number of panics of run and drain together that are recovered in one
// connection. A panic there ends the connection, and the end calls them again, so a connection with
// more panics cannot reach an orderly end. Other code that panics is not called again, and has no
// limit.
const maxPanics = 4

// A recovery turns the panics of a connection into errors. Any goroutine may call its methods.
type recovery struct {
	count *counters.Counters
	again atomic.Int32 // panics of what is called again
	on    bool         // Config.Recover
	trace *observe.Trace
}

// repeated counts a panic of run or drain and returns it as an error.
func (r *recovery) repeated(value any) error {
	if r.again.Add(1) > maxPanics {
		panic(value)
	}
	return r.panicked(value)
}

// panicked counts a panic of the connection and returns it as an error.
func (r *recovery) panicked(value any) error {
	if !r.on {
		panic(value)
	}
	err := panics.New(value)
	r.claim(err)
	r.trace.Warn("panic", "value", fmt.Sprint(value), "stack", string(debug.Stack()))
	return err
}

// claim counts the panic that err reports, if any, unless it has been counted for a connection
// already. The layer below may have made the error.
func (r *recovery) claim(err error) {
	if e := (*panics.Error)(nil); errors.As(err, &e) && e.Claim() {
		r.count.Add(counters.Panics, 1)
	}
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
