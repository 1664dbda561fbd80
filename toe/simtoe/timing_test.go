package simtoe_test

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A recorder is a Timing that remembers its calls. Everything takes 5 ms.
type recorder struct {
	sends []int
	at    []time.Duration
}

func (r *recorder) Send(now time.Duration, n int) {
	r.sends, r.at = append(r.sends, n), append(r.at, now+5*time.Millisecond)
}

func (r *recorder) Advance(now time.Duration) (arrived uint64, next time.Duration, ok bool) {
	for i, at := range r.at {
		if at > now {
			return arrived, at, true
		}
		arrived += uint64(r.sends[i])
	}
	return arrived, 0, false
}

// A Timing learns of each write once, and of a write that waits for the window each time that it
// waits. After the reader has closed, it learns of no writes.
func TestTimingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		var a, b toe.Stream = pair(t, simtoe.Config{Window: 100, Timing: func() simtoe.Timing { return r }}, simtoe.Config{})
		if n, err := a.TryWriteBatch([][]byte{make([]byte, 10), nil, make([]byte, 20)}); n != 30 || err != nil {
			t.Fatal(n, err)
		}
		time.Sleep(time.Millisecond)
		go a.Write(make([]byte, 100))
		synctest.Wait()
		if n, err := b.Pending(); n != 0 || err != nil {
			t.Errorf("%d bytes have arrived at once, %v", n, err)
		}
		if _, err := io.ReadFull(b, make([]byte, 130)); err != nil {
			t.Fatal(err)
		}
		if want := []int{30, 70, 30}; !slices.Equal(r.sends, want) {
			t.Errorf("Send got %v, want %v", r.sends, want)
		}
		if want := []time.Duration{5 * time.Millisecond, 6 * time.Millisecond, 11 * time.Millisecond}; !slices.Equal(r.at, want) {
			t.Errorf("the bytes arrive at %v, want %v", r.at, want)
		}
		a.TryWriteBatch([][]byte{make([]byte, 10)})
		b.Close()
		time.Sleep(time.Second)
	})
}
