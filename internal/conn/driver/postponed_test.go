package driver

import (
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A transmissionHook is a Stream that calls during once, before a transmission.
type transmissionHook struct {
	toe.Stream
	during func()
}

func (h *transmissionHook) TryWriteBatch(bufs [][]byte) (int, error) {
	if during := h.during; during != nil {
		h.during = nil
		during()
	}
	return h.Stream.TryWriteBatch(bufs)
}

// TestPostDuringFlush: Post puts a Work Request off while Flush transmits. The Work Request counts
// as put off, even if the transmission has sent it too: Flush cannot know.
func TestPostDuringFlush(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		hook := &transmissionHook{Stream: sa}
		a, b, end := streamPair(hook, sb)
		synctest.Wait()
		post := func() {
			if err := a.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true}); err != nil {
				t.Error(err)
			}
		}
		for range burstTimes + 1 { // no time passes here, so all Work Requests belong to one burst
			post()
		}
		if !a.later.waits() {
			t.Fatal("nothing is put off")
		}
		hook.during = post
		a.Flush()
		if hook.during != nil || !a.later.waits() {
			t.Error("a Work Request that was posted during a Flush does not count as put off")
		}
		end(a)
		end(b)
	})
}
