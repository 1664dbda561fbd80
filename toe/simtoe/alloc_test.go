package simtoe_test

import (
	"testing"

	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

func TestAllocations(t *testing.T) {
	for _, test := range []struct {
		desc string
		cfg  simtoe.Config
	}{
		{"orderly", simtoe.Config{}},
		{"split, early", simtoe.Config{Split: true, Early: 0.5}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			a, b := pair(t, test.cfg, simtoe.Config{})
			bufs := [][]byte{make([]byte, 24), make([]byte, 1400), make([]byte, 24)}
			into := toetest.Into(make([]byte, 4096))
			var failed error
			if n := testing.AllocsPerRun(1000, func() {
				if _, err := a.TryWriteBatch(bufs); err != nil {
					failed = err
				}
				for pending, err := b.Pending(); pending > 0; pending, err = b.Pending() {
					if err != nil {
						failed = err
					}
					if _, _, err := b.ReadSegment(into, 0); err != nil {
						failed = err
					}
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
