package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/rddp/rddp/internal/tlspeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

var (
	// ErrSides means that both addresses are plain, or both DDP.
	ErrSides = errors.New("one of the two addresses must be DDP (rddp://HOST[:PORT]) and the other one plain")
	// ErrParts means that a file has routes of an entrance and of an exit.
	ErrParts = errors.New("the routes of one proxy all listen at rddp:// addresses, or none does")
	// ErrNoRoute means that a file has no route.
	ErrNoRoute = errors.New("no route")
	// ErrIdle means that no byte has moved for Config.Idle.
	ErrIdle = errors.New("idle for too long")
	// ErrGrace means that the connection was still under way at the end of Config.Grace.
	ErrGrace = errors.New("the proxy ends")
	// ErrTooMany means that there are already Config.MaxConns connections.
	ErrTooMany = errors.New("too many connections")
)

// An Error describes, for people, the step at which a connection failed. Err is the cause, for
// errors.Is and errors.As.
type Error struct {
	Step string // such as "reading from the client"
	Err  error
}

func (e *Error) Error() string { return e.Step + ": " + words(e.Err) }
func (e *Error) Unwrap() error { return e.Err }

func fail(err error, step string, args ...any) error {
	return &Error{Step: fmt.Sprintf(step, args...), Err: err}
}

// words returns the text of err in one line and without addresses, which are printed separately.
func words(err error) string {
	if text := tlspeer.Words(err); text != "" {
		return text
	}
	if e := (*mpa.RejectError)(nil); errors.As(err, &e) {
		if len(e.PrivateData) == 0 {
			return "rejected"
		}
		return fmt.Sprintf("rejected: %q", e.PrivateData)
	}
	if e := (*rdmap.TerminateError)(nil); errors.As(err, &e) && e.Remote {
		return "the peer ended the connection with a Terminate: " + e.Terminate.Code.String()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer in time"
	}
	for op := (*net.OpError)(nil); errors.As(err, &op); {
		err = op.Err
	}
	return strings.ReplaceAll(err.Error(), "\n", ": ")
}
