package verbs

import (
	"net/netip"
	"slices"
	"testing"
)

// TestListenAt: a Listener of a name is at the address that net.Listen uses.
func TestListenAt(t *testing.T) {
	four, other, six := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.2:1"), netip.MustParseAddrPort("[::1]:1")
	for _, tt := range []struct {
		all  []netip.AddrPort
		want netip.AddrPort
	}{
		{[]netip.AddrPort{six, four, other}, four},
		{[]netip.AddrPort{four, six}, four},
		{[]netip.AddrPort{six}, six},
	} {
		if got := listenAt(tt.all); got != tt.want {
			t.Errorf("listenAt(%v) = %v, want %v", tt.all, got, tt.want)
		}
	}
}

// TestResolve: resolve returns all addresses of a host that are in the network.
func TestResolve(t *testing.T) {
	for _, tt := range []struct{ network, address, want string }{
		{"tcp", ":80", "0.0.0.0:80"},
		{"tcp4", ":80", "0.0.0.0:80"},
		{"tcp6", ":80", "[::]:80"},
		{"tcp", "[::ffff:127.0.0.1]:80", "127.0.0.1:80"},
		{"tcp", "[::1]:http", "[::1]:80"},
	} {
		got, err := resolve(t.Context(), tt.network, tt.address)
		if want := []netip.AddrPort{netip.MustParseAddrPort(tt.want)}; err != nil || !slices.Equal(got, want) {
			t.Errorf("resolve(%s, %s) = %v, %v, want %v", tt.network, tt.address, got, err, want)
		}
	}
	if got, err := resolve(t.Context(), "udp", ":80"); err == nil {
		t.Errorf("resolve for udp = %v", got)
	}
}
