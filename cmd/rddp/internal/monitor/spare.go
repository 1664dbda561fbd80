package monitor

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A process that has no descriptor left cannot accept a connection, not even one that asks why. So
// clients holds a descriptor in reserve. It gives that up for a client, and takes the next one that
// is free.

// isShort reports whether an error of Accept means that no descriptor was left, in the process or
// in the system.
func isShort(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// lookTime is how long accept waits for a client with the reserve still held: at the end of this
// time there may be descriptors again, or the listener may be closed.
const lookTime = 200 * time.Millisecond

// accept is Accept without a limit. Without a descriptor it takes that in reserve, or that of the
// client that has been idle longest. It fails if there is neither.
func (l *clients) accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if !isShort(err) {
			return conn, err
		}
		// Accept fails before a client has come, and the reserve is for a client: others would take
		// what is free.
		if clientWaits(l.Listener, lookTime) && !l.makeRoom() {
			return nil, err // package http waits and calls Accept again
		}
	}
}

// makeRoom gives a descriptor up, and reports whether there was one.
//
// +checklocksignore: the client that it closes is of l, whose lock it holds
func (l *clients) makeRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.spare != nil:
		_ = l.spare.Close() // nothing can be done about it
		l.spare = nil
	case len(l.idle) > 0:
		l.idle[0].closeLocked()
	default:
		return false
	}
	return true
}

// reserveLocked takes a descriptor in reserve, if there is none yet and one is free.
//
// +checklocks:l.mu
func (l *clients) reserveLocked() {
	if l.spare == nil && !l.closed {
		l.spare, _ = os.Open(os.DevNull)
	}
}
