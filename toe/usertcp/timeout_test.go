package usertcp_test

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/toe/usertcp"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestUserTimeout: a peer that keeps its window closed, and answers all probes, cannot hold a
// connection forever, even if the program has closed it.
func TestUserTimeout(t *testing.T) {
	const timeout = 10 * time.Minute
	for _, closed := range []bool{false, true} {
		clock := turned.New(t)
		x, y := usertcp.Pipe(1500)
		a := newStack(t, x, usertcp.Config{Addresses: addrsA, UserTimeout: timeout, KeepAlive: -1})
		b := newStack(t, y, usertcp.Config{Addresses: addrsB, ReceiveBuffer: 8 << 10, KeepAlive: -1}) // its probes would delay ours
		s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
		defer r.Abort()
		if _, err := s.Write(make([]byte, 64<<10)); err != nil { // more than the window
			t.Fatal(err)
		}
		if closed {
			s.Close()
		}
		clock.Turn(timeout*9/10, time.Second)
		if err := s.Flush(0); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Flush before the timeout = %v, want that it finds the connection alive", err)
		}
		clock.Turn(timeout/2, time.Second) // a probe is due at least every two minutes
		if closed {
			if err := s.Flush(0); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Flush of a closed Stream = %v, want that the connection has failed", err)
			}
			continue
		}
		if _, err := s.Write(make([]byte, 16<<20)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("Write = %v, want ETIMEDOUT", err)
		}
		if _, err := s.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
			t.Errorf("Read = %v, want ETIMEDOUT", err)
		}
		s.Close()
	}
}

// TestMinRTO loses a segment twice, the second time in its retransmission. Only the retransmission
// timeout tells TCP of that loss.
func TestMinRTO(t *testing.T) {
	for _, test := range []struct{ minRTO, want time.Duration }{{0, 200 * time.Millisecond}, {5 * time.Millisecond, 5 * time.Millisecond}} {
		if got := timeoutWith(t, test.minRTO); got < test.want || got > test.want+5*time.Millisecond {
			t.Errorf("with a MinRTO of %v, TCP waits for %v, want %v", test.minRTO, got, test.want)
		}
	}
	x, _ := usertcp.Pipe(1500)
	if s, err := usertcp.New(x, usertcp.Config{Addresses: addrsA, MinRTO: time.Hour}); err == nil {
		s.Close()
		t.Error("New with a MinRTO of an hour = nil error")
	}
}

// timeoutWith returns the time between the second and the third transmission of a segment.
func timeoutWith(t *testing.T, minRTO time.Duration) time.Duration {
	t.Helper()
	clock := turned.New(t)
	var mu sync.Mutex
	var lossy bool
	var copies []time.Time // of the first segment that is lost
	var first uint32
	x, y := usertcp.Pipe(1500)
	a := newStack(t, &gate{x, func(p []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		h := header.TCP(header.IPv4(p).Payload())
		if !lossy || len(h.Payload()) == 0 || len(copies) > 0 && h.SequenceNumber() != first {
			return false
		}
		first = h.SequenceNumber()
		copies = append(copies, clock.Now())
		return len(copies) <= 2
	}}, usertcp.Config{Addresses: addrsA, MinRTO: minRTO})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	data := make([]byte, 10*s.EMSS())
	for range 10 { // round trips that TCP measures
		clock.Turn(time.Millisecond, time.Millisecond)
		if _, err := s.Write(data[:1]); err != nil {
			t.Fatal(err)
		}
	}
	clock.Settle()
	mu.Lock()
	lossy = true
	mu.Unlock()
	if _, err := s.Write(data); err != nil {
		t.Fatal(err)
	}
	clock.TurnUntil(t, time.Second, time.Millisecond, "the third transmission", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(copies) > 2
	})
	if _, err := io.ReadFull(r, make([]byte, 10+len(data))); err != nil {
		t.Fatal(err)
	}
	return copies[2].Sub(copies[1])
}
