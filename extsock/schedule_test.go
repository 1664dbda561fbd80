package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// canary fills memory that the caller may use again.
const canary = 0xA5

// A quarantine holds memory that was given back: the connection must no longer write to it.
type quarantine struct {
	mu sync.Mutex
	of [][]byte
}

func (q *quarantine) add(p []byte) {
	for i := range p {
		p[i] = canary
	}
	q.mu.Lock()
	q.of = append(q.of, p)
	q.mu.Unlock()
}

func (q *quarantine) check() error {
	for _, p := range q.of {
		if bytes.Count(p, []byte{canary}) != len(p) {
			return fmt.Errorf("%d octets were written to after they had been given back", len(p))
		}
	}
	return nil
}

// breath is a pause after a call without a result, so that there are not too many calls.
const breath = 100 * time.Microsecond

// hasty writes total octets of the tape. Most calls have deadlines that pass.
func hasty(c *extsock.Conn, total int, r *rand.Rand, most int, unit time.Duration, q *quarantine) error {
	for sent := 0; sent < total; {
		n := min(1+int(r.Uint64N(1+r.Uint64N(uint64(most)))), total-sent)
		p := bytes.Clone(tapeAt(sent, n))
		c.SetWriteDeadline(someTime(r, unit))
		n, err := c.Write(p)
		q.add(p)
		sent += n
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil && n < len(p) {
			return fmt.Errorf("Write at %d = %d of %d, %w", sent-n, n, len(p), err)
		}
		if n == 0 {
			time.Sleep(breath)
		}
	}
	return c.CloseWrite()
}

func someTime(r *rand.Rand, unit time.Duration) time.Time {
	if r.IntN(3) == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(r.Int64N(int64(unit))))
}

// hastyReads reads to the end of the stream.
func hastyReads(c *extsock.Conn, total int, r *rand.Rand, most int, unit time.Duration, q *quarantine) error {
	for got := 0; ; {
		p := make([]byte, 1+int(r.Uint64N(1+r.Uint64N(uint64(most)))))
		c.SetReadDeadline(someTime(r, unit))
		n, err := c.Read(p)
		if !bytes.Equal(p[:n], tapeAt(got, n)) {
			return fmt.Errorf("octets %d to %d are not those that were written", got, got+n)
		}
		got += n
		q.add(p)
		switch {
		case err == io.EOF && got == total:
			return nil
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil && n == 0:
			return fmt.Errorf("Read at %d of %d = %d, %w", got, total, n, err)
		}
		if n == 0 || r.IntN(8) == 0 {
			time.Sleep(time.Duration(r.Int64N(int64(breath))))
		}
	}
}

// hastyRemote reads from one Region of the peer's and writes to another until done is closed. (With
// a single Region the program would race with itself, because a Write whose deadline has passed
// goes on.)
func hastyRemote(c *extsock.Conn, from, to rdmap.Handle, r *rand.Rand, unit time.Duration, q *quarantine, done <-chan struct{}) error {
	for range 40 {
		select {
		case <-done:
			return nil
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.Int64N(int64(unit))))
		p := make([]byte, 1+r.IntN(int(from.Len)))
		var err error
		if r.IntN(2) == 0 {
			_, err = c.Remote(from).Read(ctx, p, 0)
		} else {
			_, err = c.Remote(to).Write(ctx, p, 0)
		}
		cancel()
		q.add(p)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
	}
	return nil
}

func drawWire(t *rapid.T, name string) simtoe.Config {
	return simtoe.Config{
		Seed: rapid.Uint64().Draw(t, name+" seed"), Split: rapid.Bool().Draw(t, name+" split"),
		MaxSegment: rapid.SampledFrom([]int{0, 100, 1460, 9000}).Draw(t, name+" segment"),
		Delay:      rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Millisecond}).Draw(t, name+" delay"),
		Early:      rapid.SampledFrom([]float64{0, 0.3}).Draw(t, name+" early"),
		Window:     rapid.SampledFrom([]int{2048, 20_000, 256 << 10}).Draw(t, name+" window"),
	}
}

