package tlsfiles

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

// ErrBeyond means that other hosts could connect to a listener without TLS.
var ErrBeyond = errors.New("other hosts could connect without TLS")

// CheckListen returns ErrBeyond unless only this host can connect to a listener at the TCP address.
// It returns another error if it cannot tell because the host name cannot be looked up.
func CheckListen(ctx context.Context, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil // Listen returns a better error
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return checkIP(ip)
	}
	if host == "" {
		return ErrBeyond
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return err // Listen looks up the host again, and may then find it
	}
	for _, ip := range ips {
		if err := checkIP(ip); err != nil {
			return err
		}
	}
	return nil
}

func checkIP(ip netip.Addr) error {
	if ip.Unmap().IsLoopback() {
		return nil
	}
	return ErrBeyond
}
