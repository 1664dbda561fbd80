package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/accept"
	"github.com/rddp/rddp/cmd/rddp/internal/tcptest"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
)

// Newcomers from one address take only each other's places: a client at another address that has
// said nothing yet keeps its own, at the entrance and at the exit.
func TestFlood(t *testing.T) {
	const most, many = 4, 20
	flooder := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	flood := func(t *testing.T, at *running, dial func(address string) (net.Conn, error)) {
		t.Helper()
		for range many {
			c, err := dial(at.Addr().Address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
		}
		for range many + 1 - most {
			if s := at.next(t); !errors.Is(s.Err, accept.ErrDisplaced) || !strings.HasPrefix(s.From, "127.0.0.2:") {
				t.Errorf("%v lost its place: %v", s.From, s.Err)
			}
		}
	}
	say := func(t *testing.T, c net.Conn) {
		t.Helper()
		b := []byte("x")
		c.Write(b)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Errorf("the honest client: %v", err)
		}
	}
	t.Run("entrance", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
		entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{MaxConns: most})
		honest := entrance.dial(t)
		prototest.Wait(t, "the honest client is accepted", func() bool { return entrance.Stats().Open == 1 })
		flood(t, entrance, func(address string) (net.Conn, error) { return flooder.Dial("tcp", address) })
		say(t, honest)
	})
	t.Run("exit", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{MaxConns: most})
		honest := exit.dialDDP(t)
		d := &extsock.Dialer{NetDialer: flooder}
		flood(t, exit, func(address string) (net.Conn, error) { return d.DialDDP(context.Background(), "tcp", address) })
		say(t, honest)
	})
}
