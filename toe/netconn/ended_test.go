package netconn_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/toetest"
)

// A failsOnce is a net.Conn above a wire. Its Read returns a byte, then the first error, and then
// the second one for good.
type failsOnce struct {
	net.Conn
	reads         int
	first, second error
}

func (c *failsOnce) NetConn() net.Conn { return c.Conn }

func (c *failsOnce) Read([]byte) (int, error) {
	switch c.reads++; c.reads {
	case 1:
		return 1, nil
	case 2:
		return 0, c.first
	}
	return 0, c.second
}

// TestWatchKeepsTheError: the next read returns an error that Watch has read ahead.
func TestWatchKeepsTheError(t *testing.T) {
	x, _ := wires(t)
	first, second := errors.New("first"), errors.New("second")
	s := netconn.New(&failsOnce{Conn: x, first: first, second: second})
	defer s.Abort()
	p := make([]byte, 1)
	if n, _, err := toetest.ReadSegment(s, p); n != 1 || err != nil {
		t.Fatalf("ReadSegment = %d, %v", n, err)
	}
	if s.Capabilities().Watch != toe.WatchNone {
		g := toe.NewGate(s.Capabilities().Watch)
		if !s.Watch(g) {
			t.Fatal("no watch")
		}
		g.Wait() // it is open: there is something to read
		s.Unwatch()
	}
	if _, _, err := toetest.ReadSegment(s, p); !errors.Is(err, first) {
		t.Errorf("ReadSegment: %v, want the first error", err)
	}
}

// TestCloseReadsOn: after Close, the Stream reads what the peer still writes until the peer has
// read everything itself.
func TestCloseReadsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		a, b := shaken(t, x, y)
		s := netconn.New(a)
		const out, in = 20_000, 100_000
		if n, err := s.Write(make([]byte, out)); n != out || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait() // the write to the pipe waits for a reader
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := b.Write(make([]byte, in)); n != in || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		if n, err := io.Copy(io.Discard, b); n != out || err != nil {
			t.Errorf("%d bytes arrived, and then %v", n, err)
		}
		b.Close()
	})
}

// TestWireOfEnded: the buffer for records does not outlive the last read, although bytes are left
// in it.
func TestWireOfEnded(t *testing.T) {
	_, b, below := wiredStreams(t)
	const size = 100_000 // TLS takes much less at once
	none := make([]byte, size)
	if _, err := below.(interface{ NetConn() net.Conn }).NetConn().Write(none); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the error remains
		if n, _, err := toetest.ReadSegment(b, make([]byte, size)); n != 0 || err == nil {
			t.Errorf("ReadSegment = %d, %v, of what is no record", n, err)
		}
		if netconn.HoldsRecords(b) {
			t.Error("the buffer for records outlives the last read")
		}
	}
}
