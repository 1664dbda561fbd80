package prototest

import (
	"net"
	"testing"
)

// TestClosedPort: nobody listens at the port, and nobody can; otherwise a test that wants no answer
// might get one.
func TestClosedPort(t *testing.T) {
	address := ClosedPort(t)
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("somebody listens")
	}
	if l, err := net.Listen("tcp", address); err == nil {
		l.Close()
		t.Error("the port is free for a listener")
	}
}
