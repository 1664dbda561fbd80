// Package rules chooses TCP connections by address and port.
package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Rule matches the addresses of a network at a range of ports. For a connection that is the
// address of the peer, for a listener its own.
type Rule struct {
	net       netip.Prefix // the zero Prefix matches every address
	low, high uint16
}

// Parse returns the rule that s spells: [ADDRESS[/BITS]]:PORT[-PORT]. An IPv6 address is in
// brackets, its /BITS inside them. Without an address the rule matches every one. Names are
// refused, because a program connects to numbers.
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

// Match tells whether the rule matches an address. An IPv4 address that is mapped into IPv6 counts
// as IPv4.
func (r Rule) Match(a netip.AddrPort) bool {
	return r.low <= a.Port() && a.Port() <= r.high &&
		(!r.net.IsValid() || r.net.Contains(a.Addr().Unmap().WithZone("")))
}
