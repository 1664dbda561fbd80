//go:build unix

package monitor

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// A last simulates a listener of a process with only one descriptor, for the reserve or for a
// connection.
type last struct {
	pipes
	clients *clients
	taken   bool
}

// A holder is the connection that uses the descriptor.
type holder struct {
	net.Conn
	l *last
}

func (h holder) Close() error { h.l.taken = false; return h.Conn.Close() }

func (l *last) Accept() (net.Conn, error) {
	l.clients.mu.Lock()
	defer l.clients.mu.Unlock()
	if l.taken || l.clients.spare != nil {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	l.taken = true
	here, _ := net.Pipe()
	return holder{here, l}, nil
}

// TestReserve: the first client uses the reserve. Then the next client gets the descriptor of an
// idle client, but no client loses its descriptor during a request.
func TestReserve(t *testing.T) {
	l := &last{}
	c := limitClients(l, maxClients)
	l.clients = c
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}()
	first, err := c.Accept()
	if err != nil {
		t.Fatalf("with the reserve: %v", err)
	}
	second, err := c.Accept()
	if err != nil {
		t.Fatalf("with a client that asks for nothing: %v", err)
	}
	if !first.(*client).closed {
		t.Error("the client that asks for nothing still has its connection")
	}
	second.(*client).busy()
	if _, err := c.Accept(); !errors.Is(err, syscall.EMFILE) || second.(*client).closed {
		t.Errorf("in the middle of a request: Accept = %v, the client has lost its connection: %v", err, second.(*client).closed)
	}
	second.(*client).idles()
	if _, err := c.Accept(); err != nil {
		t.Errorf("after the request: %v", err)
	}
}
