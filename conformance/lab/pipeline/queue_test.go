package pipeline

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// A Queue keeps its invariants in any order of calls.
func TestQueueInvariants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		hostDepth, engineDepth := r.IntN(5), 1+r.IntN(4)
		q := NewQueue[int](hostDepth, engineDepth)
		var posted, taken, completed int // the numbers of descriptors, which are 0, 1, 2 …
		for range 200 {
			switch host, engine := q.Len(); r.IntN(4) {
			case 0, 1:
				level, err := q.Post(posted)
				full := (*QueueFullError)(nil)
				switch {
				case errors.As(err, &full):
					if host != hostDepth || engine != engineDepth || *full != (QueueFullError{host, engine}) {
						t.Fatalf("Post: %v with %d and %d of %d and %d", err, host, engine, hostDepth, engineDepth)
					}
				case (level == EngineLevel) != (engine < engineDepth):
					t.Fatalf("Post to the %v queue with %d of %d in the engine queue", level, engine, engineDepth)
				default:
					posted++
				}
			case 2:
				d, ok := q.Take()
				if ok != (taken < completed+engine) || ok && d != taken {
					t.Fatalf("Take: %d, %t; %d were taken, %d are in the engine queue", d, ok, taken, engine)
				}
				if ok {
					taken++
				}
			case 3:
				if taken == completed {
					continue
				}
				d, refilled := q.Complete()
				if d != completed || refilled != (host > 0) {
					t.Fatalf("Complete: %d, %t; want %d, and %d are in the host queue", d, refilled, completed, host)
				}
				completed++
			}
			host, engine := q.Len()
			if host < 0 || host > hostDepth || engine < 0 || engine > engineDepth || host > 0 && engine < engineDepth {
				t.Fatalf("%d and %d descriptors, in queues of %d and %d", host, engine, hostDepth, engineDepth)
			}
			if posted != completed+host+engine || q.Room() != hostDepth+engineDepth-host-engine {
				t.Fatalf("%d posted, %d completed, %d and %d queued, room for %d", posted, completed, host, engine, q.Room())
			}
		}
	}
}

func TestQueueMisuse(t *testing.T) {
	for _, test := range []struct {
		desc string
		f    func()
	}{
		{"no engine queue", func() { NewQueue[int](1, 0) }},
		{"negative host queue", func() { NewQueue[int](-1, 1) }},
		{"completion of what is not taken", func() {
			q := NewQueue[int](0, 1)
			q.Post(1)
			q.Complete()
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			test.f()
		})
	}
}
