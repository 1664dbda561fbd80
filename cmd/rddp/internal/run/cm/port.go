//go:build linux

package cm

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/softrnic"
)

// A port is a local TCP or UDP port that an id has reserved: a bound socket that does not listen
// yet. Or it is the claim of a number: see number.go. It may be nil.
type port struct{ file *os.File }

// reserve reserves a port for an id, for datagrams or for a connection. Port 0 means any. If only
// is set, an IPv6 socket does not accept connections over IPv4. reserve returns a with the port's
// number.
func reserve(a netip.AddrPort, datagrams, only bool) (*port, netip.AddrPort, error) {
	family, kind := syscall.AF_INET, syscall.SOCK_STREAM
	if datagrams {
		kind = syscall.SOCK_DGRAM
	}
	if a.Addr().Is6() {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, a, err
	}
	p := &port{os.NewFile(uintptr(fd), "port")}
	if !datagrams { // as in servers, recently ended connections do not block the port
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	}
	if err == nil && family == syscall.AF_INET6 {
		v := 0
		if only {
			v = 1
		}
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, v)
	}
	if err == nil {
		err = syscall.Bind(fd, sockaddr(a))
	}
	if err == nil {
		a, err = p.address(a)
	}
	if err != nil {
		p.close()
		return nil, a, err
	}
	return p, a, nil
}

// address returns a with the port's number.
func (p *port) address(a netip.AddrPort) (netip.AddrPort, error) {
	sa, err := syscall.Getsockname(int(p.file.Fd()))
	switch s := sa.(type) {
	case *syscall.SockaddrInet4:
		a = netip.AddrPortFrom(a.Addr(), uint16(s.Port))
	case *syscall.SockaddrInet6:
		a = netip.AddrPortFrom(a.Addr(), uint16(s.Port))
	}
	return a, err
}

func sockaddr(a netip.AddrPort) syscall.Sockaddr {
	if a.Addr().Is6() {
		return &syscall.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &syscall.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

// listen starts to listen at p, for connections of dev.
func (p *port) listen(dev *softrnic.Device, backlog int, cfg *conn.Config) (*conn.Listener, error) {
	if err := syscall.Listen(int(p.file.Fd()), backlog); err != nil {
		return nil, err
	}
	l, err := net.FileListener(p.file)
	if err != nil {
		return nil, err
	}
	return conn.NewListener(dev.Listener(l), dev.Tapped(cfg)), nil
}

// datagrams returns a UDP socket at p that reports the destination address of each datagram.
func (p *port) datagrams() (*net.UDPConn, error) {
	c, err := net.FilePacketConn(p.file)
	if err != nil {
		return nil, err
	}
	level, option := syscall.IPPROTO_IP, syscall.IP_PKTINFO
	if a, err := syscall.Getsockname(int(p.file.Fd())); err == nil {
		if _, is6 := a.(*syscall.SockaddrInet6); is6 {
			level, option = syscall.IPPROTO_IPV6, syscall.IPV6_RECVPKTINFO
		}
	}
	if err := syscall.SetsockoptInt(int(p.file.Fd()), level, option, 1); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

func (p *port) close() {
	if p != nil {
		_ = p.file.Close() // the error does not matter
	}
}

// dialerFrom returns a dialer that connects from src. The port may have been in use recently. A
// dialer from port 0 uses any.
func dialerFrom(src netip.AddrPort) net.Dialer {
	share := func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
		}); e != nil {
			return e
		}
		return err
	}
	return net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(src), Control: share}
}

// A refused connection is retried for refusedFor. perftest's server opens a new listener for its
// second connection, and the client may connect before that; the client fails if it is rejected.
const refusedFor = 500 * time.Millisecond

// dial calls attempt until it succeeds, or fails with another error than a refused connection.
func dial(ctx context.Context, attempt func() (*conn.Conn, error)) (*conn.Conn, error) {
	var again retry.Wait
	for until := time.Now().Add(refusedFor); ; {
		c, err := attempt()
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(until) {
			return c, err
		}
		if !again.Pause(ctx) {
			return nil, err
		}
	}
}

// sourceFor returns the local address that the system uses to reach dst.
func sourceFor(dst netip.Addr) (netip.Addr, error) {
	const discard = 9 // a port; nothing is sent
	c, err := net.Dial("udp", netip.AddrPortFrom(dst, discard).String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}
