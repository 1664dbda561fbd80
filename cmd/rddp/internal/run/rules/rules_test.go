package rules

import (
	"net/netip"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		rule, addr string
		want       bool
	}{
		{":80", "10.0.0.1:80", true},
		{":80", "[::1]:80", true},
		{":80", "10.0.0.1:81", false},
		{":8000-8010", "[fe80::1%eth0]:8010", true},
		{":8000-8010", "10.0.0.1:8011", false},
		{"10.1.2.3:80", "10.1.2.3:80", true},
		{"10.1.2.3:80", "10.1.2.4:80", false},
		{"10.1.2.3/8:80", "10.9.9.9:80", true},
		{"10.1.2.3:80", "[::ffff:10.1.2.3]:80", true},
		{"0.0.0.0/0:80", "[::1]:80", false},
		{"[fe80::/10]:1-65535", "[fe80::1%eth0]:22", true},
		{"[::1]:80", "[::2]:80", false},
	} {
		r, err := Parse(c.rule)
		if err != nil {
			t.Error(err)
		} else if got := r.Match(netip.MustParseAddrPort(c.addr)); got != c.want {
			t.Errorf("%s matches %s: %v", c.rule, c.addr, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "80", ":", ":0", ":65536", ":9-8", ":1-", ":+1", "name:80", "::1:80", "[::1:80", "[10.0.0.1]:80",
		"10.0.0.1/33:80", "10.0.0.1/-1:80", "10.0.0.1/:80", "[fe80::1%eth0]:80", "[::ffff:1.2.3.4]:80", "[]:80",
	} {
		if r, err := Parse(s); err == nil {
			t.Errorf("%q is %+v", s, r)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(":80")
	f.Add("[fe80::/10]:1-2")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err != nil {
			return
		}
		a := netip.IPv4Unspecified()
		if r.net.IsValid() {
			a = r.net.Addr()
		}
		if !r.Match(netip.AddrPortFrom(a, r.low)) || !r.Match(netip.AddrPortFrom(a, r.high)) {
			t.Errorf("%q does not match its own bounds", s)
		}
	})
}
