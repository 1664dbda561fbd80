package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestNoResumption: a client that keeps sessions is checked again for each connection, so it is
// refused once its authority has been removed from the file.
func TestNoResumption(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	own, _, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	client, pin, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	trust := func(c *x509.Certificate) {
		t.Helper()
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust(client.Leaf)
	server, err := Server{Identity: Identity{Own: own}, CA: file}.Config()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{
		InsecureSkipVerify: true, Certificates: []tls.Certificate{*client}, //nolint:gosec // it is the server that is tested
		ServerName: "here", ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
	pinning, err := Server{Identity: Identity{Own: own}, Pins: []Pin{pin}}.Config() // crypto/tls itself checks the authorities again
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s, err := handshake(t, pinning, cfg); err != nil || s.DidResume {
			t.Errorf("a client with the pin: resumed %t, %v", s.DidResume, err)
		}
	}
	for range 2 {
		if s, err := handshake(t, server, cfg); err != nil || s.DidResume {
			t.Errorf("a client of the authority: resumed %t, %v", s.DidResume, err)
		}
	}
	trust(own.Leaf)
	if s, err := handshake(t, server, cfg); err == nil {
		t.Errorf("a client whose authority has gone got in; resumed: %t", s.DidResume)
	}
}

// handshake connects a client to a server, which sends one byte. It returns the server's result.
func handshake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return // Accept fails too, at its deadline
		}
		defer c.Close()
		c.SetDeadline(prototest.Deadline(t))
		_, _ = io.ReadAll(tls.Client(c, client)) // receives the tickets; the server reports errors
	}()
	if err := l.(*net.TCPListener).SetDeadline(prototest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(prototest.Deadline(t))
	conn := tls.Server(c, server)
	_, err = conn.Write([]byte("x")) // after the handshake
	return conn.ConnectionState(), err
}
