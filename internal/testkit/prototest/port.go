package prototest

import (
	"net"
	"testing"
)

// ClosedPort returns an address where nobody listens. It is that of the dialing end of a
// connection, so that no listener gets it before the test ends: the kernel gives the port to nobody
// else as long as the other end, too, is open.
func ClosedPort(t testing.TB) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close() })
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return dialed.LocalAddr().String()
}
