package ping

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

var (
	// ErrInterrupted means that the context was done before all pings were made.
	ErrInterrupted = errors.New("interrupted")
	// ErrNoReads means that the client lets nobody read from it: its IRD is 0. No ping works then.
	ErrNoReads = errors.New("the client allows no RDMA Read (its IRD is 0), and a ping needs one")
	// ErrTooMany means that a server serves as many clients as it can at the moment.
	ErrTooMany = errors.New("too many clients")
	// ErrProtocol means that the peer's message is none of rping's.
	ErrProtocol = errors.New("this is not rping's protocol")
)

// An Error says at what step a connection failed, in words for a person. Err is what failed:
// errors.Is and errors.As see it.
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

// A MismatchError is the first octet that came back other than it was sent.
type MismatchError struct {
	Off       int // counted from 0
	Got, Want byte
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("octet %d came back as %#02x, but %#02x was sent", e.Off, e.Got, e.Want)
}

// A timeoutError is a wait for the peer that was too long.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }
func (e *timeoutError) Timeout() bool { return true }
func (e *timeoutError) Unwrap() error { return os.ErrDeadlineExceeded }

// bounded gives the error of something that was to be over after so long.
func bounded(err error, after time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return &timeoutError{after}
	}
	return err
}

// words gives err without the addresses, which the step names where they help, and in one line.
func words(err error) string {
	if e := (*mpa.RejectError)(nil); errors.As(err, &e) {
		if len(e.PrivateData) == 0 {
			return "the peer rejected the connection"
		}
		return fmt.Sprintf("the peer rejected the connection and says %q", e.PrivateData)
	}
	if e := (*rdmap.TerminateError)(nil); errors.As(err, &e) {
		if e.Remote {
			return "the peer ended the connection with a Terminate: " + e.Terminate.Code.String()
		}
		return "ended the connection with a Terminate: " + e.Err.Error()
	}
	for {
		op := (*net.OpError)(nil)
		if !errors.As(err, &op) {
			break
		}
		err = op.Err
	}
	if isClosed(err) {
		return "the peer closed the connection"
	}
	return strings.ReplaceAll(err.Error(), "\n", ": ")
}
