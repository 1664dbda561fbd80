package extsock_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp"
)

// userStacks makes two TCPs in user space, with a link of mtu bytes between them.
func userStacks(t testing.TB, mtu int) (a, b *usertcp.Stack) {
	t.Helper()
	x, y := usertcp.Pipe(mtu)
	return userStack(t, x, "10.7.0.1/24"), userStack(t, y, "10.7.0.2/24")
}

func userStack(t testing.TB, l usertcp.Link, address string) *usertcp.Stack {
	t.Helper()
	s, err := usertcp.New(l, usertcp.Config{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// userConnect makes a connection from a to b, which has the address 10.7.0.2.
func userConnect(t testing.TB, a, b *usertcp.Stack) (x, y toe.Stream) {
	t.Helper()
	l, err := b.Listen(context.Background(), "tcp", "10.7.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if x, err = a.Dial(context.Background(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if y, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return x, y
}

// userStreams makes a connection between two TCPs in user space. The Stacks live until the test
// ends.
func userStreams(t testing.TB) (a, b net.Conn) {
	t.Helper()
	dialer, listener := onceStacks(t)
	return userConnect(t, dialer, listener)
}

// stacksOf has the two Stacks of a test that makes many connections.
var stacksOf sync.Map

func onceStacks(t testing.TB) (a, b *usertcp.Stack) {
	if s, ok := stacksOf.Load(t); ok {
		return s.([2]*usertcp.Stack)[0], s.([2]*usertcp.Stack)[1]
	}
	a, b = userStacks(t, 1500)
	stacksOf.Store(t, [2]*usertcp.Stack{a, b})
	t.Cleanup(func() { stacksOf.Delete(t) })
	return a, b
}

// TestEchoOverUserTCP dials and listens over TCPs in user space, and echoes a stream in DDP mode.
func TestEchoOverUserTCP(t *testing.T) {
	a, b := userStacks(t, 1500)
	l, err := extsock.Listen("tcp", "10.7.0.2:0", &extsock.Config{Backend: b, Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	echoed := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(c, c)
			c.Close()
		}
		echoed <- err
	}()
	c, err := extsock.Dial("tcp", l.Addr().String(), &extsock.Config{Backend: a, Startup: extsock.StartupRequire})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	data := make([]byte, 4<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	go func() {
		c.Write(data)
		c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != string(data) {
		t.Errorf("the echo of %d bytes is %d bytes, %v", len(data), len(got), err)
	}
	if err := <-echoed; err != nil {
		t.Errorf("the echoing end: %v", err)
	}
	if !c.ConnectionState().DDPMode {
		t.Error("the connection is not in DDP mode")
	}
}
