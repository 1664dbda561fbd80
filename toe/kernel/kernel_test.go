package kernel_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/toetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pairOver returns the two sides of a connection over loopback TCP or a unix
// socket.
func pairOver(t testing.TB, network string) (a, b toe.Stream) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "toe") // t.TempDir is too long a path for some systems
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		address = filepath.Join(dir, "s")
	}
	var backend kernel.Backend
	l, err := backend.Listen(context.Background(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = backend.Dial(context.Background(), network, l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		a.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

var networks = []string{"tcp", "unix"}

func TestContract(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) { return pairOver(t, network) })
		})
	}
}

func TestNetConn(t *testing.T) {
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				a, b := pairOver(t, network)
				return a, b, func() { a.Close(); b.Close() }, nil
			})
		})
	}
}

// TestMethodsRemain checks that a Stream also has the other methods of net.TCPConn or net.UnixConn.
func TestMethodsRemain(t *testing.T) {
	type both interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
		SyscallConn() (syscall.RawConn, error)
		File() (*os.File, error)
		CloseRead() error
	}
	type tcpOnly interface {
		SetNoDelay(bool) error
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
		SetKeepAliveConfig(net.KeepAliveConfig) error
		SetLinger(int) error
		io.ReaderFrom
		io.WriterTo
	}
	for _, network := range networks {
		a, _ := pairOver(t, network)
		if _, ok := a.(both); !ok {
			t.Errorf("%s: methods of package net are missing", network)
		}
		if _, ok := a.(tcpOnly); ok != (network == "tcp") {
			t.Errorf("%s: methods of net.TCPConn: %v", network, ok)
		}
	}
}

func TestBackendRefusesOtherNetworks(t *testing.T) {
	var b kernel.Backend
	for _, network := range []string{"", "unixgram", "unixpacket", "udp", "tcp5"} {
		var unknown net.UnknownNetworkError
		if s, err := b.Dial(context.Background(), network, "127.0.0.1:1"); !errors.As(err, &unknown) {
			t.Errorf("Dial(%q) = %v, %v, want net.UnknownNetworkError", network, s, err)
		}
		if l, err := b.Listen(context.Background(), network, "127.0.0.1:0"); !errors.As(err, &unknown) {
			t.Errorf("Listen(%q) = %v, %v, want net.UnknownNetworkError", network, l, err)
		}
	}
}

// TestBackendErrors checks that a failed call returns a nil interface, not a nil *Stream.
func TestBackendErrors(t *testing.T) {
	var b kernel.Backend
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := b.Dial(ctx, "tcp", "127.0.0.1:1"); s != nil || err == nil {
		t.Errorf("Dial = %v, %v, want nil and an error", s, err)
	}
	if l, err := b.Listen(context.Background(), "tcp", "127.0.0.1:-1"); l != nil || err == nil {
		t.Errorf("Listen = %v, %v, want nil and an error", l, err)
	}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		l, err := b.Listen(context.Background(), network, address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if s, err := l.Accept(); s != nil || !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close = %v, %v, want nil and net.ErrClosed", s, err)
		}
	}
}

func TestListenerCloseWakesAccept(t *testing.T) {
	var b kernel.Backend
	l, err := b.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		done <- err
	}()
	l.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept during Close = %v, want net.ErrClosed", err)
	}
}
