// Package standin replaces the part of package net that makes TCP connections. A program that calls
// its functions instead of net's gets extended sockets. The tests of conformance/foreign run the
// test suites of other projects over it.
//
// The names and the types of the arguments are those of package net, as far as Go allows: a Dialer
// has the fields of net.Dialer, and a *TCPConn is an *extsock.Conn. Package net serves all networks
// except TCP.
//
// The environment variable RDDP_FOREIGN selects how the connections begin; see Mode. In all modes
// except ModeInBand the package only passes on an extsock.Config. In particular it never calls
// Handshake.
package standin

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"github.com/rddp/rddp/extsock"
)

// A Mode says how connections begin.
type Mode string

// The modes. The zero Mode, where RDDP_FOREIGN is not set, is ModeOff.
const (
	ModeOff     Mode = "off"     // the connection stays in TCP mode
	ModePrefer  Mode = "prefer"  // extsock.StartupPrefer on both sides
	ModeRequire Mode = "require" // extsock.StartupRequire on both sides

	// ModeInBand: both ends call EnableDDP, each in the middle of its own code: the dialing end
	// before Dial returns, the accepting end in a goroutine of the listener, before Accept returns
	// the connection.
	ModeInBand Mode = "inband"
)

// Variable is the environment variable that holds the Mode.
const Variable = "RDDP_FOREIGN"

var mode = modeOf(os.Getenv(Variable))

func modeOf(s string) Mode {
	switch m := Mode(s); m {
	case "":
		return ModeOff
	case ModeOff, ModePrefer, ModeRequire, ModeInBand:
		return m
	}
	panic("BUG: " + Variable + "=" + s)
}

// config returns the Config of every connection; nil in the modes that do not need one.
func (m Mode) config() *extsock.Config {
	switch m {
	case ModePrefer:
		return &extsock.Config{Startup: extsock.StartupPrefer}
	case ModeRequire:
		return &extsock.Config{Startup: extsock.StartupRequire}
	}
	return nil
}

func isTCP(network string) bool { return strings.HasPrefix(network, "tcp") }

// TCPConn takes the place of net.TCPConn.
type TCPConn = extsock.Conn

// A Dialer has the fields and the methods of a net.Dialer.
type Dialer net.Dialer

// Dial connects to address, as net.Dial does.
func Dial(network, address string) (net.Conn, error) { return new(Dialer).Dial(network, address) }

// DialTimeout is Dial with a time limit, as net.DialTimeout is.
func DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	return (&Dialer{Timeout: timeout}).Dial(network, address)
}

// DialTCP connects from laddr to raddr, as net.DialTCP does. A nil laddr means any.
func DialTCP(network string, laddr, raddr *net.TCPAddr) (*TCPConn, error) {
	if raddr == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Source: sourceOf(laddr), Err: errMissingAddress}
	}
	if len(raddr.IP) > 0 && !fits(network, raddr.IP) {
		_, err := net.DialTCP(network, laddr, raddr) // it does not dial such an address
		return nil, err
	}
	d := new(Dialer)
	if laddr != nil {
		d.LocalAddr = laddr
	}
	return d.dial(context.Background(), network, raddr.String())
}

// fits reports whether a connection of the network may have the address.
func fits(network string, ip net.IP) bool {
	isV4 := ip.To4() != nil
	switch network {
	case "tcp4":
		return isV4
	case "tcp6":
		return !isV4 && ip.To16() != nil
	}
	return ip.To16() != nil
}

// Dial is DialContext without a context.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to address, as net.Dialer.DialContext does.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !isTCP(network) {
		return (*net.Dialer)(d).DialContext(ctx, network, address)
	}
	c, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err // and not a nil *Conn in an interface
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context, network, address string) (*TCPConn, error) {
	x := extsock.Dialer{NetDialer: *(*net.Dialer)(d), Config: mode.config()}
	nc, err := x.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := nc.(*extsock.Conn)
	if mode == ModeInBand {
		if err := enable(ctx, c); err != nil {
			c.Close()
			return nil, err
		}
	}
	counts.dialed(c)
	return c, nil
}

// MultipathTCP is net.Dialer's.
func (d *Dialer) MultipathTCP() bool { return (*net.Dialer)(d).MultipathTCP() }

// SetMultipathTCP is net.Dialer's.
func (d *Dialer) SetMultipathTCP(use bool) { (*net.Dialer)(d).SetMultipathTCP(use) }

// A ListenConfig has the fields and the methods of a net.ListenConfig.
type ListenConfig net.ListenConfig

// Listen listens at address, as net.Listen does.
func Listen(network, address string) (net.Listener, error) {
	return new(ListenConfig).Listen(context.Background(), network, address)
}

// ListenTCP listens at laddr, as net.ListenTCP does. A nil laddr means any address and port.
func ListenTCP(network string, laddr *net.TCPAddr) (*TCPListener, error) {
	if !isTCP(network) {
		err := net.UnknownNetworkError(network)
		return nil, &net.OpError{Op: "listen", Net: network, Addr: sourceOf(laddr), Err: err}
	}
	address := ":0"
	if laddr != nil {
		address = laddr.String()
	}
	return new(ListenConfig).listen(context.Background(), network, address)
}

// Listen listens at address, as net.ListenConfig.Listen does.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	if !isTCP(network) {
		return (*net.ListenConfig)(lc).Listen(ctx, network, address)
	}
	l, err := lc.listen(ctx, network, address)
	if err != nil {
		return nil, err // and not a nil *TCPListener in an interface
	}
	return l, nil
}

func (lc *ListenConfig) listen(ctx context.Context, network, address string) (*TCPListener, error) {
	l, err := (*net.ListenConfig)(lc).Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newTCPListener(extsock.NewListener(l, mode.config()), mode), nil
}

// Listen listens at address for connections that begin as m says, whatever RDDP_FOREIGN says.
func (m Mode) Listen(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return newTCPListener(extsock.NewListener(l, m.config()), m), nil
}

// ListenPacket is net.ListenConfig's.
func (lc *ListenConfig) ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error) {
	return (*net.ListenConfig)(lc).ListenPacket(ctx, network, address)
}

// MultipathTCP is net.ListenConfig's.
func (lc *ListenConfig) MultipathTCP() bool { return (*net.ListenConfig)(lc).MultipathTCP() }

// SetMultipathTCP is net.ListenConfig's.
func (lc *ListenConfig) SetMultipathTCP(use bool) { (*net.ListenConfig)(lc).SetMultipathTCP(use) }
