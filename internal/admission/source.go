package admission

import (
	"net"
	"net/netip"
)

// A Source is the origin of connections: an IPv4 address, or the network part of an IPv6 address,
// 64 bits, because one host can have any address within its network. Peers without an address, such
// as those at a unix socket, are one source, the zero Source.
type Source struct {
	prefix netip.Prefix
	name   string // of a host whose address is not an IP address
}

// networkBits is the number of bits of an IPv6 address that identify the network.
const networkBits = 64

// SourceOf returns the source of a peer's address.
func SourceOf(a net.Addr) Source {
	if a == nil {
		return Source{}
	}
	if tcp, ok := a.(*net.TCPAddr); ok {
		return ofIP(tcp.AddrPort().Addr())
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		return ofIP(p.Addr())
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return Source{}
	}
	return Source{name: host}
}

func ofIP(ip netip.Addr) Source {
	ip = ip.Unmap().WithZone("")
	bits := networkBits
	if ip.Is4() {
		bits = ip.BitLen()
	}
	return Source{prefix: netip.PrefixFrom(ip, bits).Masked()}
}

// IsKnown reports whether s is not the source of all peers without an address.
func (s Source) IsKnown() bool { return s != Source{} }

func (s Source) String() string {
	switch {
	case s.name != "":
		return s.name
	case s.prefix.IsValid():
		return s.prefix.String()
	}
	return "unknown"
}
