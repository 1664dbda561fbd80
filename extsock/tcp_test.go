package extsock_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// TestSettings: the settings of TCP work over TCP, in both modes, and return errors.ErrUnsupported
// over other streams.
func TestSettings(t *testing.T) {
	settings := map[string]func(c *extsock.Conn) error{
		"SetNoDelay":         func(c *extsock.Conn) error { return c.SetNoDelay(true) },
		"SetKeepAlive":       func(c *extsock.Conn) error { return c.SetKeepAlive(true) },
		"SetKeepAlivePeriod": func(c *extsock.Conn) error { return c.SetKeepAlivePeriod(time.Minute) },
		"SetLinger":          func(c *extsock.Conn) error { return c.SetLinger(-1) },
		"SetKeepAliveConfig": func(c *extsock.Conn) error { return c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true}) },
		"SetReadBuffer":      func(c *extsock.Conn) error { return c.SetReadBuffer(1 << 16) },
		"SetWriteBuffer":     func(c *extsock.Conn) error { return c.SetWriteBuffer(1 << 16) },
	}
	a, b := kernelStreams(t)
	defer b.Close()
	plain := extsock.NewConn(a, true, nil)
	defer plain.Close()
	inDDP, _ := tcpPair(t, side{}, side{})
	p, q := net.Pipe()
	defer q.Close()
	none := extsock.NewConn(p, true, nil)
	defer none.Close()
	u, v := unixStreams(t)
	defer v.Close()
	unix := extsock.NewConn(u, true, nil)
	defer unix.Close()
	for name, set := range settings {
		if err, has := set(unix), strings.HasSuffix(name, "Buffer"); (err == nil) != has || !has && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s on a unix socket: %v", name, err)
		}
		if err := set(plain); err != nil {
			t.Errorf("%s in TCP mode: %v", name, err)
		}
		if err := set(inDDP); err != nil {
			t.Errorf("%s in DDP mode: %v", name, err)
		}
		if err := set(none); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s on a pipe: %v, want errors.ErrUnsupported", name, err)
		}
	}
}
