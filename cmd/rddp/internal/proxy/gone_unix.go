//go:build unix

package proxy

import (
	"crypto/tls"
	"net"
	"syscall"
)

// hasGone reports whether the peer of an accepted connection has reset it. During MPA startup
// (starting), a FIN counts too; later, the peer may have half-closed and still wait for an answer.
// hasGone does not see past unread bytes.
func hasGone(c net.Conn, starting bool) (gone bool) {
	if t, is := c.(*tls.Conn); is {
		c = t.NetConn()
	}
	s, is := c.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true // closed
	}
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK) // sockets of package net never block
		switch err {
		case nil:
			gone = starting && n == 0
		case syscall.EAGAIN, syscall.EINTR:
		default:
			gone = true
		}
	})
	return gone || err != nil
}
