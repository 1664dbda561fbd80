package extsock_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// trickle is a connection that takes 4000 octets each second, once slow is set.
type trickle struct {
	net.Conn
	slow atomic.Bool
}

func (s *trickle) Read(p []byte) (int, error) {
	if s.slow.Load() {
		time.Sleep(time.Second)
		p = p[:min(len(p), 4000)]
	}
	return s.Conn.Read(p)
}

// TestSlowPeerIsNotGone: a peer that takes little at a time is neither one whose TCP takes nothing nor idle, however long TCP
// calls its send buffer full.
func TestSlowPeerIsNotGone(t *testing.T) {
	for desc, cfg := range map[string]extsock.Config{
		"WriteTimeout": {WriteTimeout: 10 * time.Second}, "IdleTimeout": {IdleTimeout: 10 * time.Second},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TCP that can't be waited for: %t", desc, whole), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					wire := simtoe.Config{}
					if whole {
						wire.Window = 16 << 10
					}
					a, b := simtoe.Pair(wire, wire)
					var s net.Conn = a
					if whole {
						s = noTryWrite{a}
					}
					slow := &trickle{Conn: b}
					ci, cr := switched(t, s, slow, side{cfg: cfg}, side{})
					h := register(t, cr, make([]byte, 1<<20), extsock.RemoteWrite).Handle()
					slow.slow.Store(true)
					if _, err := ci.PostWrite(h, make([]byte, 1<<20)); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					if d, err := ci.SendCQ().Wait(ctx); err != nil || d.Err != nil {
						t.Errorf("%v, %v", d, err)
					}
					slow.slow.Store(false)
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}
