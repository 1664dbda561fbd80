package ping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
)

var (
	// ErrInterrupted means that the context was done before all pings were made.
	ErrInterrupted = errors.New("interrupted")
	// ErrNoReads means that the client's IRD is 0, so the server cannot read from it, and a ping is
	// impossible.
	ErrNoReads = errors.New("the client allows no RDMA Read (its IRD is 0), and a ping needs one")
	// ErrTooMany means that a server already serves its maximum number of clients.
	ErrTooMany = errors.New("too many clients")
	// ErrNoMemory means that the ping data of all clients of a server together needs too much
	// memory.
	ErrNoMemory = errors.New("the ping data of all clients needs too much memory")
	// ErrProtocol means that a message of the peer does not follow rping's protocol.
	ErrProtocol = errors.New("this is not rping's protocol")
)

// An Error describes the step at which a connection failed, in words for users. Err is the cause,
// for errors.Is and errors.As.
type Error struct {
	Ping int    // counted from 0; -1 before the first
	Step string // such as "waiting for the first go-ahead"
	Err  error
}

func (e *Error) Error() string {
	if e.Ping < 0 {
		return e.Step + ": " + words(e.Err)
	}
	return fmt.Sprintf("ping %d: %s: %s", e.Ping, e.Step, words(e.Err))
}

func (e *Error) Unwrap() error { return e.Err }

// A MismatchError describes the first received byte that differs from the sent one.
type MismatchError struct {
	Off       int // counted from 0
	Got, Want byte
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("byte %d came back as %#02x, but %#02x was sent", e.Off, e.Got, e.Want)
}

// A timeoutError means that a wait for the peer took too long.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }
func (e *timeoutError) Timeout() bool { return true }
func (e *timeoutError) Unwrap() error { return os.ErrDeadlineExceeded }

// bounded replaces a timeout in err by a timeoutError that names the time limit.
func bounded(err error, after time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &timeoutError{after}
	}
	return err
}

// words returns the text of err in one line and without addresses, because the step names them
// where useful.
func words(err error) string {
	if e := (*timeoutError)(nil); errors.As(err, &e) {
		return e.Error()
	}
	return errtext.Text(err)
}
