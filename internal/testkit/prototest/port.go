package prototest

import (
	"net"
	"testing"
)

// ClosedPort returns an address without a listener. It is the address of the dialing end of a
// connection, so no listener gets it before the test ends: the kernel does not give the port to
// anyone else while the other end is open too.
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
