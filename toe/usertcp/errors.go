package usertcp

import (
	"errors"
	"net"
	"os"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// systemError returns the error that the operating system would return instead of err: an errno if
// there is one, so that callers need not know gVisor.
func systemError(err tcpip.Error) error {
	switch err.(type) {
	case nil:
		return nil
	case *tcpip.ErrAborted, *tcpip.ErrConnectionAborted:
		return syscall.ECONNABORTED
	case *tcpip.ErrConnectionRefused:
		return syscall.ECONNREFUSED
	case *tcpip.ErrConnectionReset:
		return syscall.ECONNRESET
	case *tcpip.ErrClosedForSend:
		return syscall.EPIPE
	case *tcpip.ErrTimeout:
		return syscall.ETIMEDOUT
	case *tcpip.ErrNetworkUnreachable:
		return syscall.ENETUNREACH
	case *tcpip.ErrHostUnreachable, *tcpip.ErrHostDown, *tcpip.ErrNoNet:
		return syscall.EHOSTUNREACH
	case *tcpip.ErrPortInUse, *tcpip.ErrDuplicateAddress:
		return syscall.EADDRINUSE
	case *tcpip.ErrBadLocalAddress, *tcpip.ErrBadAddress, *tcpip.ErrNoPortAvailable:
		return syscall.EADDRNOTAVAIL
	case *tcpip.ErrNotConnected, *tcpip.ErrInvalidEndpointState:
		return syscall.ENOTCONN
	case *tcpip.ErrMessageTooLong:
		return syscall.EMSGSIZE
	case *tcpip.ErrInvalidOptionValue:
		return syscall.EINVAL
	}
	return errors.New(err.String())
}

// opError wraps err in a *net.OpError, as package net does.
func opError(op, network string, source, addr net.Addr, err error) error {
	e := &net.OpError{Op: op, Net: network, Source: source, Addr: addr, Err: err}
	var errno syscall.Errno
	if errors.As(err, &errno) && err == errno {
		e.Err = os.NewSyscallError(op, errno)
	}
	return e
}
