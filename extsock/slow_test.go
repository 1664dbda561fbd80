package extsock_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
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

// TestSlowPeerIsNotGone: a peer that takes a little data at a time causes neither a write timeout
// nor an idle timeout, however long TCP calls its send buffer full.
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
						s = asPlainConn(a)
					}
					slow := &trickle{Conn: b}
					ci, cr := switched(t, s, slow, side{cfg: cfg}, side{})
					h := register(t, cr, make([]byte, 1<<20), ddp.RemoteWrite).Handle()
					slow.slow.Store(true)
					if err := postWrite(ci, h, make([]byte, 1<<20)); err != nil {
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

// TestWriteOfWhichAllIsOut: if the deadline of a Write passes when all of it is on its way, the
// Write succeeds, whichever way it goes.
func TestWriteOfWhichAllIsOut(t *testing.T) {
	for _, crossover := range []int{-1, 40_000} {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{})
			slow := &trickle{Conn: b}
			cfg := extsock.Config{Crossover: crossover}
			ci, cr := switched(t, a, slow, side{cfg: cfg}, side{cfg: cfg})
			read := make(chan error, 1)
			go func() {
				p := make([]byte, 50_000)
				_, err := io.ReadFull(cr, p)
				read <- err
			}()
			time.Sleep(time.Second)
			slow.slow.Store(true)
			ci.SetWriteDeadline(time.Now().Add(4 * time.Second))
			if n, err := ci.Write(tapeAt(0, 50_000)); n != 50_000 || err != nil {
				t.Errorf("crossover %d: Write = %d, %v", crossover, n, err)
			}
			if err := <-read; err != nil {
				t.Errorf("crossover %d: Read = %v", crossover, err)
			}
			if n := ci.Stats().RendezvousOctets; (n > 0) != (crossover > 0) {
				t.Errorf("crossover %d: %d octets by rendezvous", crossover, n)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}
