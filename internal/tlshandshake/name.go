package tlshandshake

import (
	"net"
	"strings"
)

// NameAt returns the name that a server at a TCP address must have in its certificate, for
// tls.Config.ServerName: the host. The zone of an IPv6 address is left out, because it is a name on
// this machine that no certificate contains.
func NameAt(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if ip, _, hasZone := strings.Cut(host, "%"); hasZone && strings.Contains(ip, ":") {
		return ip
	}
	return host
}
