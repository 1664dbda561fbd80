//go:build linux

package cm

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/conn"
)

// TestDialAgain: a refused connection is retried for half a second, at growing intervals.
func TestDialAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		refused := func() (*conn.Conn, error) {
			attempts++
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		if _, err := dial(t.Context(), refused); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial = %v, want ECONNREFUSED", err)
		}
		if attempts != 6 { // after 0, 20, 60, 140, 300 and 620 ms
			t.Errorf("%d attempts, want 6", attempts)
		}
	})
}
