package softrnic

import (
	"context"
	"net/netip"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/softrnic/shm"
)

// This file has the connections to devices of the same host and user. They go through memory that
// both devices share, and all that is above TCP is the same. All other connections go over TCP: to
// another host, to a device of another user by rdma_cm, and over a network with injected faults.

// Services has the port numbers of a connection manager, which are no TCP ports.
const Services = shm.Services

// hasNear reports whether the device connects through memory at all.
func (d *Device) hasNear() bool { return !d.onlyTCP && !d.faults.HasNetwork() }

// nearConfig returns c changed for a connection through memory, for either end. Neither end asks
// for CRCs, so FPDUs have none: a CRC would protect bytes that do not leave the host's memory.
func nearConfig(c *conn.Config) *conn.Config {
	n := *c
	n.NoCRC = true
	return &n
}

// ListenNear listens for devices of this host that would reach a TCP listener at the address at,
// whose port is a number in a space. only says that such a listener for IPv6 takes no connections
// over IPv4. ListenNear returns nil if it cannot listen; then the devices connect over TCP.
func (d *Device) ListenNear(in shm.Space, at netip.AddrPort, only bool, c *conn.Config) *conn.Listener {
	if !d.hasNear() {
		return nil
	}
	l, err := shm.Listen(in, at.Port(), func(a netip.Addr) bool {
		return d.IsOwn(a) && reaches(a, at.Addr().Unmap(), only)
	})
	if err != nil {
		d.log.Info("no connections through memory", "space", string(in), "port", at.Port(), "err", err)
		return nil
	}
	return conn.NewListener(l, d.Tapped(nearConfig(c)))
}

// reaches reports whether a connection to a reaches a TCP listener at the address at.
func reaches(a, at netip.Addr, only bool) bool {
	if at.IsUnspecified() {
		return at.Is4() == a.Is4() || at.Is6() && !only
	}
	return at == a
}

// DialNear connects to a device on this host. It returns nil, and no error, if there is none at
// that address.
func (d *Device) DialNear(ctx context.Context, in shm.Space, from, to netip.AddrPort, c *conn.Config, privateData []byte, o Owner) (*conn.Conn, error) {
	if !d.hasNear() {
		return nil, nil
	}
	s, err := shm.Dial(ctx, in, from, to)
	if err != nil {
		return nil, nil // TCP tells why not, if it does not get there either
	}
	return connect(ctx, s, d.Tapped(nearConfig(c)), privateData, o)
}

// isNear reports whether a connection goes through memory.
func isNear(c *conn.Conn) bool {
	_, is := c.LocalAddr().(shm.Addr)
	return is
}
