package monitor

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// A process without free descriptors cannot accept a connection, not even to report that. So
// clients keeps a descriptor in reserve. It closes that one to accept a client, and reserves the
// next free one.

// isShort reports whether an error of Accept means that no descriptor was left, in the process or
// in the system.
func isShort(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// lookTime is the time that accept waits for a client before it calls Accept again. By then there
// may be free descriptors, or the listener may be closed.
const lookTime = 200 * time.Millisecond

// accept is Accept without a limit. If no descriptor is left, it closes the one in reserve, or the
// client that has been idle longest. It fails if there is neither.
func (l *clients) accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if !isShort(err) {
			return conn, err
		}
		// Accept fails even if no client is waiting. Release the reserve only for a client, because
		// other code would use a free descriptor.
		if clientWaits(l.Listener, lookTime) && !l.makeRoom() {
			return nil, err // package http waits and calls Accept again
		}
	}
}

// makeRoom releases a descriptor, and reports whether there was one to release.
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

// reserveLocked reserves a descriptor, if there is none yet and one is free.
//
// +checklocks:l.mu
func (l *clients) reserveLocked() {
	if l.spare == nil && !l.closed {
		l.spare, _ = os.Open(os.DevNull)
	}
}
