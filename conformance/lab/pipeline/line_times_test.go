package pipeline_test

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/conformance/lab/pipeline"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
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
				a, b := simtoe.Pair(cfg, cfg)
				defer a.Close()
				defer b.Close()
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

// A Write of more than the window continues as bytes are read, and bytes written before the end
// arrive before the end.
func TestEngineWindowAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := simtoe.Config{Timing: line(t, 3), Window: 10_000}
		a, b := simtoe.Pair(cfg, cfg)
		defer a.Close()
		defer b.Close()
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

// A connection with the times of a Line meets the contract of a Stream.
func TestContract(t *testing.T) {
	for desc, cfg := range map[string]simtoe.Config{
		"engine":               {Timing: line(t, 4)},
		"engine, split, early": {Seed: 7, Split: true, Early: 0.3, Timing: line(t, 5)},
	} {
		t.Run(desc, func(t *testing.T) {
			toetest.TestStreamInBubble(t, func(*testing.T) (a, b toe.Stream) { return simtoe.Pair(cfg, cfg) })
		})
	}
}
