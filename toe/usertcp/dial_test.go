package usertcp

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
)

// TestDialAny: Dial takes the first of several addresses of a name that answers. If none does, the
// error is that of the first one.
func TestDialAny(t *testing.T) {
	x := newJoined(t)
	good := netip.MustParseAddrPort(x.listener.Addr().String())
	refused, unknown := netip.AddrPortFrom(good.Addr(), 1), netip.MustParseAddrPort("[fd07::2]:1") // these Stacks have no IPv6
	s, err := x.stacks[0].dialAny(t.Context(), "tcp", []netip.AddrPort{unknown, refused, good})
	if err != nil {
		t.Fatalf("dialAny = %v", err)
	}
	defer s.Close()
	if a := x.accept(); a.RemoteAddr().String() != s.LocalAddr().String() {
		t.Errorf("accepted from %v, dialed from %v", a.RemoteAddr(), s.LocalAddr())
	}
	if _, err := x.stacks[0].dialAny(t.Context(), "tcp", []netip.AddrPort{refused, unknown}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialAny of nobody = %v, want the first error, ECONNREFUSED", err)
	}
}

// TestListenAt: a Listener of a name is at an IPv4 address, if there is one.
func TestListenAt(t *testing.T) {
	four, six := netip.MustParseAddrPort("10.7.0.2:7"), netip.MustParseAddrPort("[fd07::2]:7")
	for _, test := range []struct {
		all  []netip.AddrPort
		want netip.AddrPort
	}{
		{[]netip.AddrPort{six, four}, four},
		{[]netip.AddrPort{four, six}, four},
		{[]netip.AddrPort{six}, six},
		{make([]netip.AddrPort, 1), netip.AddrPort{}},
	} {
		if got := listenAt(test.all); got != test.want {
			t.Errorf("listenAt(%v) = %v, want %v", test.all, got, test.want)
		}
	}
}
