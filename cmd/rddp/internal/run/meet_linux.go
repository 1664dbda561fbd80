//go:build amd64 || arm64

package run

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
)

// meetTimeout bounds the time to connect a socket with this process.
const meetTimeout = 5 * time.Second

// A meetingPlace connects sockets of the program with this process, over loopback.
type meetingPlace struct {
	ip net.IP // a loopback address

	mu locks.Mutex[locks.Leaf] // held while a socket connects
	// opened for the first socket
	l *net.TCPListener // +checklocks:mu
}

// meet connects a socket of the program with this process and returns this process's end. If the
// socket is blocking, meet makes it nonblocking for the duration of the call.
func (m *meetingPlace) meet(fd int, blocks bool) (*net.TCPConn, error) {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return nil, err
	}
	if blocks {
		// Only for the connect below: the program's own call then waits for it to complete.
		if err := setBlocking(fd, false); err != nil {
			return nil, err
		}
		defer func() { _ = setBlocking(fd, true) }()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.l == nil {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: m.ip})
		if err != nil {
			return nil, err
		}
		m.l = l
	}
	address := appendAddress(nil, m.l.Addr().(*net.TCPAddr).AddrPort(), domain)
	_, _, e := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&address[0])), uintptr(len(address)))
	if e != 0 && e != unix.EINPROGRESS {
		return nil, e
	}
	return acceptFrom(m.l, fd)
}

// close closes the listener.
func (m *meetingPlace) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.l != nil {
		m.l.Close()
	}
}

// acceptFrom accepts the connection of the socket fd, and closes all others.
func acceptFrom(l *net.TCPListener, fd int) (*net.TCPConn, error) {
	local, err := localAddress(fd)
	if err != nil {
		return nil, err
	}
	if err := l.SetDeadline(time.Now().Add(meetTimeout)); err != nil {
		return nil, err
	}
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil, errors.Join(syscall.ETIMEDOUT, err)
		}
		from := c.RemoteAddr().(*net.TCPAddr).AddrPort()
		if from.Port() == local.Port() && from.Addr().Unmap() == local.Addr().Unmap() {
			return c, nil
		}
		c.Close()
	}
}

// place returns the meeting place for the address family of a.
func (t *tcpRelay) place(a netip.AddrPort) *meetingPlace {
	if a.Addr().Unmap().Is4() {
		return &t.loopback4
	}
	return &t.loopback6
}

// isBlocking reports whether calls on a socket block.
func isBlocking(fd int) (bool, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return flags&unix.O_NONBLOCK == 0, err
}

// setBlocking makes a socket blocking or nonblocking, also for a program that has a copy of it.
func setBlocking(fd int, blocks bool) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags &^= unix.O_NONBLOCK; !blocks {
		flags |= unix.O_NONBLOCK
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
	return err
}
