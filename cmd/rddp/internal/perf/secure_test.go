package perf

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestSecure: TLS at both ends runs over netconn.ForTLS, so extended sockets over it behave as with
// Config.TLS, and are not slower as over a foreign *tls.Conn.
func TestSecure(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var server, client net.Conn
	var serverErr error
	var serving sync.WaitGroup
	serving.Go(func() {
		c, err := l.Accept()
		if err != nil {
			serverErr = err
			return
		}
		s := &Server{TLS: certified.TLS, Log: slog.New(slog.DiscardHandler)}
		server, serverErr = s.secure(t.Context(), c, &closer{c: c})
	})
	plain, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	client, err = secure(t.Context(), plain, &Options{TLS: &tls.Config{InsecureSkipVerify: true}, Timeout: time.Hour}, l.Addr().String())
	serving.Wait()
	if err != nil || serverErr != nil {
		t.Fatal(err, serverErr)
	}
	defer server.Close()
	for _, c := range []net.Conn{client, server} {
		below, ok := c.(*tls.Conn).NetConn().(interface{ NetConn() net.Conn })
		if !ok {
			t.Fatalf("TLS is over a %T", c.(*tls.Conn).NetConn())
		}
		if err := tune(c, "", 64<<10); err != nil {
			t.Errorf("buffers of TLS over %T: %v", below.NetConn(), err)
		}
	}
}
