package usertcp_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/toe/usertcp"
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
