package mpa

import "slices"

// maxShown is the maximum number of FPDUs that can be shown before their turn.
const maxShown = 256

// maxWindow is the length in bytes that no TCP window reaches (RFC 7323 §2.3). A run that is
// farther away cannot be part of what the peer is sending now, whatever its Markers and CRCs say.
const maxWindow = 1 << 30

// early holds what a Receiver knows about the bytes after a gap. It holds the run that the Receiver
// is examining, and the places of the FPDUs shown from this run and earlier ones. A run goes
// through these calls:
//
//	begin ── locate an FPDU ──► next, remember ──► next, remember ──► … ──► drop
//
// "Having found an FPDU by means of a Marker, an optimized MPA/TCP receiver can find following
// contiguous FPDUs by using the ULPDU Length fields (from FPDUs with valid CRCs)" (RFC 5044 §6).
type early struct {
	run []byte // begins with an FPDU and aliases the receiver's buffer; nil if there is no run
	off uint64 // stream offset of run[0]

	// shown is sorted, and its spans do not overlap. No span begins below the edge. The memory of
	// shown is allocated once, when the first early FPDU arrives.
	shown []span
}

// A span is the place of an FPDU in the stream: start ≤ offset < end.
type span struct {
	start, end uint64
	sum        uint32 // the CRC of the FPDU
}

// size returns the length of the FPDU in bytes.
func (s span) size() int { return int(s.end - s.start) }

// begin starts to examine a run that begins at stream offset off.
func (e *early) begin(run []byte, off uint64) {
	if at, ok := locate(run, off); ok {
		e.run, e.off = run[at:], off+uint64(at)
	}
}

// drop abandons the run. Its bytes come again in order.
func (e *early) drop() { e.run = nil }

// next returns the rest of the run, from the next FPDU that has not been shown.
func (e *early) next() (run []byte, off uint64, ok bool) {
	for len(e.run) > 0 {
		s, shown := e.shownAt(e.off)
		if !shown {
			return e.run, e.off, true
		}
		e.skip(s.size())
	}
	return nil, 0, false
}

// skip advances in the run by n bytes.
func (e *early) skip(n int) {
	e.run = e.run[min(n, len(e.run)):]
	e.off += uint64(n)
}

// remember records that the FPDU at s, which is at the front of the run, is shown, and advances
// past it. remember returns false if it can't record the FPDU, because maxShown FPDUs are recorded
// or because one of them overlaps this one. The recorded one remains: if the same byte arrives
// twice, the first valid one counts.
func (e *early) remember(s span) bool {
	i, _ := e.search(s.start)
	if len(e.shown) == maxShown || i > 0 && e.shown[i-1].end > s.start || i < len(e.shown) && e.shown[i].start < s.end {
		return false
	}
	if e.shown == nil {
		e.shown = make([]span, 0, maxShown)
	}
	e.shown = slices.Insert(e.shown, i, s)
	e.skip(s.size())
	return true
}

// startsBefore returns where the first shown FPDU begins, if that is below end.
func (e *early) startsBefore(end uint64) (start uint64, ok bool) {
	if len(e.shown) == 0 || e.shown[0].start >= end {
		return 0, false
	}
	return e.shown[0].start, true
}

// forget removes the record of the FPDU at off.
func (e *early) forget(off uint64) {
	if i, ok := e.search(off); ok {
		e.shown = slices.Delete(e.shown, i, i+1)
	}
}

// search returns the index in shown of the FPDU at off, or the index where it would be inserted.
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

// contradicts reports whether the FPDU at s, the front of buf[r:w], is valid but is not the one
// that was shown early. A peer sends the same bytes each time, so one of the two FPDUs is not the
// peer's, and the direction must end before anything is delivered.
//
// If the bytes in order are not a valid FPDU, they are a damaged copy of the FPDU that was shown,
// and the Receiver skips them: "any TCP segments that duplicate data already received and processed
// [...] do not overwrite already received and processed FPDUs" (RFC 5044 §A.3). A longer FPDU that
// has not arrived completely also counts as not valid: the bytes after s will then not be FPDUs.
func (r *Receiver) contradicts(s span) bool {
	b := r.buf[r.r:r.w]
	f, _ := parseFPDU(b, r.off, r.markers)
	if n := s.size(); f.size == n && getCRC(b[n-crcLen:]) == s.sum {
		return false
	}
	return f.size <= len(b) && r.verify(f, b[:f.size]) == nil
}

// nextEarly advances to the next FPDU of the early run, if there is one.
func (r *Receiver) nextEarly() bool {
	run, off, ok := r.early.next()
	if !ok {
		return false
	}
	f, ok := parseFPDU(run, off, true)
	if !ok || len(run) < f.size || r.verify(f, run[:f.size]) != nil || !r.early.remember(f.span(run)) {
		r.early.drop()
		return false
	}
	r.ulpdu = ULPDU{Off: off, Size: f.size, Data: f.ulpdu(run[:f.size], true), Early: true}
	return true
}
