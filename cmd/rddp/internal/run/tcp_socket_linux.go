//go:build amd64 || arm64

package run

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Checks whether a program's socket can be taken over.

var (
	errBound     = errors.New("the program has bound the socket before connect")
	errNamespace = errors.New("the program is in another network namespace than rddp run")
	errDevice    = errors.New("the program has bound the socket to an interface")
	errMPTCP     = errors.New("it is MPTCP")
)

// check reports whether the socket is a TCP socket that is not connected yet. The error says why
// such a socket cannot be taken over.
func (t *tcpRelay) check(fd int) (fresh bool, err error) {
	p, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	switch {
	case err == nil && p == unix.IPPROTO_MPTCP:
		return false, errMPTCP
	case err != nil || p != unix.IPPROTO_TCP:
		return false, nil // UDP, or not a socket; the kernel returns the right error
	}
	if closed, err := isClosed(fd); err != nil || !closed {
		return false, err
	}
	if err := t.isHere(fd); err != nil {
		return false, err
	}
	bound, err := isBound(fd)
	if err == nil && bound {
		err = errBound
	}
	return err == nil, err
}

// isBound reports whether the program has bound a socket that is not connected. A port alone does
// not tell: a socket that was connected before, or whose connect has failed, still shows one. So
// isBound binds the socket to no address and no port. The kernel refuses that if the socket is
// bound; otherwise the bind has no effect.
func isBound(fd int) (bool, error) {
	local, err := localAddress(fd)
	if err != nil || !local.Addr().IsUnspecified() || local.Port() == 0 {
		return err == nil && !local.Addr().IsUnspecified(), err
	}
	noPort, err := unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}
	if err != nil {
		return false, err
	}
	var none unix.Sockaddr = &unix.SockaddrInet4{}
	if !local.Addr().Is4() {
		none = &unix.SockaddrInet6{}
	}
	err = unix.Bind(fd, none)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, noPort) // as above
	if errors.Is(err, unix.EINVAL) {
		return true, nil
	}
	return false, err
}

// isClosed reports whether a TCP socket is neither connected nor connecting.
func isClosed(fd int) (bool, error) {
	const closed = 7 // TCP_CLOSE
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && info.State == closed, err
}

// isHere returns an error if the socket cannot reach this process's loopback.
func (t *tcpRelay) isHere(fd int) error {
	network, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return err
	}
	if network != t.network {
		return errNamespace
	}
	if device, err := unix.GetsockoptString(fd, unix.SOL_SOCKET, unix.SO_BINDTODEVICE); err != nil || device != "" {
		return errDevice
	}
	return nil
}
