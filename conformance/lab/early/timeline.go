package main

import (
	"cmp"
	"slices"
	"time"
)

// An arrival is the payload of a segment, at its place in the stream.
type arrival struct {
	at    time.Duration
	delay time.Duration // on the way; 0 if it is not known
	span
}

// A result contains the measurements of trials in their windows, and the maximum values in slow
// start. The bytes of all connections of a trial count together. Results of trials of the same kind
// can be added.
type result struct {
	elapsed time.Duration
	bytes   uint64        // of the stream
	open    time.Duration // there was a gap with bytes behind it
	delays  time.Duration // sum of the delays of segments
	delayed int           // number of these segments

	// The integrals over time, in byte seconds: bytes behind a gap, and those of them not in place.
	heldTime, waitingTime float64

	most, mostInSlowStart peak

	all    []time.Duration // from the arrival of a segment until its payload was in place
	behind []time.Duration // of the segments that arrived behind a gap
}

// A peak has maximum values: bytes behind a gap, and those of them not in place.
type peak struct{ held, waiting uint64 }

func (p *peak) add(o peak) { *p = peak{max(p.held, o.held), max(p.waiting, o.waiting)} }

// add adds the result of another trial.
func (r *result) add(o *result) {
	r.elapsed += o.elapsed
	r.bytes += o.bytes
	r.open += o.open
	r.delays += o.delays
	r.delayed += o.delayed
	r.heldTime += o.heldTime
	r.waitingTime += o.waitingTime
	r.most.add(o.most)
	r.mostInSlowStart.add(o.mostInSlowStart)
	r.all = append(r.all, o.all...)
	r.behind = append(r.behind, o.behind...)
}

// rate returns the bytes of the stream in a second.
func (r *result) rate() float64 { return ratio(float64(r.bytes), r.elapsed.Seconds()) }

// delay returns the mean delay of a segment on its way.
func (r *result) delay() time.Duration {
	return time.Duration(ratio(float64(r.delays), float64(r.delayed)))
}

// held returns the mean number of bytes behind a gap while there is one, and waiting the mean
// number of those that are not in place.
func (r *result) held() float64    { return ratio(r.heldTime, r.open.Seconds()) }
func (r *result) waiting() float64 { return ratio(r.waitingTime, r.open.Seconds()) }

// ratio returns a divided by b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// A window is the part of a trial that counts: slow start is over, and the sender has not ended.
type window struct{ begin, end time.Duration }

// A level is the number of bytes behind a gap from a time on, and how many of them are not in
// place.
type level struct {
	at            time.Duration
	held, waiting uint64
}

// A timeline follows the bytes behind a gap of one connection.
type timeline struct {
	result
	window window
	fpdus  []written
	levels []level
	now    time.Duration
	before uint64 // bytes that had arrived when the window began
	seen   spans  // bytes that have arrived, below the gap and behind it
	ahead  []span // FPDUs in place behind the gap
	held   uint64 // bytes behind the gap
	ready  uint64 // bytes of ahead
}

// follow follows one connection. The arrivals are in the order of their times, and all FPDUs are in
// place at the end. The result has the bytes and times of the window.
func follow(list []arrival, fpdus []written, w window) *timeline {
	t := &timeline{window: w, fpdus: fpdus, seen: spans{{0, 0}}}
	placings := slices.Clone(fpdus)
	slices.SortStableFunc(placings, func(a, b written) int { return cmp.Compare(a.placed, b.placed) })
	for _, a := range list {
		for len(placings) > 0 && placings[0].placed < a.at {
			t.advance(placings[0].placed)
			t.place(placings[0].span)
			placings = placings[1:]
		}
		t.advance(a.at)
		t.arrive(a)
	}
	t.advance(max(t.now, w.end))
	return t
}

// edge returns the stream offset where the first gap begins.
func (t *timeline) edge() uint64 { return t.seen[0].to }

// counts reports whether the time is in the window.
func (t *timeline) counts() bool { return t.now >= t.window.begin && t.now < t.window.end }

// advance goes on to the time at.
func (t *timeline) advance(at time.Duration) {
	if t.now < t.window.begin && at >= t.window.begin {
		t.before = t.edge()
	}
	if t.now < t.window.end && at >= t.window.end {
		t.bytes = t.edge() - t.before
	}
	t.now = at
}

// arrive adds the bytes of a segment.
func (t *timeline) arrive(a arrival) {
	if t.counts() && a.delay > 0 {
		t.delays += a.delay
		t.delayed++
	}
	added := t.seen.add(a.span)
	if len(added) == 0 {
		return // all of it has arrived before
	}
	t.time(a, added)
	t.held = 0
	for _, s := range t.seen[1:] {
		t.held += s.len()
	}
	t.drop()
	t.levels = append(t.levels, level{t.now, t.held, t.held - t.ready})
}

// time records how long the new bytes of a segment take to be in place. Bytes of FPDUs without
// payload do not count.
func (t *timeline) time(a arrival, added []span) {
	placed, found := time.Duration(0), false
	for _, s := range added {
		for i := behind(t.fpdus, s.from); i < len(t.fpdus) && t.fpdus[i].from < s.to; i++ {
			placed, found = max(placed, t.fpdus[i].placed), true
		}
	}
	if !found || !t.counts() {
		return
	}
	t.all = append(t.all, placed-a.at)
	if added[0].from > t.edge() {
		t.behind = append(t.behind, placed-a.at)
	}
}

// place adds an FPDU that is in place now. If all bytes before it have arrived, it does not wait
// for a gap.
func (t *timeline) place(f span) {
	if f.from < t.edge() {
		return
	}
	t.ahead = append(t.ahead, f)
	t.ready += f.len()
	t.levels = append(t.levels, level{t.now, t.held, t.held - t.ready})
}

// drop forgets the FPDUs whose gap has closed.
func (t *timeline) drop() {
	t.ahead = slices.DeleteFunc(t.ahead, func(f span) bool {
		closed := f.from < t.edge()
		if closed {
			t.ready -= f.len()
		}
		return closed
	})
}

// evaluate returns the result of all connections of a trial.
func evaluate(lines []*timeline, w window) (r result) {
	type change struct {
		line int
		to   level
	}
	var changes []change
	for i, t := range lines {
		r.add(&t.result)
		for _, l := range t.levels {
			changes = append(changes, change{i, l})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.to.at, b.to.at) })
	present := make([]level, len(lines))
	var sum level // of all connections
	for _, c := range changes {
		r.measure(sum, c.to.at, w)
		l := &present[c.line]
		sum = level{c.to.at, sum.held - l.held + c.to.held, sum.waiting - l.waiting + c.to.waiting}
		*l = c.to
	}
	r.measure(sum, w.end, w)
	r.elapsed = w.end - w.begin
	return r
}

// measure adds the level l, which ends at the time end.
func (r *result) measure(l level, end time.Duration, w window) {
	if l.held == 0 || end < l.at {
		return
	}
	if l.at < w.begin {
		r.mostInSlowStart.add(peak{l.held, l.waiting})
	}
	if d := min(end, w.end) - max(l.at, w.begin); d > 0 {
		r.most.add(peak{l.held, l.waiting})
		r.open += d
		r.heldTime += float64(l.held) * d.Seconds()
		r.waitingTime += float64(l.waiting) * d.Seconds()
	}
}

// mean returns the mean of times.
func mean(times []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range times {
		sum += d
	}
	return time.Duration(ratio(float64(sum), float64(len(times))))
}

// percentile returns the smallest of the sorted times that is not exceeded by percent of them.
func percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
