//go:build !race

package kernel

import (
	"testing"
)

// Not with the race detector: under it sync.Pool forgets on purpose.
func TestAllocations(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		x, y := pairOf(t, &Backend{})
		testAllocations(t, &x.socket, &y.socket)
	})
	t.Run("unix", func(t *testing.T) {
		x, y := unixPairOf(t)
		testAllocations(t, &x.socket, &y.socket)
	})
}

func testAllocations(t *testing.T, x, y *socket) {
	header, payload := make([]byte, 24), make([]byte, 1400)
	var batch [64][]byte
	for i := range batch {
		batch[i] = header
		if i%2 == 1 {
			batch[i] = payload
		}
	}
	p := make([]byte, 64<<10)
	drain := func(n int) error {
		for n > 0 {
			if err := y.Readable(); err != nil {
				return err
			}
			m, _, err := y.ReadSegment(p)
			if err != nil {
				return err
			}
			n -= m
		}
		return nil
	}
	size := 32 * (len(header) + len(payload))
	for _, test := range []struct {
		desc string
		f    func() error
	}{
		{"WriteBatch, Readable, ReadSegment", func() error {
			if err := x.WriteBatch(batch[:]); err != nil {
				return err
			}
			return drain(size)
		}},
		{"TryWriteBatch", func() error {
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

// TestWaitingAllocations: WriteBatch, or WaitWritable, waits for room and Readable
// for octets in each run.
func TestWaitingAllocations(t *testing.T) {
	for desc, write := range map[string]func(x *socket, bufs [][]byte) error{
		"WriteBatch":   (*socket).WriteBatch,
		"WaitWritable": tryAndWait,
	} {
		t.Run("tcp, "+desc, func(t *testing.T) {
			x, y := pairOf(t, &Backend{})
			testWaitingAllocations(t, &x.socket, &y.socket, write)
		})
		t.Run("unix, "+desc, func(t *testing.T) {
			x, y := unixPairOf(t)
			testWaitingAllocations(t, &x.socket, &y.socket, write)
		})
	}
}

// tryAndWait writes two slices.
func tryAndWait(x *socket, bufs [][]byte) error {
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

func testWaitingAllocations(t *testing.T, x, y *socket, write func(x *socket, bufs [][]byte) error) {
	batch := [][]byte{make([]byte, 8<<20), make([]byte, 8<<20)} // more than the kernel buffers
	var full [2][]byte
	p := make([]byte, 256<<10)
	start := make(chan bool)
	done := make(chan error)
	go func() {
		for range start {
			left := 16 << 20
			for left > 0 {
				if err := y.Readable(); err != nil {
					done <- err
					return
				}
				n, _, err := y.ReadSegment(p)
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
	if n := testing.AllocsPerRun(10, func() {
		start <- true
		copy(full[:], batch)
		if err := write(x, full[:]); err != nil {
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
