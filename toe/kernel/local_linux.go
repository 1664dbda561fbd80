package kernel

import (
	"net"

	"golang.org/x/sys/unix"
)

// This file limits how much data TCP holds between two processes of one machine.
//
// Between them, the receiver's TCP acknowledges the bytes that its program has read. So the kernel
// lets a sender that is ahead fill its send buffer to the maximum, usually 4 MiB, before the
// receiver reads any of it. By then the data have left the second-level cache, and both the
// sender's copy and the receiver's go to slower memory. A network needs a send buffer of that size
// for its round trip time, but within a machine the round trip time is short.

const (
	// localBuffer is the send buffer in bytes. With both ends on one CPU, 512 KiB caused more
	// context switches than it saved.
	localBuffer = 1 << 20

	// localFrom is the number of bytes that the kernel must have taken at once before the send
	// buffer is bounded. For a connection that never sends so much, the system calls would be
	// wasted.
	localFrom = 256 << 10
)

// boundLocal bounds the send buffer if both ends of a TCP connection are on this machine. n is the
// number of bytes that the kernel has just taken.
func (s *socket) boundLocal(n int) {
	if n < localFrom || s.bounded {
		return
	}
	s.bounded = true
	if s.hasEMSS && isLocal(s.conn) {
		s.raw.Control(boundSendBuffer) // an error means that the connection is closed
	}
}

// isLocal reports whether both ends of c have the same IP address, or addresses of the loopback
// network.
func isLocal(c net.Conn) bool {
	own, ok := c.LocalAddr().(*net.TCPAddr)
	peer, okPeer := c.RemoteAddr().(*net.TCPAddr)
	return ok && okPeer && (peer.IP.IsLoopback() || peer.IP.Equal(own.IP))
}

func boundSendBuffer(fd uintptr) { boundSendBufferTo(int(fd), localBuffer) }

// boundSendBufferTo sets the send buffer of a socket to size bytes, unless the program has chosen a
// size. If the system allows programs less (net.core.wmem_max), the size remains automatic. Kernels
// before Linux 5.14 do not tell whether the program has chosen, so nothing is changed there.
func boundSendBufferTo(fd, size int) {
	before, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK)
	if err != nil || before&unix.SOCK_SNDBUF_LOCK != 0 {
		return
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, size) != nil {
		return
	}
	// The kernel doubles the size, "to allow space for bookkeeping overhead" (socket(7)).
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil || n < 2*size {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK, before) // it was automatic before
	}
}
