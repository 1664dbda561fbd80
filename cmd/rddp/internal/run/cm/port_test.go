//go:build linux

package cm

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/softrnic"
)

// TestDialAgain: a refused connection is retried for half a second, at growing intervals.
func TestDialAgain(t *testing.T) {
	p, at, err := reserve(netip.MustParseAddrPort("127.0.0.1:0"), false, false) // nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		dialer := net.Dialer{Control: func(string, string, syscall.RawConn) error { attempts++; return nil }}
		if _, err := dial(t.Context(), new(softrnic.Device), dialer, at, &conn.Config{}, nil); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial = %v, want ECONNREFUSED", err)
		}
		if attempts != 6 { // after 0, 20, 60, 140, 300 and 620 ms
			t.Errorf("%d attempts, want 6", attempts)
		}
	})
}
