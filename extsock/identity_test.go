package extsock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// withClientCertificates returns the TLS configurations of both sides. The server asks for the
// client's certificate.
func withClientCertificates(t *testing.T) (client, server *tls.Config) {
	client, server = tlsConfigs(t)
	client.Certificates = server.Certificates
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, client.RootCAs
	return client, server
}

// TestPeerUnderTLS: after Handshake, ConnectionState has the peer's certificates, at both ends and
// in each mode.
func TestPeerUnderTLS(t *testing.T) {
	listened := func(mode extsock.Startup) func(t *testing.T) (client, server *extsock.Conn) {
		return func(t *testing.T) (client, server *extsock.Conn) {
			clientTLS, serverTLS := withClientCertificates(t)
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{Startup: mode, TLS: serverTLS})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			dialed := make(chan error)
			go func() {
				var err error
				client, err = extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Startup: mode, TLS: clientTLS})
				dialed <- err
			}()
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			server = c.(*extsock.Conn)
			if mode == extsock.StartupOff { // TLS begins at the first use
				if s := server.ConnectionState(); s.TLS != nil {
					t.Errorf("before the handshake TLS is %v", s.TLS)
				}
			}
			if err := server.Handshake(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := <-dialed; err != nil {
				t.Fatal(err)
			}
			return client, server
		}
	}
	own := func(ddp bool) func(t *testing.T) (client, server *extsock.Conn) {
		return func(t *testing.T) (client, server *extsock.Conn) {
			clientTLS, serverTLS := withClientCertificates(t)
			a, b := kernelStreams(t)
			x, y := tls.Client(a, clientTLS), tls.Server(b, serverTLS)
			if ddp {
				return switched(t, x, y, side{}, side{})
			}
			client, server = extsock.NewConn(x, true, nil), extsock.NewConn(y, false, nil)
			done := make(chan error)
			go func() { done <- client.Handshake(context.Background()) }()
			if err := server.Handshake(context.Background()); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			return client, server
		}
	}
	for desc, pair := range map[string]func(t *testing.T) (client, server *extsock.Conn){
		"StartupRequire": listened(extsock.StartupRequire), "StartupPrefer": listened(extsock.StartupPrefer), "StartupOff": listened(extsock.StartupOff),
		"the program's own TLS": own(false), "the program's own TLS, DDP mode": own(true),
	} {
		t.Run(desc, func(t *testing.T) {
			client, server := pair(t)
			for _, c := range []*extsock.Conn{client, server} {
				for range 2 {
					s := c.ConnectionState().TLS
					if s == nil || !s.HandshakeComplete || len(s.PeerCertificates) == 0 || len(s.VerifiedChains) == 0 {
						t.Errorf("ConnectionState.TLS = %+v", s)
					}
					c.Close() // the state remains
				}
			}
		})
	}
	plain, _ := tcpPair(t, side{}, side{})
	if s := plain.ConnectionState(); s.TLS != nil {
		t.Errorf("without TLS: %+v", s.TLS)
	}
}

// TestStateDoesNotWaitForTLS: ConnectionState returns while TLS's handshake is under way, and
// Handshake ends with its context.
func TestStateDoesNotWaitForTLS(t *testing.T) {
	clientTLS, _ := tlsConfigs(t)
	a, b := net.Pipe()
	defer b.Close()
	c := extsock.NewConn(tls.Client(a, clientTLS), true, nil)
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Handshake(ctx) }()
	if _, err := io.ReadFull(b, make([]byte, 5)); err != nil { // the beginning of its ClientHello
		t.Fatal(err)
	}
	if s := c.ConnectionState(); s.TLS != nil {
		t.Errorf("during the handshake TLS is %v", s.TLS)
	}
	cancel()
	if err := <-ended; !isCanceled(err) {
		t.Errorf("Handshake = %v, want context.Canceled", err)
	}
}

func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }
