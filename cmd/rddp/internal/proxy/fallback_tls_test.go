package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/tlsfiles"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// An entrance with TLS falls back to a service in TLS, and never to one without.
func TestFallbackKeepsTLS(t *testing.T) {
	own, pin, err := tlsfiles.Self()
	if err != nil {
		t.Fatal(err)
	}
	client, err := tlsfiles.Client{Pins: []tlsfiles.Pin{pin}}.Config()
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan error, 2) // the service's last Read error on each connection
	service := tcptest.Serve(t, func(under *net.TCPConn) {
		c := tls.Server(under, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*own}})
		b := make([]byte, 4)
		for {
			if _, err := io.ReadFull(c, b); err != nil {
				ends <- err
				c.Close()
				return
			}
			if string(b) == "MPA " {
				io.WriteString(c, "400 what?")
				c.Close()
				return
			}
			c.Write(b)
		}
	})
	entrance := start(t, "127.0.0.1:0", "rddp://"+service, Config{Fallback: true, TLS: client})
	c := entrance.dial(t)
	said(t, c, "ask1")
	c.CloseWrite()
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	if s := entrance.next(t); s.Err != nil || !errors.Is(s.Fallback, extsock.ErrPlainTCP) {
		t.Errorf("told %+v", s)
	}
	c = entrance.dial(t)
	said(t, c, "ask2")
	c.SetLinger(0)
	c.Close()
	for i, want := range []bool{false, true} {
		if err := <-ends; isReset(err) != want {
			t.Errorf("the service sees the end %v of connection %d, a reset: want %v", err, i, want)
		}
	}
	if s := entrance.next(t); s.Err == nil {
		t.Errorf("told %+v of a reset", s)
	}

	plain := start(t, "127.0.0.1:0", "rddp://"+tcptest.Serve(t, tcptest.Echo), Config{Fallback: true, TLS: client})
	plain.dialInVain(t)
	if s := told(t, plain, "connecting to the exit"); s.Fallback != nil || plain.Stats().Fallbacks != 0 {
		t.Errorf("told %+v", s)
	}
}
