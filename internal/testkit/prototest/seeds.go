package prototest

import (
	"fmt"
	"sync"
	"testing"
)

// EachSeed runs f as a subtest for each seed from 0 to seeds-1, atOnce of them at a time. The
// subtest's name contains the seed. Tests that mostly wait, such as those over lossy links, gain
// from an atOnce larger than the number of CPUs.
func EachSeed(t *testing.T, seeds, atOnce int, f func(t *testing.T, seed uint64)) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan uint64)
	for range atOnce {
		wg.Go(func() {
			for seed := range next {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { f(t, seed) })
			}
		})
	}
	for seed := range uint64(seeds) {
		next <- seed
	}
	close(next)
	wg.Wait()
}
