package startup

import (
	"errors"
	"fmt"

	"github.com/rddp/rddp/internal/conn/wait"
)

// The errors of startup. Package extsock returns all of them to programs. It exports and documents
// all of them except ErrSwitched, which matches ErrMode, ErrHalfOpen and ErrDelayed, which match
// wait.ErrLimit, ErrUnread, which matches ErrBusy, ErrNoRequest and ErrAnswered.
var (
	ErrMode      = errors.New("wrong mode")
	ErrSwitched  = fmt.Errorf("%w: the connection is in DDP mode already", ErrMode)
	ErrBusy      = errors.New("a Read, a Write, a switch to DDP mode or a capture is under way")
	ErrNotMPA    = errors.New("the peer does not speak MPA: what it sent is no MPA frame")
	ErrNoReply   = errors.New("the peer closed the connection without an MPA Reply")
	ErrNoRequest = errors.New("the peer closed the connection without an MPA Request")
	ErrAnswered  = errors.New("the MPA Request has been answered before")
	ErrHalfOpen  = fmt.Errorf("%w: too many half-open connections, and this is the oldest of its address", wait.ErrLimit)
	ErrDelayed   = fmt.Errorf("%w: the address waits because of bad STags", wait.ErrLimit)
)

// ErrUnread means that bytes of the peer are in the way of the switch.
var ErrUnread error = unread{}

type unread struct{}

func (unread) Error() string        { return "bytes that came before the switch have not been read" }
func (unread) Is(target error) bool { return target == ErrBusy } //nolint:errorlint // as package errors requires
