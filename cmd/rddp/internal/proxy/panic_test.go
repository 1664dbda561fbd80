package proxy

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// A panicking is a connection that panics when the proxy waits for the header.
type panicking struct{ net.Conn }

func (panicking) SetReadDeadline(time.Time) error { panic("a bug") }

// TestPanicEndsBoth: after a panic while serving a connection, both sides are closed, and it counts
// as ended.
func TestPanicEndsBoth(t *testing.T) {
	exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{Timeout: prototest.Patience(t)})
	ended := make(chan Summary, 1)
	p, err := Listen(t.Context(), address(t, "127.0.0.1:0"), address(t, exit.Addr().String()), &Config{
		Timeout: prototest.Patience(t), HeaderFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Ended: func(s Summary) { ended <- s },
	})
	if err != nil {
		t.Fatal(err)
	}
	accept := p.l.accept
	p.l.accept = func() (net.Conn, error) {
		c, err := accept()
		if err != nil {
			return nil, err
		}
		return panicking{c}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	tcptest.Dial(t, p.Addr().Address)
	select {
	case s := <-ended:
		if s.Err == nil {
			t.Error("the connection has ended in order")
		}
	case <-time.After(prototest.Patience(t)):
		t.Error("the connection does not end")
	}
	exit.next(t)
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := p.Stats(); got.Open != 0 || got.Ended != 1 || got.Failed != 1 {
		t.Errorf("%+v", got)
	}
}
