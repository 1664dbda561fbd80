// Package cliparse parses addresses and sizes in the same way for all commands. Its errors say what
// to write instead.
package cliparse

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the TCP port of an address without one, which is also rping's.
const DefaultPort = "7174"

// unixScheme is the prefix of a unix socket's address.
const unixScheme = "unix:"

// ParseUnix returns the path in the address of a unix socket, unix:PATH. isUnix says whether s has
// that prefix.
func ParseUnix(s string) (path string, isUnix bool, err error) {
	path, isUnix = strings.CutPrefix(s, unixScheme)
	if isUnix && path == "" {
		err = fmt.Errorf("%q has no path: write unix:PATH", s)
	}
	return path, isUnix, err
}

// FormatUnix returns the address of the unix socket at path.
func FormatUnix(path string) string { return unixScheme + path }

// ParseAddress parses a TCP address, HOST, HOST:PORT or :PORT, and returns it in the form of
// package net. An IPv6 address with a port is in brackets. PORT is a number. Without it, the
// address gets the port defaultPort; if that is "", the address must have a port. An empty HOST
// means all addresses of this machine for a listener, and this machine itself for a connection.
func ParseAddress(s, defaultPort string) (string, error) {
	if scheme, _, has := strings.Cut(s, "://"); has {
		return "", fmt.Errorf("%q: %s:// does not belong here: write HOST, HOST:PORT or :PORT", s, scheme)
	}
	host, port, hasPort, err := split(s)
	if err != nil {
		return "", err
	}
	if !hasPort {
		if defaultPort == "" {
			return "", fmt.Errorf("%q has no port: write HOST:PORT", s)
		}
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return "", fmt.Errorf("%q: the port is a number from 0 to 65535", s)
	}
	if err := checkHost(s, host, hasPort); err != nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

// split separates host and port, and removes the brackets around the host.
func split(s string) (host, port string, hasPort bool, err error) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Is6() {
		return s, "", false, nil
	}
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", false, fmt.Errorf("%q has no closing bracket", s)
		}
		if ip, err := netip.ParseAddr(s[1:end]); err != nil || !ip.Is6() {
			return "", "", false, fmt.Errorf("%q: only an IPv6 address is in brackets", s)
		}
		port, hasPort = strings.CutPrefix(s[end+1:], ":")
		if !hasPort && port != "" {
			return "", "", false, fmt.Errorf("%q: after the bracket comes :PORT or nothing", s)
		}
		return s[1:end], port, hasPort, nil
	}
	host, port, hasPort = strings.Cut(s, ":")
	if strings.Contains(port, ":") {
		return "", "", false, fmt.Errorf("%q has several colons: write an IPv6 address with a port as [IPv6]:PORT", s)
	}
	return host, port, hasPort, nil
}

// checkHost checks the host of the address s.
func checkHost(s, host string, hasPort bool) error {
	switch {
	case host == "" && !hasPort:
		return fmt.Errorf("%q is no address: write HOST, HOST:PORT or :PORT", s)
	case strings.Contains(host, "@"):
		return fmt.Errorf("%q: an address has no user", s)
	case strings.Contains(host, ":"): // split has checked that it is an IPv6 address
		_, host, _ = strings.Cut(host, "%")                                                          // its zone, the name of an interface
		if zone, is := strings.CutPrefix(host, "25"); is && strings.Trim(zone, "0123456789") != "" { // %25eth0, as in a URL
			return fmt.Errorf("%q: the zone has no percent-escape: write %%%s", s, zone)
		}
	case strings.Trim(host, "0123456789") == "" && host != "":
		return fmt.Errorf("%q: %s is no host; for a port on all addresses write :%s", s, host, host)
	}
	for _, r := range host {
		if r < 128 && !strings.ContainsRune("-._", r) && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return fmt.Errorf("%q: %q is not in the name of a host", s, r)
		}
	}
	return nil
}

// A Size is a number of bytes.
type Size int64

// units are the units of a Size, largest first.
var units = []struct {
	letter byte
	shift  uint
}{{'g', 30}, {'m', 20}, {'k', 10}}

// ParseSize parses a number of bytes, such as "64" or "4k". The letters k, m and g, or K, M and G,
// mean KiB, MiB and GiB.
func ParseSize(s string) (Size, error) {
	digits, shift := s, uint(0)
	for _, u := range units {
		if n := len(s) - 1; n > 0 && s[n]|0x20 == u.letter {
			digits, shift = s[:n], u.shift
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is no size: write a number of bytes, also with k, m or g for KiB, MiB or GiB", s)
	}
	return Size(n << shift), nil
}

// String returns the size in the largest unit in which it is a whole number.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && s&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(int64(s>>u.shift), 10) + string(u.letter)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseSize.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}
