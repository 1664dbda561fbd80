//go:build unix

package monitor

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clientWaits reports whether a connection can be accepted at l, and waits for one for the time d
// at most. If that is not known, it may be.
func clientWaits(l net.Listener, d time.Duration) bool {
	s, ok := l.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	waits := true
	_ = raw.Control(func(fd uintptr) { // it fails for a listener that is closed, and Accept will say so
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
		waits = err == nil && n > 0
	})
	return waits
}
