package extsock_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// TestTLSErrors: if only one end speaks TLS, or one end does not accept the other end's
// certificate, the errors of both ends say so.
func TestTLSErrors(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	stranger := clientTLS.Clone()
	stranger.RootCAs = x509.NewCertPool()
	mutual := serverTLS.Clone()
	mutual.ClientAuth = tls.RequireAnyClientCert
	for _, tt := range []struct {
		desc             string
		client, server   *tls.Config
		inClient, inHost string
	}{
		{"plain to TLS", nil, serverTLS, "the peer speaks TLS, and this end does not", `this end speaks TLS, and the peer does not: it begins "MPA I"`},
		{"TLS to plain", clientTLS, nil, "it probably speaks no TLS", "the peer speaks TLS, and this end does not"},
		{"an unknown authority", stranger, serverTLS, "certificate signed by unknown authority", "the peer refuses this end's certificate: tls: bad certificate"},
		{"no certificate", clientTLS, mutual, "the peer requires a certificate of this end", "client didn't provide a certificate"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: tt.server})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			served := make(chan error, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					err = c.(*extsock.Conn).EnableDDP(timeLimit(t), nil)
					c.Close()
				}
				served <- err
			}()
			_, err = (&extsock.Dialer{Config: &extsock.Config{TLS: tt.client}}).DialDDP(timeLimit(t), "tcp", l.Addr().String())
			if err == nil || !strings.Contains(err.Error(), tt.inClient) {
				t.Errorf("the client says %v, want %q in it", err, tt.inClient)
			}
			if err := <-served; err == nil || !strings.Contains(err.Error(), tt.inHost) {
				t.Errorf("the server says %v, want %q in it", err, tt.inHost)
			}
		})
	}
}

// TestTLSErrorsOfFewBytes: a peer without TLS is recognized by its first byte, even if it sends
// less than the header of a TLS record. Otherwise the handshake would end at its timeout, with
// another error.
func TestTLSErrorsOfFewBytes(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	for _, first := range []string{"Q", "GET ", "\r\n"} {
		want := fmt.Sprintf("this end speaks TLS, and the peer does not: it begins %q", first)
		l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: serverTLS})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				err = c.(*extsock.Conn).EnableDDP(timeLimit(t), nil)
				c.Close()
			}
			served <- err
		}()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(prototest.Deadline(t))
		io.WriteString(c, first)
		if b, err := io.ReadAll(c); err != nil || !bytes.Equal(b, []byte{0x15, 3, 3, 0, 2, 2, 10}) { // unexpected_message
			t.Errorf("the client of %q gets % x, %v", first, b, err)
		}
		if err := <-served; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the server says %v, want %q in it", err, want)
		}
		c.Close()
		l.Close()

		plain, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			io.WriteString(c, first)
			io.Copy(io.Discard, c) // until the client goes
		}()
		if _, err := (&extsock.Dialer{Config: &extsock.Config{TLS: clientTLS}}).DialDDP(timeLimit(t), "tcp", plain.Addr().String()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the client says %v, want %q in it", err, want)
		}
		plain.Close()
	}
}

// cutter relays the bytes of a TCP connection to the address to. It sends each connection that it
// makes there to made.
func cutter(t *testing.T, to string) (address string, made <-chan *net.TCPConn) {
	t.Helper()
	entrance, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { entrance.Close() })
	out := make(chan *net.TCPConn, 1)
	go func() {
		near, err := entrance.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			near.Close()
			return
		}
		go func() { io.Copy(near, far); near.Close() }()
		out <- far.(*net.TCPConn)
		io.Copy(far, near)
		far.Close()
	}()
	return entrance.Addr().String(), out
}

// TestTLSCut: a FIN that the peer's TLS has not announced, which anybody on the path can forge, is
// not the end of the stream, not even in message mode. An orderly Close is. The program may also
// make its own *tls.Conn: then crypto/tls hides the difference from message mode, which has no end
// of its own, unless netconn.ForTLS is below.
func TestTLSCut(t *testing.T) {
	own := func(below func(net.Conn) net.Conn) func(net.Conn, *tls.Config) net.Conn {
		return func(c net.Conn, cfg *tls.Config) net.Conn { return tls.Server(below(c), cfg) }
	}
	for _, tt := range []struct {
		desc   string
		config extsock.Config
		own    func(net.Conn, *tls.Config) net.Conn // nil: Config.TLS
		hidden bool
	}{
		{"byte stream", extsock.Config{}, nil, false},
		{"messages", extsock.Config{Messages: true}, nil, false},
		{"rsockets", extsock.Config{RSockets: true}, nil, false},
		{"byte stream over the program's TLS", extsock.Config{}, own(func(c net.Conn) net.Conn { return c }), false},
		{"rsockets over the program's TLS", extsock.Config{RSockets: true}, own(func(c net.Conn) net.Conn { return c }), false},
		{"messages over the program's TLS", extsock.Config{Messages: true}, own(func(c net.Conn) net.Conn { return c }), true},
		{"messages over the program's TLS with ForTLS", extsock.Config{Messages: true},
			own(func(c net.Conn) net.Conn { return netconn.ForTLS(kernel.New(c.(*net.TCPConn))) }), false},
	} {
		for _, cut := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, cut %t", tt.desc, cut), func(t *testing.T) {
				clientTLS, serverTLS := tlsConfigs(t)
				serves, dials := tt.config, tt.config
				serves.Startup, dials.TLS = extsock.StartupRequire, clientTLS
				if tt.own == nil {
					serves.TLS = serverTLS
				}
				tcp, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				below := tcp
				if tt.own != nil {
					below = wrapped{tcp, func(c net.Conn) net.Conn { return tt.own(c, serverTLS) }}
				}
				l := extsock.NewListener(below, &serves)
				defer l.Close()
				address, made := cutter(t, l.Addr().String())
				c, err := (&extsock.Dialer{Config: &dials}).DialDDP(timeLimit(t), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				s, err := l.AcceptDDP()
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				bounded(t, c, s)
				if _, err := c.Write([]byte("hello")); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 100)
				if n, err := s.Read(b); string(b[:n]) != "hello" || err != nil {
					t.Fatalf("Read = %q, %v", b[:n], err)
				}
				if cut {
					(<-made).CloseWrite()
				} else if err := c.Close(); err != nil {
					t.Fatal(err)
				}
				n, err := s.Read(b)
				if ends := !cut || tt.hidden; n != 0 || ends != (err == io.EOF) || !ends && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("Read = %d, %v", n, err)
				}
			})
		}
	}
}

// A wrapped is a listener whose connections are wrapped.
type wrapped struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapped) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}
