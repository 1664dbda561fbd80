package extsock_test

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A relayTap is a Tap that writes what it sees to another connection.
type relayTap struct{ to net.Conn }

func (r relayTap) Sent(p []byte)     { r.to.Write(p) }
func (r relayTap) Received(p []byte) { r.to.Write(p) }
func (r relayTap) Closed()           { r.to.Write([]byte("closed")) }

// TestTapUsesAnotherConnection: a Tap and a trace handler may use other connections, in each of
// their calls. In a race build the order of locks is asserted.
func TestTapUsesAnotherConnection(t *testing.T) {
	alone(t)
	for _, mode := range []side{{}, inMessages} {
		bubble(t, func(t *testing.T) {
			to, from := simPair(t, simtoe.Config{}, side{}, side{})
			go io.Copy(io.Discard, from)
			relay := func(_, _ net.Addr, _ bool) toe.Tap { return relayTap{to} }
			traced := mode
			traced.cfg.Tap = relay
			traced.cfg.Trace = slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
			a, b := simPair(t, simtoe.Config{}, traced, mode)
			go func() {
				p := make([]byte, 100_000)
				for {
					n, err := b.Read(p)
					if err != nil {
						return
					}
					b.Write(p[:min(n, 2000)])
				}
			}()
			go io.Copy(io.Discard, a)
			for range 3 {
				stop, err := a.StartTap(relay)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range []int{1, 20_000, 60_000} {
					if _, err := a.Write(make([]byte, n)); err != nil {
						t.Fatal(err)
					}
				}
				if mode.cfg.Messages {
					time.Sleep(time.Second)
				} else if _, err := a.Write(make([]byte, 4<<20)); err != nil {
					t.Fatal(err)
				}
				stop()
			}
			if _, err := a.StartTap(relay); err != nil {
				t.Fatal(err)
			}
			a.Close()
			b.Close()
			settle()
			to.Close()
			from.Close()
			settle()
			if n := extsock.TotalStats().Panics; n != 0 {
				t.Errorf("%d panics", n)
				extsock.ResetPanics()
			}
		})
	}
}
