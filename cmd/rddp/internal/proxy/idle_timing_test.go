package proxy

import (
	"errors"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// TestIdleTunnel: a tunnel without traffic for Config.Idle ends. The tunnel must also be
// established within that time.
func TestIdleTunnel(t *testing.T) {
	entrance, exit := tunnel(t, tcptest.Serve(t, tcptest.Echo), Config{})
	quick := start(t, "127.0.0.1:0", exit.Addr().String(), Config{Idle: 100 * time.Millisecond})
	quick.dialInVain(t)
	if s := told(t, quick, "idle"); !errors.Is(s.Err, ErrIdle) {
		t.Errorf("told %v", s)
	}
	told(t, exit, "the entrance: the peer ended the connection early")
	works(t, entrance)
}
