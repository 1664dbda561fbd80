package extsock_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

const allocRounds = 500

// allocations returns the number of allocations in allocRounds rounds, of which a few are the
// runtime's. AllocsPerRun rounds its average down, and would hide allocations that do not happen in
// each round.
func allocations(once func()) float64 {
	return testing.AllocsPerRun(1, func() {
		for range allocRounds {
			once()
		}
	})
}

// TestStreamAllocations: in the steady state a Write and a Read allocate nothing, at either end.
func TestStreamAllocations(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, length := range []int{64, 4 << 10, 64 << 10} {
		t.Run(fmt.Sprintf("one way, %d", length), func(t *testing.T) {
			ci, cr := tcpPair(t, side{cfg: extsock.Config{Crossover: -1}}, side{cfg: extsock.Config{Crossover: -1}})
			bounded(t, ci, cr)
			out, in := make([]byte, length), make([]byte, length)
			var failed error
			once := func() {
				if _, err := ci.Write(out); err != nil {
					failed = err
				}
				if _, err := io.ReadFull(cr, in); err != nil {
					failed = err
				}
			}
			for range 200 {
				once()
			}
			if n := allocations(once); n > allocRounds/10 || failed != nil {
				t.Errorf("%v allocations in %d rounds, %v", n, allocRounds, failed)
			}
		})
		t.Run(fmt.Sprintf("there and back, %d", length), func(t *testing.T) {
			ci, cr := tcpPair(t, side{}, side{})
			bounded(t, ci, cr)
			go func() {
				p := make([]byte, length)
				for {
					if _, err := io.ReadFull(cr, p); err != nil {
						return
					}
					if _, err := cr.Write(p); err != nil {
						return
					}
				}
			}()
			p := make([]byte, length)
			var failed error
			once := func() {
				if _, err := ci.Write(p); err != nil {
					failed = err
				}
				if _, err := io.ReadFull(ci, p); err != nil {
					failed = err
				}
			}
			for range 200 {
				once()
			}
			if n := allocations(once); n > allocRounds/10 || failed != nil {
				t.Errorf("%v allocations in %d rounds, %v", n, allocRounds, failed)
			}
		})
	}
}
