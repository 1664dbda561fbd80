package kernel

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TellsArrived reports whether Arrived works on this system.
const TellsArrived = true

// Arrived waits until a socket has bytes, or has ended, and returns the number of bytes, or 0 at
// the end. It reads none of them.
func Arrived(raw syscall.RawConn) (n int, err error) {
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, failed = countArrived(int(fd))
		return !errors.Is(failed, unix.EAGAIN)
	})
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if err == nil && failed != nil {
		err = os.NewSyscallError("recvfrom", failed)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// countArrived returns how many bytes a socket has.
func countArrived(fd int) (n int, err error) {
	var b [1]byte
	for err = error(unix.EINTR); errors.Is(err, unix.EINTR); {
		n, _, err = unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	}
	if n <= 0 || err != nil {
		return 0, err
	}
	if m, err := unix.IoctlGetInt(fd, unix.SIOCINQ); err == nil {
		n = max(n, m)
	}
	return n, nil
}
