package perf

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
)

// ErrUnsupported means that this operating system lacks something that the program asked for:
// pinning to a CPU, or the choice of TCP's congestion control.
var ErrUnsupported = errors.New("not supported on this operating system")

// ErrProtocol means that the peer sent something that is not part of the protocol of this package.
var ErrProtocol = errors.New("the peer does not follow the protocol of rddp perf")

// A RefusedError is the peer's answer to a request that it does not serve.
type RefusedError struct {
	Reason string // in the peer's words
}

func (e *RefusedError) Error() string { return fmt.Sprintf("the peer refused: %q", e.Reason) }

// A RunError says which run failed.
type RunError struct {
	Job string // the operation, its size and the way of posting
	Err error
}

func (e *RunError) Error() string { return e.Job + ": " + errtext.Text(e.Err) }
func (e *RunError) Unwrap() error { return e.Err }

// An OptionError says which option is wrong.
type OptionError struct {
	Option string // the name of the flag, without dashes
	Reason string
}

func (e *OptionError) Error() string { return "--" + e.Option + ": " + e.Reason }

func wrongOption(option, format string, args ...any) error {
	return &OptionError{option, fmt.Sprintf(format, args...)}
}
