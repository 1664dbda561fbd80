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
	"github.com/rddp/rddp/internal/prototest"
)

// TestTLSErrors: if only one end speaks TLS, or one end does not accept the other end's certificate,
// the errors of both ends say so.
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

// TestTLSErrorsOfFewBytes: a peer without TLS is told apart by its first byte, though it sends less than
// the header of a TLS record. Else the handshake would end at its time limit, with another error.
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

// TestTLSCut: a FIN that the peer's TLS has not announced, as anybody on the way can send it, is no end of the
// stream, in message mode either. An orderly Close is.
func TestTLSCut(t *testing.T) {
	for _, messages := range []bool{false, true} {
		for _, cut := range []bool{true, false} {
			clientTLS, serverTLS := tlsConfigs(t)
			l, err := extsock.Listen("tcp", "127.0.0.1:0", &extsock.Config{TLS: serverTLS, Messages: messages, Startup: extsock.StartupRequire})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			entrance, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer entrance.Close()
			toServer := make(chan *net.TCPConn, 1)
			go func() {
				near, err := entrance.Accept()
				if err != nil {
					return
				}
				far, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					near.Close()
					return
				}
				go func() { io.Copy(near, far); near.Close() }()
				toServer <- far.(*net.TCPConn)
				io.Copy(far, near)
				far.Close()
			}()
			c, err := (&extsock.Dialer{Config: &extsock.Config{TLS: clientTLS, Messages: messages}}).DialDDP(timeLimit(t), "tcp", entrance.Addr().String())
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
				(<-toServer).CloseWrite()
			} else if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			n, err := s.Read(b)
			if n != 0 || cut && !errors.Is(err, io.ErrUnexpectedEOF) || !cut && err != io.EOF {
				t.Errorf("messages %t, cut %t: Read = %d, %v", messages, cut, n, err)
			}
		}
	}
}
