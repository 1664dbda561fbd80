package fault

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// socketPair returns two connected sockets.
func socketPair() (a, b *net.UnixConn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	var conns [2]*net.UnixConn
	for k, fd := range fds {
		f := os.NewFile(uintptr(fd), "")
		c, err2 := net.FileConn(f)
		_ = f.Close() // FileConn has a descriptor of its own
		if err = errors.Join(err, err2); err2 == nil {
			conns[k] = c.(*net.UnixConn)
		}
	}
	return conns[0], conns[1], err
}
