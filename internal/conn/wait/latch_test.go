package wait

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A Latch wakes the goroutines that wait for it, and later looks find it set.
func TestLatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Latch
		var woken atomic.Int32
		for range 3 {
			go func() {
				<-l.Done()
				woken.Add(1)
			}()
			synctest.Wait()
		}
		if l.IsSet() || woken.Load() != 0 {
			t.Errorf("before Set: set %t, %d woken", l.IsSet(), woken.Load())
		}
		l.Set()
		synctest.Wait()
		if !l.IsSet() || woken.Load() != 3 {
			t.Errorf("after Set: set %t, %d woken", l.IsSet(), woken.Load())
		}
		<-l.Done()
	})
}

// A goroutine that waits misses no Set, even while the channel is being made.
func TestLatchWakes(t *testing.T) {
	for range testmode.Rounds(2000, 200) {
		synctest.Test(t, func(t *testing.T) {
			var l Latch
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { <-l.Done() })
			}
			wg.Go(l.Set)
			wg.Wait()
		})
	}
}
