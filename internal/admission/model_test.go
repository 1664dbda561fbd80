package admission

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A modeled is a place as the package comment describes it.
type modeled struct {
	*Place
	from  Source
	want  placeState
	since int // the step in which it was lent
	err   error
}

// A model has all places in the order in which they were accepted, including places that have not
// entered.
type model struct {
	most, mostQuiet int
	places          []*modeled
	step            int
}

func (m *model) count(match func(p *modeled) bool) (n int) {
	for _, p := range m.places {
		if match(p) {
			n++
		}
	}
	return n
}

func (m *model) all(s placeState) int { return m.count(func(p *modeled) bool { return p.want == s }) }

func (m *model) of(from Source, states ...placeState) int {
	return m.count(func(p *modeled) bool { return p.from == from && slices.Contains(states, p.want) })
}

func (m *model) mayHold(from Source, n int) bool { return m.of(from, held)+n <= m.most-m.all(held) }

// lastLent returns the place that was lent last, or nil.
func (m *model) lastLent() (last *modeled) {
	for _, p := range m.places {
		if p.want == lent && (last == nil || p.since > last.since) {
			last = p
		}
	}
	return last
}

// enter models Enter.
func (m *model) enter(p *modeled) (loser *modeled, err error) {
	p.want = quiet
	if m.mostQuiet > 0 && m.all(quiet) <= m.mostQuiet || m.mostQuiet == 0 && m.all(quiet)+m.all(held)+m.all(lent) <= m.most {
		return nil, nil
	}
	if last := m.lastLent(); last != nil && m.mostQuiet == 0 && m.all(quiet) <= max(m.most/16, 1) && m.mayHold(p.from, m.of(p.from, quiet)) {
		return last, ErrShare
	}
	var crowded []*modeled
	for _, p := range m.places {
		if p.want == quiet {
			crowded = append(crowded, p)
		}
	}
	return slices.MinFunc(crowded, func(a, b *modeled) int {
		return cmp.Or(cmp.Compare(m.of(b.from, quiet), m.of(a.from, quiet)), cmp.Compare(m.of(b.from, held, lent), m.of(a.from, held, lent)))
	}), ErrQuiet
}

// heard models Heard.
func (m *model) heard(p *modeled) (loser *modeled) {
	isFull := m.all(held)+m.all(lent) >= m.most
	if p.want != quiet {
		return nil
	}
	switch mayHold := m.mayHold(p.from, 1); {
	case mayHold:
		if isFull {
			loser = m.lastLent()
		}
		p.want = held
	case !isFull:
		m.step++
		p.want, p.since = lent, m.step
	}
	return loser
}

// leave models Leave.
func (m *model) leave(p *modeled) {
	was := p.want
	p.want = outside
	if was != held {
		return
	}
	byAge := slices.SortedFunc(slices.Values(m.places), func(a, b *modeled) int { return cmp.Compare(a.since, b.since) })
	for _, p := range byAge {
		if p.want == lent && m.mayHold(p.from, 1) {
			p.want = held
		}
	}
}

// TestCrowdIsExact: whatever connections come and go, each place has the state that the rules
// require, the counts match the places, and nothing is kept of sources that have no connection.
func TestCrowdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{most: rapid.IntRange(1, 40).Draw(t, "most"), mostQuiet: rapid.IntRange(0, 6).Draw(t, "mostQuiet")}
		c := New(m.most, m.mostQuiet)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			var loser *modeled
			var err error
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step < 2:
				p := &modeled{from: Source{name: string(rune('a' + rapid.IntRange(0, 4).Draw(t, "source")))}}
				p.Place = c.New(p.from, func(err error) { p.err = err })
				m.places = append(m.places, p)
				loser, err = m.enter(p)
				if got, want := p.Enter(), loser != p; got != want {
					t.Fatalf("Enter = %t, want %t", got, want)
				} else if !got {
					loser.want, loser = outside, nil
				}
			case len(m.places) == 0:
			case step < 5:
				p := m.places[rapid.IntRange(0, len(m.places)-1).Draw(t, "which")]
				loser, err = m.heard(p), ErrShare
				if got, want := p.Heard(), p.want == held || p.want == lent; got != want {
					t.Fatalf("Heard = %t, want %t", got, want)
				}
			default:
				p := m.places[rapid.IntRange(0, len(m.places)-1).Draw(t, "which")]
				m.leave(p)
				p.Leave()
			}
			if loser != nil {
				loser.want = outside
				if loser.err != err { //nolint:errorlint // this very one
					t.Fatalf("displaced with %v, want %v", loser.err, err)
				}
				loser.err = nil
			}
			m.check(t, c)
		}
	})
}

// check compares the Limiter with the model.
//
// +checklocksignore: no other goroutine is at work
func (m *model) check(t *rapid.T, c *Limiter) {
	sources := make(map[Source]bool)
	for _, p := range m.places {
		if p.state != p.want {
			t.Fatalf("place %d of %v is %v, want %v", p.number, p.from, p.state, p.want)
		}
		if p.err != nil {
			t.Fatalf("place %d of %v: %v", p.number, p.from, p.err)
		}
		if p.want != outside {
			sources[p.from] = true
		}
		if p.want == lent && m.mayHold(p.from, 1) {
			t.Fatalf("place %d of %v is lent, and may be held", p.number, p.from)
		}
	}
	if c.quiet != m.all(quiet) || c.held != m.all(held) || c.lent.Len() != m.all(lent) || len(c.sources) != len(sources) {
		t.Fatalf("%d quiet, %d held, %d lent of %d sources are counted", c.quiet, c.held, c.lent.Len(), len(c.sources))
	}
	for i := 1; i < len(c.noisy); i++ {
		if c.noisy.Less(i, (i-1)/2) {
			t.Fatal("the sources are out of order")
		}
	}
}
