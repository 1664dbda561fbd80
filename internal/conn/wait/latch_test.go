package wait

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A Latch wakes the goroutines that wait for it, and later looks find it set.
func TestLatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Latch
		l.Init()
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
