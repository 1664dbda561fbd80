package netconn_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"unsafe"

	"golang.org/x/net/nettest"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/toetest"
)

// wires returns the two sides of a connection, for TLS.
func wires(t *testing.T) (a, b net.Conn) {
	t.Helper()
	x, y := socketPair(t, "tcp", "127.0.0.1:0")
	return netconn.ForTLS(kernel.New(x.(*net.TCPConn))), netconn.ForTLS(kernel.New(y.(*net.TCPConn)))
}

// wiredPair returns both sides of a TLS connection over Streams, after their handshake.
func wiredPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	x, y := wires(t)
	return shaken(t, x, y)
}

// wiredStreams returns the Streams of a wiredPair, and the net.Conn below the TLS of the first.
func wiredStreams(t *testing.T) (a, b toe.Stream, below net.Conn) {
	t.Helper()
	x, y := wiredPair(t)
	a, b = netconn.New(x), netconn.New(y)
	t.Cleanup(func() {
		a.Abort()
		b.Abort()
	})
	return a, b, x.(*tls.Conn).NetConn()
}

func TestWireNetConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		x, y := wires(t)
		tx, ty := tlsOver(t, x, y) // before their handshake
		a, b := netconn.New(tx), netconn.New(ty)
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

// TestWireNeedsNoGoroutine checks that the goroutine that writes gives records to TCP as long as
// TCP takes them, and that they hold the bytes of the batch in order, however it is cut.
func TestWireNeedsNoGoroutine(t *testing.T) {
	a, b, _ := wiredStreams(t)
	want := make([]byte, 100_000) // less than TCP takes at once
	for i := range want {
		want[i] = byte(i*7 + i>>8)
	}
	batch := [][]byte{want[:20], {}, want[20:40_000], want[40_000:40_004], nil, want[40_004:40_020], want[40_020:]}
	n, err := a.TryWriteBatch(batch)
	if n != len(want) || err != nil {
		t.Fatalf("TryWriteBatch = %d, %v, want %d, nil", n, err, len(want))
	}
	if !netconn.Idle(a) {
		t.Error("after TryWriteBatch the stream has a goroutine or bytes of its own")
	}
	got := make([]byte, len(want))
	for done := 0; done < len(got); {
		n, off, err := toetest.ReadSegment(b, got[done:])
		if n == 0 || int(off) != done || err != nil {
			t.Fatalf("ReadSegment = %d, %d, %v, want some bytes at %d", n, off, err, done)
		}
		done += n
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes are not those of the batch")
	}
}

// fill writes to s until both its TCP and the peer's are full.
func fill(t *testing.T, s toe.Stream) (total int) {
	t.Helper()
	piece := make([]byte, 100_000)
	for {
		n, err := s.TryWriteBatch([][]byte{piece})
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n == 0 {
			return total
		}
		if total > 256<<20 {
			t.Fatalf("TryWriteBatch has taken %d bytes that nobody reads", total)
		}
	}
}

// TestWireFull checks that everything that TryWriteBatch has taken arrives, and then the end,
// without another call.
func TestWireFull(t *testing.T) {
	a, b, _ := wiredStreams(t)
	total := fill(t, a)
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, p := 0, make([]byte, 300_000)
	for {
		n, _, err := toetest.ReadSegment(b, p)
		if got += n; err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
	}
	if got != total {
		t.Errorf("%d bytes have arrived, want %d", got, total)
	}
}

// TestWireCloseWriteAmidWrite checks that TLS sends close_notify after the record that a write is
// about to make.
func TestWireCloseWriteAmidWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		a, b := shaken(t, netconn.ForTLS(netconn.New(x)), y)
		s := netconn.New(a)
		defer s.Abort()
		if n, err := s.TryWriteBatch([][]byte{{1}}); n != 1 || err != nil {
			t.Fatalf("TryWriteBatch = %d, %v", n, err)
		}
		write := netconn.HoldTurn(s)
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			synctest.Wait()
			written <- write([]byte{2})
		}()
		if got, err := io.ReadAll(b); !bytes.Equal(got, []byte{1, 2}) || err != nil {
			t.Errorf("the peer reads %v, %v", got, err)
		}
		if err := <-written; err != nil {
			t.Errorf("the record: %v", err)
		}
		if _, err := s.TryWriteBatch([][]byte{{3}}); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("TryWriteBatch after CloseWrite = %v, want %v", err, syscall.EPIPE)
		}
	})
}

