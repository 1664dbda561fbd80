//go:build linux

package cm

import (
	"net/netip"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestConflict checks which addresses two ids may have at one port, and the error for others.
func TestConflict(t *testing.T) {
	for _, tt := range []struct {
		first string
		only  bool // RDMA_OPTION_ID_AFONLY
		then  string
		too   bool
		want  syscall.Errno
	}{
		{"127.0.0.1", false, "127.0.0.1", false, syscall.EADDRINUSE},
		{"127.0.0.1", false, "192.0.2.1", false, 0},
		{"127.0.0.1", false, "0.0.0.0", false, syscall.EADDRNOTAVAIL},
		{"0.0.0.0", false, "127.0.0.1", false, syscall.EADDRNOTAVAIL},
		{"0.0.0.0", false, "0.0.0.0", false, syscall.EADDRNOTAVAIL},
		{"0.0.0.0", false, "::", true, 0},
		{"::", true, "0.0.0.0", false, 0},
		{"127.0.0.1", false, "::", true, 0},
		{"::", true, "127.0.0.1", false, 0},
		{"::1", true, "127.0.0.1", false, 0},
		{"0.0.0.0", false, "::", false, syscall.EADDRNOTAVAIL},
		{"::", false, "127.0.0.1", false, syscall.EADDRNOTAVAIL},
		{"::", true, "::1", true, syscall.EADDRNOTAVAIL},
		{"::1", true, "::1", true, syscall.EADDRINUSE},
	} {
		other := holder{netip.MustParseAddr(tt.first), tt.only}
		if e := (holder{netip.MustParseAddr(tt.then), tt.too}).conflict(other); e != tt.want {
			t.Errorf("%s, then %s: %v, want %v", tt.first, tt.then, e, tt.want)
		}
	}
}

// TestBindAddress binds an address that the host does not have, one of loopback that is no GID, and
// one that is.
func TestBindAddress(t *testing.T) {
	c := newCM(t)
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	for a, want := range map[string]syscall.Errno{"203.0.113.9": syscall.EADDRNOTAVAIL, "::1": 0, "127.0.0.1": 0} {
		if a == "::1" && !isOurs(netip.MustParseAddr(a)) {
			want = syscall.EADDRNOTAVAIL
		}
		err := c.cm.newLocked(c, ucma.TCP, idle).bind(netip.AddrPortFrom(netip.MustParseAddr(a), 0))
		if uverbs.ErrnoOf(err) != want {
			t.Errorf("%s: %v, want %v", a, err, want)
		}
	}
}
