package startup

import "errors"

// The errors of startup. Package extsock returns them to programs and documents them.
var (
	ErrSwitched  = errors.New("already in DDP mode")
	ErrBusy      = errors.New("a Read, a Write or a switch to DDP mode is under way")
	ErrUnread    = errors.New("octets that came before the switch have not been read")
	ErrNotMPA    = errors.New("the peer does not speak MPA: what it sent is no MPA frame")
	ErrNoReply   = errors.New("the peer closed the connection without an MPA Reply")
	ErrNoRequest = errors.New("the peer closed the connection without an MPA Request")
	ErrAnswered  = errors.New("the MPA Request has been answered before")
	ErrHalfOpen  = errors.New("too many half-open connections, and this is the oldest")
	ErrDelayed   = errors.New("the address waits because of bad STags")
)
