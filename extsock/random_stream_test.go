package extsock_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
)

// randomStreamConfig returns a Config with small queues, windows and FPDUs more often than programs
// have them.
func randomStreamConfig(r *rand.Rand) extsock.Config {
	return extsock.Config{
		Crossover: oneOf(r, 0, -1, 64<<10, 200_000), RecvDepth: oneOf(r, 4, 6, 7, 32), RecvSize: oneOf(r, 512, 5000, 64<<10, 300_000),
		SendDepth: oneOf(r, 0, 1, 3), MaxFPDU: oneOf(r, 0, 0, 136, 3000), NoCRC: r.IntN(2) == 0, Markers: r.IntN(3) == 0,
		CloseTimeout: 3 * time.Second,
	}
}

// TestRandomStreams writes and reads at both ends, with calls of any length and with deadlines,
// until the connection ends in one of seven ways at any moment. What is read is the beginning of
// what was written, and all of it if Read returns io.EOF. The memory of a call that has returned is
// the caller's.
func TestRandomStreams(t *testing.T) {
	randomRounds(t, 200, func(t *testing.T, seed uint64) {
		withRandomPair(t, seed, randomStreamConfig, func(t *testing.T, x *randomPair) {
			var left atomic.Int64 // calls until the end begins
			left.Store(1 + int64(x.r.IntN(200)))
			over := make(chan struct{})
			var all sync.WaitGroup
			called := func() {
				if left.Add(-1) == 0 {
					all.Go(x.begin) // while Reads and Writes wait
					close(over)
				}
			}
			var wrote, read [2]int
			var ends [2]error
			for i, c := range x.conns {
				w, r := rand.New(rand.NewPCG(seed, uint64(10+i))), rand.New(rand.NewPCG(seed, uint64(20+i)))
				all.Go(func() { wrote[i] = x.writeRandomly(c, w, over, called) })
				all.Go(func() { read[i], ends[i] = x.readRandomly(t, c, r, called) })
			}
			all.Wait()
			for i := range x.conns {
				closed := x.end == endCloseRead && i == x.ender
				if ends[i] == io.EOF && !closed && read[i] != wrote[1-i] {
					t.Errorf("RDDP_SEED=%d: %s, %v: io.EOF after %d of %d octets", seed, x.kind, x.end, read[i], wrote[1-i])
				}
				if (x.end == endCalm || x.end == endCloseWrite) && ends[i] != io.EOF {
					t.Errorf("RDDP_SEED=%d: %s, %v: Read = %v", seed, x.kind, x.end, ends[i])
				}
			}
		})
	})
}

// randomDeadline returns a deadline that soon passes, or none.
func randomDeadline(r *rand.Rand) time.Time {
	if r.IntN(3) > 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(r.IntN(20)) * 100 * time.Microsecond)
}

// writeRandomly writes the tape until over is closed or a Write fails, and then ends the stream. It
// returns how many octets the Writes have counted.
func (x *randomPair) writeRandomly(c *extsock.Conn, r *rand.Rand, over <-chan struct{}, called func()) (total int) {
	p := make([]byte, 500_000)
	for {
		select {
		case <-over:
			c.CloseWrite()
			return total
		default:
		}
		p := p[:1+r.IntN(oneOf(r, 100, 9000, 70_000, len(p)))]
		copy(p, tapeAt(total, len(p)))
		c.SetWriteDeadline(randomDeadline(r))
		n, err := c.Write(p)
		clear(p) // the memory is the caller's
		total += n
		called()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.CloseWrite()
			return total
		}
	}
}

// readRandomly reads until Read fails, and returns how many octets have come and the error.
func (x *randomPair) readRandomly(t *testing.T, c *extsock.Conn, r *rand.Rand, called func()) (total int, err error) {
	mine := bytes.Repeat([]byte{0x55}, 300_000)
	p := bytes.Clone(mine)
	for {
		k := 1 + r.IntN(oneOf(r, 100, 70_000, len(p)))
		c.SetReadDeadline(randomDeadline(r))
		n, err := c.Read(p[:k])
		if !bytes.Equal(p[:n], tapeAt(total, n)) {
			t.Errorf("RDDP_SEED=%d: %s, %v: octets %d to %d are not those that were written", x.seed, x.kind, x.end, total, total+n)
			return total, errors.ErrUnsupported
		}
		total += n
		copy(p[:k], mine)
		called()
		if !bytes.Equal(p, mine) {
			t.Errorf("RDDP_SEED=%d: %s, %v: memory has changed after Read", x.seed, x.kind, x.end)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return total, err
		}
	}
}
