// Package rules chooses TCP connections by address and port.
package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Rule matches the addresses of a network and a range of ports. For a connection, it applies to
// the peer's address; for a listener, to the local address.
type Rule struct {
	net       netip.Prefix // the zero Prefix matches every address
	low, high uint16
}

// Parse parses a rule of the form [ADDRESS[/BITS]]:PORT[-PORT]. An IPv6 address, with its /BITS, is
// in brackets. Without an address, the rule matches every address. Host names are not allowed,
// because the rule is compared with numeric addresses.
func Parse(s string) (Rule, error) {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return Rule{}, fmt.Errorf("rule %q: want [ADDRESS[/BITS]]:PORT[-PORT]", s)
	}
	var r Rule
	var err error
	if host := s[:colon]; host != "" {
		if r.net, err = parseNet(host); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %w", s, err)
		}
	}
	low, high, isRange := strings.Cut(s[colon+1:], "-")
	if !isRange {
		high = low
	}
	if r.low, err = parsePort(low); err == nil {
		r.high, err = parsePort(high)
	}
	if err == nil && r.low > r.high {
		err = fmt.Errorf("port %s is above %s", low, high)
	}
	if err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", s, err)
	}
	return r, nil
}

func parseNet(s string) (netip.Prefix, error) {
	inside, bracket := strings.CutPrefix(s, "[")
	if bracket {
		var closed bool
		if inside, closed = strings.CutSuffix(inside, "]"); !closed {
			return netip.Prefix{}, fmt.Errorf("%q has no closing bracket", s)
		}
	}
	ip, bits, hasBits := strings.Cut(inside, "/")
	a, err := netip.ParseAddr(ip)
	if err != nil || a.Zone() != "" || a.Is4() == bracket {
		return netip.Prefix{}, fmt.Errorf("%q is neither an IPv4 address nor an IPv6 address in brackets", s)
	}
	n := a.BitLen()
	if hasBits {
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > a.BitLen() {
			return netip.Prefix{}, fmt.Errorf("/%s is not a length from 0 to %d bits", bits, a.BitLen())
		}
	}
	if a.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is an IPv4 address: write it as one", s)
	}
	return netip.PrefixFrom(a, n).Masked(), nil
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", s)
	}
	return uint16(n), nil
}

// Match reports whether the rule matches an address. An IPv4-mapped IPv6 address counts as IPv4.
func (r Rule) Match(a netip.AddrPort) bool {
	return r.low <= a.Port() && a.Port() <= r.high &&
		(!r.net.IsValid() || r.net.Contains(a.Addr().Unmap().WithZone("")))
}
