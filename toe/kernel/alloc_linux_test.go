//go:build !race

package kernel

import (
	"testing"

	"github.com/rddp/rddp/toe"
)

// This file is not for the race detector, under which sync.Pool drops some of its values on
// purpose.
func TestAllocations(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		x, y := pairOf(t, &Backend{})
		testAllocations(t, x, y)
	})
	t.Run("unix", func(t *testing.T) {
		x, y := unixPairOf(t)
		testAllocations(t, x, y)
	})
}

func testAllocations(t *testing.T, x, y toe.Stream) {
	header, payload := make([]byte, 24), make([]byte, 1400)
	var batch [64][]byte
	for i := range batch {
		batch[i] = header
		if i%2 == 1 {
			batch[i] = payload
		}
	}
	into := &late{p: make([]byte, 64<<10)}
	drain := func(n int) error {
		for n > 0 {
			m, _, err := y.ReadSegment(into, 0)
			if err != nil {
				return err
			}
			n -= m
		}
		return nil
	}
	for _, test := range []struct {
		desc string
		f    func() error
	}{
		{"TryWriteBatch, ReadSegment", func() error {
			n, err := x.TryWriteBatch(batch[:])
			if err != nil {
				return err
			}
			return drain(n)
		}},
		{"WaitWritable", x.WaitWritable},
		{"EMSS", func() error {
			for range 2 * emssEvery {
				x.EMSS()
			}
			return nil
		}},
		{"Pending", func() error { _, err := y.Pending(); return err }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			var failed error
			if n := testing.AllocsPerRun(200, func() {
				if err := test.f(); err != nil {
					failed = err
				}
			}); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
			if failed != nil {
				t.Error(failed)
			}
		})
	}
}

// TestWaitingAllocations counts allocations while WaitWritable waits for room and ReadSegment for
// bytes, in each run.
func TestWaitingAllocations(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		x, y := pairOf(t, &Backend{})
		testWaitingAllocations(t, x, y)
	})
	t.Run("unix", func(t *testing.T) {
		x, y := unixPairOf(t)
		testWaitingAllocations(t, x, y)
	})
}

// tryAndWait writes two slices.
func tryAndWait(x toe.Stream, bufs [][]byte) error {
	for len(bufs) > 0 {
		n, err := x.TryWriteBatch(bufs)
		if err != nil {
			return err
		}
		for len(bufs) > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if len(bufs) > 0 {
			bufs[0] = bufs[0][n:]
			if err := x.WaitWritable(); err != nil {
				return err
			}
		}
	}
	return nil
}

func testWaitingAllocations(t *testing.T, x, y toe.Stream) {
	batch := [][]byte{make([]byte, 8<<20), make([]byte, 8<<20)} // more than the kernel buffers
	var full [2][]byte
	into := &late{p: make([]byte, 256<<10)}
	start := make(chan bool)
	done := make(chan error)
	go func() {
		for range start {
			left := 16 << 20
			for left > 0 {
				n, _, err := y.ReadSegment(into, 0)
				if err != nil {
					done <- err
					return
				}
				left -= n
			}
			done <- nil
		}
	}()
	defer close(start)
	var failed error
	if n := testing.AllocsPerRun(50, func() { // the runtime makes a few in all, which rounding removes
		start <- true
		copy(full[:], batch)
		if err := tryAndWait(x, full[:]); err != nil {
			failed = err
		}
		if err := <-done; err != nil {
			failed = err
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if failed != nil {
		t.Error(failed)
	}
}
