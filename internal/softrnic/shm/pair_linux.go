package shm

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// SocketPair returns two connected sockets, for the two ends of a connection within this process.
// They have no name, so other processes cannot reach them.
func SocketPair() (a, b net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	x, errA := unixConn(fds[0])
	y, errB := unixConn(fds[1])
	if err := errors.Join(errA, errB); err != nil {
		for _, c := range []*net.UnixConn{x, y} {
			if c != nil {
				_ = c.Close()
			}
		}
		return nil, nil, err
	}
	return x, y, nil
}
