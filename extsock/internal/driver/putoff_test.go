package driver

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestFlushMeetsPost has Post put Work Requests off while another goroutine calls Flush. Whatever
// Flush has not sent must still count as put off. Otherwise the next Read would not send it, nor a
// Post that finds the queue full.
func TestFlushMeetsPost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		synctest.Wait()
		post := func() {
			if err := a.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true}); err != nil {
				t.Error(err)
			}
		}
		for range burstTimes { // no time passes here, so all Work Requests belong to one burst
			post()
		}
		waited := 0
		for range 400 {
			var posts, over atomic.Bool
			var flusher sync.WaitGroup
			flusher.Go(func() {
				posts.Store(true)
				for !over.Load() {
					a.Flush()
				}
			})
			for !posts.Load() { // no sleep: while the flusher runs, no time passes here
				runtime.Gosched()
			}
			post()
			over.Store(true)
			flusher.Wait()
			if waits := a.later.waits(); a.tx.wanted() {
				if waited++; !waits {
					t.Error("a Work Request that was not sent does not count as put off")
					break
				}
			}
			a.Flush()
		}
		t.Logf("%d times the Work Request was put off after the last Flush", waited)
		end(a)
		end(b)
	})
}
