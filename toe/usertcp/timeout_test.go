package usertcp_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/toe/usertcp"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestUserTimeout: a peer that keeps its window closed, and answers all probes, does not hold a
// connection for ever, and neither one that the program has closed.
func TestUserTimeout(t *testing.T) {
	for _, closed := range []bool{false, true} {
		x, y := usertcp.Pipe(1500)
		a := newStack(t, x, usertcp.Config{Addresses: addrsA, UserTimeout: 100 * time.Millisecond})
		b := newStack(t, y, usertcp.Config{Addresses: addrsB, ReceiveBuffer: 8 << 10})
		s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
		defer r.Abort()
		if _, err := s.Write(make([]byte, 64<<10)); err != nil { // more than the window
			t.Fatal(err)
		}
		if closed {
			s.Close()
			if err := s.Flush(20 * time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Flush of a closed Stream = %v, want that the connection has failed", err)
			}
			continue
		}
		if err := s.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
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
	const usual = 200 * time.Millisecond
	if got := timeoutWith(t, 0); got < usual*9/10 {
		t.Errorf("without MinRTO, TCP waits for %v", got)
	}
	least := usual
	for range 5 { // on a busy machine a timer comes late
		least = min(least, timeoutWith(t, 5*time.Millisecond))
	}
	if least >= usual/2 {
		t.Errorf("with a MinRTO of 5 ms, TCP waits for %v", least)
	}
	x, _ := usertcp.Pipe(1500)
	if s, err := usertcp.New(x, usertcp.Config{Addresses: addrsA, MinRTO: time.Hour}); err == nil {
		s.Close()
		t.Error("New with a MinRTO of an hour = nil error")
	}
}

// timeoutWith returns the time between the first and the third transmission of a segment. TCP sets
// its timer after the first one, and the second one may be late on a busy machine.
func timeoutWith(t *testing.T, minRTO time.Duration) time.Duration {
	t.Helper()
	var copies []time.Time // of the first segment; only the goroutine of TCP that sends uses it
	var first uint32
	x, y := usertcp.Pipe(1500)
	a := newStack(t, &gate{x, func(p []byte) bool {
		h := header.TCP(header.IPv4(p).Payload())
		if len(h.Payload()) == 0 || len(copies) > 0 && h.SequenceNumber() != first {
			return false
		}
		first = h.SequenceNumber()
		copies = append(copies, time.Now())
		return len(copies) <= 2
	}}, usertcp.Config{Addresses: addrsA, MinRTO: minRTO})
	b := newStack(t, y, usertcp.Config{Addresses: addrsB})
	s, r := connect(t, a, b, "tcp", "10.7.0.2:0")
	defer s.Close()
	defer r.Close()
	data := make([]byte, 10*s.EMSS())
	if _, err := s.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, data); err != nil {
		t.Fatal(err)
	}
	a.Close() // now no goroutine of TCP runs
	return copies[2].Sub(copies[0])
}
