//go:build !race

package shm

import (
	"testing"

	"github.com/rddp/rddp/toe/toetest"
)

// This file is excluded under the race detector, which causes more allocations.
func TestAllocations(t *testing.T) {
	a, b := pair(t)
	header, payload := make([]byte, 24), make([]byte, 1400)
	batch := [][]byte{header, payload, header, payload}
	into := toetest.Into(make([]byte, 64<<10))
	big := make([]byte, 2*ringLen)
	go func() { // answers each byte with enough to fill the ring, so that both ends wait
		into := toetest.Into(make([]byte, 1))
		rest := make([][]byte, 1)
		for {
			if _, _, err := b.ReadSegment(into, 0); err != nil {
				return
			}
			for rest[0] = big; len(rest[0]) > 0; {
				n, err := b.TryWriteBatch(rest)
				if err != nil {
					return
				}
				if rest[0] = rest[0][n:]; len(rest[0]) > 0 && b.WaitWritable() != nil {
					return
				}
			}
		}
	}()
	c, d := pair(t)
	for _, test := range []struct {
		desc string
		f    func() error
	}{
		{"without waiting", func() error {
			n, err := c.TryWriteBatch(batch)
			for n > 0 && err == nil {
				var m int
				m, _, err = d.ReadSegment(into, 0)
				n -= m
			}
			return err
		}},
		{"WaitWritable, Pending", func() error {
			_, err := d.Pending()
			if err == nil {
				err = c.WaitWritable()
			}
			return err
		}},
		{"waiting for bytes", func() error {
			if _, err := a.TryWriteBatch([][]byte{header[:1]}); err != nil {
				return err
			}
			for left := len(big); left > 0; {
				n, _, err := a.ReadSegment(into, 0)
				if err != nil {
					return err
				}
				left -= n
			}
			return nil
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			var failed error
			if n := testing.AllocsPerRun(100, func() {
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
