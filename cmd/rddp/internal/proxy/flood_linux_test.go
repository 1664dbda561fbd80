package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// Newcomers from one address displace only each other: a silent client at another address keeps its
// place, at the entrance and at the exit.
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

// TestFloodThatSpeaks: peers at one address, which have sent something once, take all places. An
// earlier connection from another address keeps its place. New connections from other addresses get
// places too, up to a fair share. Then a third of the places is free for any further address.
func TestFloodThatSpeaks(t *testing.T) {
	const most = 12
	exchange := func(c net.Conn) error {
		b := []byte("x")
		if _, err := c.Write(b); err != nil {
			return err
		}
		_, err := io.ReadFull(c, b)
		return err
	}
	try := func(t *testing.T, at *running, dial func(from byte) (net.Conn, error)) {
		t.Helper()
		client := func(from byte) net.Conn {
			t.Helper()
			c, err := dial(from)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if err := exchange(c); err != nil {
				t.Errorf("a client at 127.0.0.%d: %v", from, err)
			}
			return c
		}
		early := client(1)
		flood := make([]net.Conn, most-1)
		for i := range flood {
			flood[i] = client(2)
		}
		late := []net.Conn{client(3), client(3), client(4)}
		for range late {
			if s := at.next(t); !errors.Is(s.Err, admission.ErrShare) || !strings.HasPrefix(s.From, "127.0.0.2:") {
				t.Errorf("%v lost its place: %v", s.From, s.Err)
			}
		}
		for _, c := range append(late, early) {
			if err := exchange(c); err != nil {
				t.Errorf("a client of another address: %v", err)
			}
		}
		if err := exchange(flood[0]); err != nil {
			t.Errorf("the flood lost what it may hold: %v", err)
		}
	}
	from := func(from byte) net.Dialer { return net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}} }
	t.Run("entrance", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{})
		entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{MaxConns: most})
		try(t, entrance, func(i byte) (net.Conn, error) {
			d := from(i)
			return d.Dial("tcp", entrance.Addr().Address)
		})
	})
	t.Run("exit", func(t *testing.T) {
		exit := start(t, "rddp://127.0.0.1:0", tcptest.Serve(t, tcptest.Echo), Config{MaxConns: most})
		try(t, exit, func(i byte) (net.Conn, error) {
			return (&extsock.Dialer{NetDialer: from(i)}).DialDDP(context.Background(), "tcp", exit.Addr().Address)
		})
	})
}
