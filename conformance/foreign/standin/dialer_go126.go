//go:build go1.26

package standin

import (
	"context"
	"net"
	"net/netip"
)

// DialTCP connects from laddr to raddr, as net.Dialer.DialTCP does.
func (d *Dialer) DialTCP(ctx context.Context, network string, laddr, raddr netip.AddrPort) (*TCPConn, error) {
	bound := *d
	if laddr.IsValid() {
		bound.LocalAddr = net.TCPAddrFromAddrPort(laddr)
	}
	return bound.dial(ctx, network, raddr.String())
}

// DialUDP is net.Dialer's.
func (d *Dialer) DialUDP(ctx context.Context, network string, laddr, raddr netip.AddrPort) (*net.UDPConn, error) {
	return (*net.Dialer)(d).DialUDP(ctx, network, laddr, raddr)
}

// DialIP is net.Dialer's.
func (d *Dialer) DialIP(ctx context.Context, network string, laddr, raddr netip.Addr) (*net.IPConn, error) {
	return (*net.Dialer)(d).DialIP(ctx, network, laddr, raddr)
}

// DialUnix is net.Dialer's.
func (d *Dialer) DialUnix(ctx context.Context, network string, laddr, raddr *net.UnixAddr) (*net.UnixConn, error) {
	return (*net.Dialer)(d).DialUnix(ctx, network, laddr, raddr)
}
