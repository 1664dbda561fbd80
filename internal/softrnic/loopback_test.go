package softrnic

import (
	"net/netip"
	"testing"
)

// TestLoopbackAddress: a connection manager may use 127.0.0.1 and ::1 in any case, and queue pairs
// name this host by a GID.
func TestLoopbackAddress(t *testing.T) {
	d, err := New(Config{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.3")}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, tt := range []struct {
		addr  string
		own   bool
		named string
	}{
		{"192.0.2.1", true, "192.0.2.1"},
		{"192.0.2.2", false, "192.0.2.2"},
		{"127.0.0.1", true, "192.0.2.1"},
		{"::1", true, "192.0.2.1"},
		{"127.0.0.2", false, "127.0.0.2"},
		{"127.0.0.3", true, "127.0.0.3"},
	} {
		a := netip.MustParseAddr(tt.addr)
		if own, named := d.IsOwn(a), d.Named(a); own != tt.own || named.String() != tt.named {
			t.Errorf("%v: own %v, named %v, want %v, %s", a, own, named, tt.own, tt.named)
		}
	}
}
