package kernel

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fill writes batches of n bytes until the kernel takes only a part of one, and returns the number
// of bytes taken. It reads nothing at the other end.
func fill(t *testing.T, s *Stream, n int) (taken int) {
	t.Helper()
	for bufs := [][]byte{make([]byte, n)}; ; {
		k, err := s.TryWriteBatch(bufs)
		if err != nil {
			t.Fatal(err)
		}
		if taken += k; k < n {
			return taken
		}
	}
}

// option returns a socket option of s at level SOL_SOCKET.
func option(t *testing.T, s *Stream, name int) (value int) {
	t.Helper()
	control(t, s, func(fd int) (err error) {
		value, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
		return err
	})
	return value
}

// maxSendBuffer returns the largest send buffer in bytes that the system lets programs choose.
func maxSendBuffer(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/core/wmem_max")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSendBufferWithinTheMachine checks that the send buffer is bounded once the kernel has taken
// much at once, and only if the system allows a buffer of that size.
func TestSendBufferWithinTheMachine(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	if _, err := y.TryWriteBatch([][]byte{make([]byte, localFrom-1)}); err != nil || option(t, y, unix.SO_BUF_LOCK) != 0 {
		t.Errorf("the send buffer has a fixed size after a short batch; %v", err)
	}
	fill(t, x, 1<<20)
	if maxSendBuffer(t) < localBuffer {
		if lock := option(t, x, unix.SO_BUF_LOCK); lock != 0 {
			t.Errorf("SO_BUF_LOCK = %d on a system with smaller buffers, want 0", lock)
		}
		return
	}
	if got := option(t, x, unix.SO_SNDBUF); got != 2*localBuffer {
		t.Errorf("SO_SNDBUF = %d, want %d", got, 2*localBuffer)
	}
}

// TestSendBufferOfTheProgram checks that a size that the program has chosen is kept.
func TestSendBufferOfTheProgram(t *testing.T) {
	x, _ := pairOf(t, &Backend{})
	size := min(3<<20, maxSendBuffer(t))
	if err := x.SetWriteBuffer(size); err != nil {
		t.Fatal(err)
	}
	want := option(t, x, unix.SO_SNDBUF)
	fill(t, x, 1<<20)
	if got := option(t, x, unix.SO_SNDBUF); got != want {
		t.Errorf("SO_SNDBUF = %d, want %d as before", got, want)
	}
}

// TestSendBufferTooSmall checks that the send buffer remains automatic if the system has limited it
// to less than the wanted size.
func TestSendBufferTooSmall(t *testing.T) {
	x, _ := pairOf(t, &Backend{})
	control(t, x, func(fd int) error {
		boundSendBufferTo(fd, maxSendBuffer(t)+4096)
		return nil
	})
	if lock := option(t, x, unix.SO_BUF_LOCK); lock != 0 {
		t.Errorf("SO_BUF_LOCK = %d, want 0", lock)
	}
}

func TestIsLocal(t *testing.T) {
	for _, test := range []struct {
		own, peer string
		want      bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", true},
		{"::1", "::1", true},
		{"192.0.2.1", "192.0.2.1", true},
		{"::ffff:192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"2001:db8::1", "2001:db8::2", false},
	} {
		c := addressed{own: tcpAddr(test.own), peer: tcpAddr(test.peer)}
		if got := isLocal(c); got != test.want {
			t.Errorf("isLocal(%s, %s) = %t, want %t", test.own, test.peer, got, test.want)
		}
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if isLocal(addressed{own: l.Addr(), peer: l.Addr()}) {
		t.Error("isLocal of a unix socket = true, want false: it has no such buffer")
	}
}

func tcpAddr(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }

// addressed is a net.Conn with addresses and nothing else.
type addressed struct {
	net.Conn
	own, peer net.Addr
}

func (a addressed) LocalAddr() net.Addr  { return a.own }
func (a addressed) RemoteAddr() net.Addr { return a.peer }