// TestWireFloodOfKeyUpdates checks that a peer that makes TLS write again and again, and does not
// read, loses its connection instead of using up memory, and that no such write waits.
func TestWireFloodOfKeyUpdates(t *testing.T) {
	a, _, below := wiredStreams(t)
	fill(t, a)
	answer := make([]byte, 27) // as long as a KeyUpdate of TLS 1.3
	for range netconn.SendSize/len(answer) + 2 {
		if _, err := below.Write(answer); err != nil {
			if !errors.Is(err, netconn.ErrKeyUpdates) {
				t.Errorf("Write = %v, want ErrKeyUpdates", err)
			}
			return
		}
	}
	t.Error("more than a send buffer of answers waits")
}

// TestWireAllocations checks that the stream allocates nothing for records. TLS makes one for each
// record that it reads, and one for each Read that finds nothing.
func TestWireAllocations(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	a, b, _ := wiredStreams(t)
	small, large := make([]byte, 20), make([]byte, 20_000)
	p := toetest.Into(make([]byte, 64<<10))
	bufs := make([][]byte, 3)
	cross := func(write func() error) func() {
		return func() {
			if err := write(); err != nil {
				t.Fatal(err)
			}
			for n := 0; n < 20_040; {
				m, _, err := b.ReadSegment(p, 0)
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
		}
	}
	batch := cross(func() error {
		_, err := a.TryWriteBatch(append(bufs[:0], small, large, small))
		return err
	})
	for range 50 { // TLS begins with short records
		batch()
	}
	x, y := wiredPair(t)
	defer func() { x.Close(); y.Close() }()
	whole := make([]byte, 20_040)
	plain := func() {
		if _, err := x.Write(whole); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(y, whole); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		plain()
	}
	if got, want := testing.AllocsPerRun(100, batch), testing.AllocsPerRun(100, plain); got > want+1 {
		t.Errorf("%v allocations, and TLS alone makes %v", got, want)
	}
	prototest.Wait(t, "an idle stream", func() bool { return netconn.Idle(a) })
}

// seen is a *tls.Conn that shows where the bytes of the last Write began.
type seen struct {
	*tls.Conn
	at *byte
}

func (s *seen) Write(p []byte) (int, error) {
	s.at = &p[0]
	return s.Conn.Write(p)
}

// TestWireLooksOnce checks that TLS gets a copy of a batch unless it reads each byte once. The
// batch may be registered memory, which changes at any time, and a suite that authenticates a byte
// before it encrypts it would send a record that the peer refuses.
func TestWireLooksOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   *tls.Config
		looks bool // once
	}{
		{"TLS 1.3", &tls.Config{}, true},
		{"TLS 1.2 with CBC", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, y := wires(t)
			client, server := tlsOverWith(t, x, y, c.cfg)
			go server.Handshake()
			conn := &seen{Conn: client}
			a := netconn.New(conn)
			t.Cleanup(func() {
				a.Abort()
				server.Close()
			})
			if err := a.(interface{ Handshake(context.Context) error }).Handshake(t.Context()); err != nil {
				t.Fatal(err)
			}
			batch := make([]byte, 64<<10)
			if _, err := a.TryWriteBatch([][]byte{batch}); err != nil {
				t.Fatal(err)
			}
			begin, at := uintptr(unsafe.Pointer(&batch[0])), uintptr(unsafe.Pointer(conn.at))
			if inside := at >= begin && at < begin+uintptr(len(batch)); inside != c.looks {
				t.Errorf("TLS reads the batch itself: %t, want %t", inside, c.looks)
			}
		})
	}
}
