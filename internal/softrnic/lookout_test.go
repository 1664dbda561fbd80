package softrnic

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ring"
)

// TestLookout: a receive is found once, however late it is posted, and a queue that is gone is
// forgotten. The time between looks grows with each look, and with the number of queues.
func TestLookout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		var l lookout
		newQueue := func() *receiveQueue {
			size, _ := ring.Size(3, 64)
			return &receiveQueue{ring: ring.New(make([]byte, size), 3, 64)}
		}
		queue, gone, left := newQueue(), newQueue(), newQueue()
		var found atomic.Int32
		l.add(queue, func() { found.Add(1) })
		l.add(gone, func() { t.Error("a queue that is gone has a receive") })
		l.remove(l.add(left, func() { t.Error("nobody waits any more") }))
		gone.close()
		for range 2 {
			after(time.Minute)
			if found.Load() != 0 {
				t.Fatal("there is no receive")
			}
		}
		for _, q := range []*receiveQueue{queue, left} {
			q.ring.Put(func([]byte) {}) // +checklocksignore: no other goroutine is at work
		}
		after(lookRarely + time.Millisecond)
		if found.Load() != 1 {
			t.Errorf("%v after the receive was posted, it was found %d times", lookRarely, found.Load())
		}
		after(time.Minute)
		if l.mu.Lock(); found.Load() != 1 || len(l.waits) != 0 || l.set {
			t.Errorf("found %d times, %d wait, the timer is set: %v", found.Load(), len(l.waits), l.set)
		}
		l.mu.Unlock()
		for range 1000 {
			l.add(newQueue(), func() {})
		}
		after(lookSlowly) // the first look
		l.add(queue, func() { found.Add(1) })
		if after(1000*lookEach - time.Microsecond); found.Load() != 1 {
			t.Error("the look at many queues came too early")
		}
		if after(2 * lookEach); found.Load() != 2 {
			t.Error("the look at many queues did not come")
		}
		l.mu.Lock()
		clear(l.waits)
		l.mu.Unlock()
		time.Sleep(time.Minute)
	})
}
