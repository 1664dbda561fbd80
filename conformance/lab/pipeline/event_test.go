package pipeline

import (
	"math/rand/v2"
	"testing"
)

// Events come in the order of their times, then of the stages, and then as they were scheduled.
func TestEvents(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var e events
	var last event
	waiting := 0
	for range 20_000 {
		if waiting == 0 || r.IntN(100) < 51 {
			e.after(Time(r.IntN(5)), event{s: Stage(r.IntN(stages)), kind: eventKind(1 + r.IntN(2))})
			waiting++
			last.rank = -1 // an event of an earlier stage at the same time may have joined
			continue
		}
		v := e.next()
		waiting--
		if v.at < last.at || last.rank >= 0 && v.before(&last) || e.now != v.at {
			t.Fatalf("%+v after %+v, at %d", v, last, e.now)
		}
		last = v
	}
	if len(e.list) != waiting {
		t.Errorf("%d events, want %d", len(e.list), waiting)
	}
}
