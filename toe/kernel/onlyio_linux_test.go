package kernel

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/rddp/rddp/toe"
)

// TestOnlyIO: the promise reaches both ends of a connection, over TCP and over a unix socket, and a
// Stream of a connection of package net.
func TestOnlyIO(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		for _, promise := range []bool{false, true} {
			b := &Backend{OnlyIO: promise}
			l, err := b.Listen(context.Background(), network, address)
			if err != nil {
				t.Fatal(err)
			}
			x, err := b.Dial(context.Background(), network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			y, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			ends := []toe.Stream{x, y}
			if network == "tcp" {
				ends = append(ends, b.New(dialTCP(t, l)))
			}
			for _, s := range ends {
				var got bool
				switch s := s.(type) {
				case *Stream:
					got = s.onlyIO
				case *UnixStream:
					got = s.onlyIO
				}
				if got != promise {
					t.Errorf("%s: OnlyIO is %t, want %t", network, got, promise)
				}
				s.Close()
			}
			l.Close()
		}
	}
}

// dialTCP connects to l by package net.
func dialTCP(t *testing.T, l toe.Listener) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}
