package driver

import (
	"bytes"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// goroutinesOfBubble returns the number of goroutines in the caller's synctest bubble. Those of
// other tests may still be about to end.
func goroutinesOfBubble() int {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	return bytes.Count(b, append(regexp.MustCompile(`synctest bubble \d+`).Find(b), ']'))
}

// TestHomeIsNoGoroutine: once a Read receives, the connection has no goroutine of its own. Home
// comes back when a peer's operation finds no Read, and for the end of the connection, and then it
// leaves again after the next message for a Read.
func TestHomeIsNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		before := goroutinesOfBubble()
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		for round := range 4 {
			exchange(t, a, b, 3)
			synctest.Wait()
			for _, d := range []*Driver{a, b} {
				if by := d.role.reading().by(); by == byHome {
					t.Errorf("round %d: %v reads after messages for Reads", round, by)
				}
			}
			// The peer answers a Read of no bytes without its program.
			for _, d := range []*Driver{a, b} {
				if _, err := d.Do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}}, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		exchange(t, a, b, 3)
		var limit wait.Deadline
		over := make(chan error, 2)
		for _, d := range []*Driver{a, b} {
			go func() {
				_, err := d.Read(make([]byte, 8), &limit)
				over <- err
			}()
		}
		synctest.Wait()
		for _, d := range []*Driver{a, b} {
			if by := d.role.reading().by(); by != byRead {
				t.Errorf("%v reads while a Read waits", by)
			}
		}
		if n := goroutinesOfBubble(); n != before+2 {
			t.Errorf("%d goroutines while two Reads wait, and %d before", n, before)
		}
		end(a)
		end(b)
		for range 2 {
			if err := <-over; err == nil {
				t.Error("a Read returned without an error after the end")
			}
		}
	})
}
