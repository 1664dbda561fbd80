package simtoe_test

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/simtoe/pipeline"
)

// line returns a Config.Timing: an engine with cut-through on the link of that preset.
func line(t *testing.T, preset int) func() simtoe.Timing {
	return func() simtoe.Timing {
		l, err := pipeline.NewLine(pipeline.Presets()[preset], pipeline.Fine)
		if err != nil {
			t.Error(err)
		}
		return l
	}
}

// In a bubble a message takes exactly the time that the model computes, in both directions.
func TestEngineTimes(t *testing.T) {
	for preset, p := range pipeline.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			m, err := pipeline.NewModel(p, pipeline.Fine)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				cfg := simtoe.Config{Timing: line(t, preset)}
				a, b := pair(t, cfg, cfg)
				for i, n := range []int{1, 100, p.MaxPacket, 100_000} {
					from, to := a, b
					if i%2 == 1 {
						from, to = b, a
					}
					time.Sleep(time.Second)
					begin := time.Now()
					if got, err := from.TryWriteBatch([][]byte{make([]byte, n/3), make([]byte, n-n/3)}); got != n || err != nil {
						t.Fatalf("TryWriteBatch: %d, %v", got, err)
					}
					if _, err := io.ReadFull(to, make([]byte, n)); err != nil {
						t.Fatal(err)
					}
					if got, want := time.Since(begin), m.Latency(n).Duration(); got != want {
						t.Errorf("%d bytes take %v, want %v", n, got, want)
					}
				}
			})
		})
	}
}

// A Write of more than the window goes on as bytes are read, and what was written before the end
// arrives before the end.
func TestEngineWindowAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := simtoe.Config{Timing: line(t, 3), Window: 10_000}
		a, b := pair(t, cfg, cfg)
		const n = 100_000
		begin := time.Now()
		go func() {
			if _, err := a.Write(make([]byte, n)); err != nil {
				t.Error(err)
			}
			a.Close()
		}()
		got, err := io.ReadAll(b)
		if len(got) != n || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if took := time.Since(begin); took < n*800*time.Nanosecond/1000 {
			t.Errorf("%d bytes take %v, less than on the link", n, took)
		}
	})
}

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

// A Timing hears of each write once, and of a write that waits for the window each time that it
// waits. A closed reader hears no more of it.
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
