package proxy

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
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
	// ErrGrace means that the connection was still open at the end of Config.Grace.
	ErrGrace = errors.New("the proxy ends")
	// ErrTooMany means that there are already Config.MaxConns connections.
	ErrTooMany = errors.New("too many connections")
	// ErrGone means that the peer closed the connection before the Proxy dialed.
	ErrGone = errors.New("the peer has gone")

	errTrial = errors.New("a trial") // internal: no Summary has it
	errPanic = errors.New("panic; the log has it")
)

// An Error describes the step at which a connection failed, in words for users. Err is the cause,
// for errors.Is and errors.As.
type Error struct {
	Step string // such as "reading from the client"
	Err  error
}

func (e *Error) Error() string { return e.Step + ": " + errtext.Text(e.Err) }
func (e *Error) Unwrap() error { return e.Err }

func fail(err error, step string, args ...any) error {
	return &Error{Step: fmt.Sprintf(step, args...), Err: err}
}