func drawConfig(t *rapid.T, name string) extsock.Config {
	return extsock.Config{
		Crossover: rapid.SampledFrom([]int{-1, 0, 9000, 70_000}).Draw(t, name+" crossover"),
		RecvDepth: rapid.SampledFrom([]int{4, 6, 32}).Draw(t, name+" depth"),
		RecvSize:  rapid.SampledFrom([]int{512, 10_000, 64 << 10}).Draw(t, name+" size"),
		SendDepth: rapid.SampledFrom([]int{2, 5, 128}).Draw(t, name+" send depth"),
		ORD:       rapid.SampledFrom([]int{1, 2, 16}).Draw(t, name+" ord"),
		Markers:   rapid.Bool().Draw(t, name+" markers"), NoCRC: rapid.Bool().Draw(t, name+" no crc"),
	}
}

// TestAnySchedule: whatever the wire, the depths and the deadlines, each octet arrives once, memory
// that was given back is left alone, and both ends close in order.
func TestAnySchedule(t *testing.T) {
	prototest.Checks(t, testmode.Rounds(100, 25))
	rapid.Check(t, func(rt *rapid.T) {
		wires := [2]simtoe.Config{drawWire(rt, "a"), drawWire(rt, "b")}
		cfgs := [2]extsock.Config{drawConfig(rt, "a"), drawConfig(rt, "b")}
		unit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, 100 * time.Microsecond, 10 * time.Millisecond}).Draw(rt, "unit")
		most := rapid.SampledFrom([]int{3000, 100_000, 1_000_000}).Draw(rt, "most")
		total := rapid.IntRange(0, 500_000).Draw(rt, "total")
		hide := rapid.Bool().Draw(rt, "plain stream")
		remote := rapid.Bool().Draw(rt, "remote")
		seed := rapid.Uint64().Draw(rt, "seed")
		if rapid.Bool().Draw(rt, "no memory") {
			defer extsock.SetMemoryLimit(extsock.SetMemoryLimit(0))
		}
		var err error
		bubble(t, func(t *testing.T) { err = anySchedule(t, wires, cfgs, unit, most, total, hide, remote, seed) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func anySchedule(t *testing.T, wires [2]simtoe.Config, cfgs [2]extsock.Config, unit time.Duration, most, total int, hide, remote bool, seed uint64) error {
	a, b := simtoe.Pair(wires[0], wires[1])
	var s net.Conn = a
	if hide {
		s = plainStream{a}
	}
	conns := [2]*extsock.Conn{}
	conns[0], conns[1] = switched(t, s, b, side{cfg: cfgs[0]}, side{cfg: cfgs[1]})
	bound := time.AfterFunc(10*time.Hour, func() { conns[0].Close(); conns[1].Close() })
	defer bound.Stop()
	var q quarantine
	errs := make(chan error, 8)
	n := 0
	start := func(name string, f func(r *rand.Rand) error) {
		n++
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		go func() {
			err := f(r)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
				conns[0].Close()
				conns[1].Close()
			}
			errs <- err
		}()
	}
	done := make(chan struct{})
	for i, c := range conns {
		name := [2]string{"a", "b"}[i]
		start(name+" writes", func(r *rand.Rand) error { return hasty(c, total, r, most, unit, &q) })
		start(name+" reads", func(r *rand.Rand) error { return hastyReads(c, total, r, most, unit, &q) })
	}
	streams := n
	if remote {
		for i, c := range conns {
			from := register(t, conns[1-i], make([]byte, 50_000), ddp.RemoteRead).Handle()
			to := register(t, conns[1-i], make([]byte, 50_000), ddp.RemoteWrite).Handle()
			start("remote", func(r *rand.Rand) error { return hastyRemote(c, from, to, r, unit, &q, done) })
		}
	}
	var all error
	for i := range n {
		all = errors.Join(all, <-errs)
		if i == streams-1 {
			close(done)
		}
	}
	for _, c := range conns {
		if err := c.Close(); err != nil && all == nil {
			all = fmt.Errorf("Close: %w", err)
		}
	}
	settle()
	synctest.Wait()
	return errors.Join(all, q.check())
}
