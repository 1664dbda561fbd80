package accept

import (
	"net"
	"net/netip"
	"testing"
)

// TestMemory: clients at one address get at most half of the memory that others leave, and all
// together get no more than there is. Returned memory can be taken again.
//
// +checklocksignore: no other goroutine is at work
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	m := NewMemory(256 * mib)
	for _, step := range []struct {
		from string
		n    int64
		want bool
	}{
		{"10.0.0.1", 64 * mib, true},
		{"10.0.0.1", 64 * mib, true},
		{"10.0.0.1", 1, false},
		{"10.0.0.2", 64 * mib, true},
		{"10.0.0.2", 1, false},
		{"10.0.0.3", 32 * mib, true},
		{"10.0.0.3", 1, false},
		{"10.0.0.1", -64 * mib, true},
		{"10.0.0.3", 16 * mib, true},
		{"10.0.0.1", -64 * mib, true},
		{"10.0.0.2", -64 * mib, true},
		{"10.0.0.3", -48 * mib, true},
	} {
		from, ok := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(step.from), 1)), true
		if step.n < 0 {
			m.Give(from, -step.n)
		} else {
			ok = m.Take(from, step.n)
		}
		if ok != step.want {
			t.Errorf("%s takes %d bytes: %t; %d are taken", step.from, step.n, ok, m.Taken())
		}
		if n := m.Taken(); n < 0 || n > m.most {
			t.Errorf("%d bytes of %d are taken", n, m.most)
		}
	}
	if n := m.Taken(); n != 0 || len(m.of) != 0 {
		t.Errorf("%d bytes are taken in the end, by %d addresses", n, len(m.of))
	}
}
