//go:build unix

package monitor

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clientWaits waits for a connection that can be accepted at l, for at most d, and reports whether
// there is one. It returns true if it cannot tell.
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
	_ = raw.Control(func(fd uintptr) { // fails for a closed listener; Accept will then fail too
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
		waits = err == nil && n > 0
	})
	return waits
}
