package extsock_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// fillUp writes pieces of a length until one is not taken within a second, and returns how many
// octets were taken.
func fillUp(t *testing.T, c *extsock.Conn, pos, length, most int) int {
	t.Helper()
	for sent := 0; ; {
		c.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := c.Write(tapeAt(pos+sent, length))
		sent += n
		if err == nil && n == length {
			if sent > most {
				t.Errorf("the peer does not read, and %d octets were taken", sent)
				return sent
			}
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write without a reader = %d, %v", n, err)
		}
		c.SetWriteDeadline(time.Time{})
		return sent
	}
}

// TestStreamWithoutReaders: neither end reads. A bounded amount is taken, Writes return exactly how
// much, and both directions go on when reading begins.
func TestStreamWithoutReaders(t *testing.T) {
	buffers := []struct{ depth, size int }{{6, 512}, {8, 1000}, {32, 65536}, {7, 4096}, {32, 33_000}, {32, 512}, {64, 4096}}
	for _, s := range buffers[:testmode.Rounds(len(buffers), 3)] {
		for _, length := range []int{1, 64, 3000, 8 << 10, 100_000, 1 << 20} {
			for _, window := range []int{0, 3000} {
				if length == 1 && s.size > 1000 {
					continue // it takes too many
				}
				t.Run(fmt.Sprintf("%d of %d, Writes of %d, window %d", s.depth, s.size, length, window), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						wire := simtoe.Config{Window: window}
						ci, cr := simPair(t, wire, ofDepth(s.depth, s.size), ofDepth(s.depth, s.size))
						bound := s.depth*s.size + min(s.size, 65536)
						n, m := fillUp(t, ci, 0, length, bound), fillUp(t, cr, 5, length, bound)
						if n > bound || m > bound {
							t.Errorf("%d and %d octets were taken, want %d at most", n, m, bound)
						}
						// At least as much as TCP would take in short Writes.
						if s.depth == 32 && s.size == 65536 && window == 0 && n < 100<<10 {
							t.Errorf("only %d octets were taken", n)
						}
						// Later octets come right behind those that were taken.
						const more = 50_000
						written := make(chan error, 2)
						go func() { written <- writeTape(ci, n, more, newLengths(1, 1<<16)) }()
						go func() { written <- writeTape(cr, 5+m, more, newLengths(2, 1<<16)) }()
						time.Sleep(time.Second)
						read := make(chan error, 2)
						go func() { _, err := readTape(cr, 0, n+more, newLengths(3, 1<<16)); read <- err }()
						go func() { _, err := readTape(ci, 5, m+more, newLengths(4, 1<<16)); read <- err }()
						for range 2 {
							if err := errors.Join(<-written, <-read); err != nil {
								t.Error(err)
							}
						}
						if err := errors.Join(ci.Close(), cr.Close()); err != nil {
							t.Error(err)
						}
						settle()
					})
				})
			}
		}
	}
}

// TestStreamTimedOutWriteIsTheCallers: after the deadline of a Write, the caller may change its
// memory at once, and the octets that were counted arrive unchanged.
func TestStreamTimedOutWriteIsTheCallers(t *testing.T) {
	for _, window := range []int{1000, 100_000, 1 << 20} {
		for _, length := range []int{100, 10_000, 200_000, 4 << 20} {
			t.Run(fmt.Sprintf("window %d, %d octets", window, length), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b := simtoe.Pair(simtoe.Config{Window: window}, simtoe.Config{})
					g := &gate{Stream: b}
					ci, cr := switched(t, a, g, side{}, side{})
					synctest.Wait() // all loans are returned
					g.shut()
					sent := 0
					for range 20 {
						p := make([]byte, length)
						for copied := 0; copied < length; {
							copied += copy(p[copied:], tapeAt(sent+copied, min(length-copied, 1<<20)))
						}
						ci.SetWriteDeadline(time.Now().Add(time.Second))
						n, err := ci.Write(p)
						clear(p)
						if (err == nil) != (n == length) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
							t.Fatalf("Write = %d, %v", n, err)
						}
						sent += n
					}
					g.open()
					ci.SetWriteDeadline(time.Time{})
					if err := ci.CloseWrite(); err != nil {
						t.Error(err)
					}
					if got, err := readTape(cr, 0, -1, newLengths(1, 1<<17)); got != sent || err != nil {
						t.Errorf("%d octets were counted, %d have arrived: %v", sent, got, err)
					}
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}
