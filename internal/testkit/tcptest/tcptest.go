// Package tcptest has plain TCP clients and services for tests of a proxy.
package tcptest

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// Serve listens on loopback and serves each connection with f until the test ends. It returns the
// address. When f returns the connection is closed; its deadline is the test's.
func Serve(t testing.TB, f func(c *net.TCPConn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(prototest.Deadline(t))
			conns.Go(func() {
				defer c.Close()
				f(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	return l.Addr().String()
}

// Echo sends back all bytes as they arrive, and then closes its direction.
func Echo(c *net.TCPConn) {
	io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
	c.CloseWrite()
}

// Dial connects to address. The connection has the test's deadline and is closed when the test
// ends.
func Dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(prototest.Deadline(t))
	return c.(*net.TCPConn)
}
