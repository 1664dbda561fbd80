package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// writeHasty writes calls times under deadlines that often pass, and returns how many octets were
// counted.
func writeHasty(t *testing.T, c *extsock.Conn, pos, calls int, s *lengths) int {
	sent := 0
	for range calls {
		if s.r.IntN(3) > 0 {
			c.SetWriteDeadline(time.Now().Add(time.Duration(s.r.IntN(20)-1) * 500 * time.Microsecond))
		} else {
			c.SetWriteDeadline(time.Time{})
		}
		if s.r.IntN(4) == 0 { // moved meanwhile
			time.AfterFunc(time.Millisecond, func() { c.SetWriteDeadline(time.Now().Add(2 * time.Millisecond)) })
		}
		p := bytes.Clone(tapeAt(pos+sent, s.next()))
		n, err := c.Write(p)
		clear(p)
		if n < 0 || n > len(p) || (err == nil) != (n == len(p)) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write of %d octets at %d = %d, %v", len(p), sent, n, err)
			return sent
		}
		sent += n
	}
	return sent
}

// readHasty reads to the end under deadlines that often pass, and returns how many octets have
// come.
func readHasty(t *testing.T, c *extsock.Conn, pos int, s *lengths) int {
	p := make([]byte, s.most)
	for got := 0; ; {
		if s.r.IntN(3) > 0 {
			c.SetReadDeadline(time.Now().Add(time.Duration(s.r.IntN(20)-1) * 300 * time.Microsecond))
		} else {
			c.SetReadDeadline(time.Time{})
		}
		n, err := c.Read(p[:s.next()])
		if !bytes.Equal(p[:n], tapeAt(pos+got, n)) {
			t.Errorf("octets %d to %d are not those that were written", got, got+n)
			return got
		}
		got += n
		switch {
		case err == io.EOF:
			return got
		case err != nil && (n > 0 || !errors.Is(err, os.ErrDeadlineExceeded)):
			t.Errorf("Read at %d = %d, %v", got, n, err)
			return got
		}
		if s.r.IntN(5) == 0 {
			time.Sleep(time.Duration(s.r.IntN(2000)) * time.Microsecond)
		}
	}
}

// TestStreamDeadlines: whichever calls end at a deadline, exactly the octets that were counted as
// written are read, in order, in both directions.
func TestStreamDeadlines(t *testing.T) {
	const calls = 60
	for seed := range uint64(testmode.Rounds(120, 27)) { // three of each
		bubble(t, func(t *testing.T) {
			wire := simtoe.Config{Seed: seed, Window: []int{500, 5000, 100_000}[seed%3], Delay: time.Duration(seed%4) * time.Millisecond}
			if seed%5 == 0 {
				wire.Split, wire.Early = true, 0.3
			}
			depth := []int{6, 7, 32}[seed/3%3]
			ci, cr := simPair(t, wire, ofDepth(depth, 4096), ofDepth(6, 20_000))
			var all sync.WaitGroup
			var sent, got [2]int
			for i, c := range []*extsock.Conn{ci, cr} {
				all.Go(func() {
					sent[i] = writeHasty(t, c, 100*i, calls, newLengths(seed+uint64(i), []int{100, 9000, 100_000}[seed/9%3]))
					if err := c.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() { got[i] = readHasty(t, c, 100*(1-i), newLengths(seed+uint64(i)+2, 30_000)) })
			}
			all.Wait()
			if sent[0] != got[1] || sent[1] != got[0] {
				t.Errorf("seed %d: %v octets were counted, %v have come", seed, sent, got)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}
