package mpa

import "slices"

// maxShown bounds how many FPDUs can be shown before their turn.
const maxShown = 256

// early holds what a Receiver knows of octets behind a gap: the run that is being looked at, and the
// FPDUs that have been shown out of it and earlier ones.
//
//	run  begin ── locate an FPDU ──► next, remember ──► next, remember ──► … ──► drop
//
// "Having found an FPDU by means of a Marker, an optimized MPA/TCP receiver can find following
// contiguous FPDUs by using the ULPDU Length fields (from FPDUs with valid CRCs)" (RFC 5044 §6).
type early struct {
	run []byte // an FPDU begins with run[0]; nil: no run. Aliases the receiver's buffer
	off uint64 // stream offset of run[0]

	// shown is sorted, and its spans do not overlap. None begins below the edge. Its memory is made
	// once, when the first early FPDU comes.
	shown []span
}

// A span is where an FPDU lies in the stream: start ≤ offset < end.
type span struct{ start, end uint64 }

// begin takes up a run that begins at stream offset off.
func (e *early) begin(run []byte, off uint64) {
	if at, ok := locate(run, off); ok {
		e.run, e.off = run[at:], off+uint64(at)
	}
}

// drop gives up the run. What is in it comes again in order.
func (e *early) drop() { e.run = nil }

// next returns what is left of the run from the next FPDU that has not been shown.
func (e *early) next() (run []byte, off uint64, ok bool) {
	for len(e.run) > 0 {
		n, shown := e.shownAt(e.off)
		if !shown {
			return e.run, e.off, true
		}
		e.skip(n)
	}
	return nil, 0, false
}

// skip goes on by n octets in the run.
func (e *early) skip(n int) {
	e.run = e.run[min(n, len(e.run)):]
	e.off += uint64(n)
}

// remember notes that the FPDU of n octets at the front of the run, at off, is shown, and goes on
// behind it. It reports false when that can't be noted: maxShown are, or one that overlaps. That one
// stays: where an octet comes twice, the first that was valid counts.
func (e *early) remember(off uint64, n int) bool {
	s := span{off, off + uint64(n)}
	i, _ := e.search(off)
	if len(e.shown) == maxShown || i > 0 && e.shown[i-1].end > s.start || i < len(e.shown) && e.shown[i].start < s.end {
		return false
	}
	if e.shown == nil {
		e.shown = make([]span, 0, maxShown)
	}
	e.shown = slices.Insert(e.shown, i, s)
	e.skip(n)
	return true
}

// shownAt returns the length in octets of the FPDU at off, if that has been shown.
func (e *early) shownAt(off uint64) (n int, ok bool) {
	if len(e.shown) == 0 {
		return 0, false
	}
	i, ok := e.search(off)
	if !ok {
		return 0, false
	}
	return int(e.shown[i].end - off), true
}

// startsBefore returns where the first FPDU begins that has been shown, if that is below end.
func (e *early) startsBefore(end uint64) (start uint64, ok bool) {
	if len(e.shown) == 0 || e.shown[0].start >= end {
		return 0, false
	}
	return e.shown[0].start, true
}

// forget undoes remember for the FPDU at off.
func (e *early) forget(off uint64) {
	if i, ok := e.search(off); ok {
		e.shown = slices.Delete(e.shown, i, i+1)
	}
}

// search returns the place in shown of the FPDU at off, or the place where it belongs.
func (e *early) search(off uint64) (i int, ok bool) {
	return slices.BinarySearchFunc(e.shown, off, func(s span, off uint64) int {
		switch {
		case s.start < off:
			return -1
		case s.start > off:
			return 1
		}
		return 0
	})
}
