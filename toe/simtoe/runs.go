package simtoe

import (
	"math"
	"math/rand/v2"
)

// lookahead is the number of runs, including the current one, that are known at a time. So the gap
// before an early run has at most lookahead-1 runs.
const lookahead = 8

// A run is one piece of the stream as the receiver sees it.
type run struct {
	end uint64 // stream offset after its last byte; the run starts at the end of the run before
	// lag says when the run is shown early: as soon as the reader is in one of the lag runs before
	// it. Zero means never.
	lag   int
	shown bool // early
}

// runs is the sequence of runs of one half. It depends on the seed alone.
type runs struct {
	random *rand.Rand // nil if the stream is a single run without end
	max    int        // maximum length of a run in bytes
	split  bool
	early  float64

	known [lookahead]run // a ring: the current run is known[head]
	head  int
	n     int
	end   uint64 // of the last known run
}

func newRuns(c Config, side uint64) runs {
	r := runs{max: c.MaxSegment, split: c.Split, early: c.Early}
	if r.max <= 0 {
		if !c.Split && c.Early <= 0 {
			return r
		}
		r.max = c.emss()
	}
	r.random = rand.New(rand.NewPCG(c.Seed, side))
	return r
}

// at returns run number i, counted from the current run, which is number 0. i must be less than
// lookahead.
func (r *runs) at(i int) *run {
	for ; r.n <= i; r.n++ {
		r.known[(r.head+r.n)%lookahead] = r.draw()
	}
	return &r.known[(r.head+i)%lookahead]
}

// pass makes the run that contains offset next the current run.
func (r *runs) pass(next uint64) {
	for r.at(0).end <= next {
		r.head = (r.head + 1) % lookahead
		r.n--
	}
}

// draw makes the run after the last known run. It draws the same random numbers for all settings,
// so that Early does not change where the runs end.
func (r *runs) draw() run {
	if r.random == nil {
		return run{end: math.MaxUint64}
	}
	size, early, lag := 1+r.random.IntN(r.max), r.random.Float64(), 1+r.random.IntN(lookahead-1)
	if !r.split {
		size = r.max
	}
	if early >= r.early {
		lag = 0
	}
	r.end += uint64(size)
	return run{end: r.end, lag: lag}
}
