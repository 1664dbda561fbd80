package usertcp

import "slices"

// maxRanges is the maximum number of ranges of sequence numbers behind a gap of a connection. TCP
// does not get a segment that would make more. A window of 8 MiB has that many gaps only if a
// twentieth of its segments were lost.
const maxRanges = 256

// A seqRange is the range of sequence numbers start ≤ n < end.
type seqRange struct{ start, end uint32 }

// A seenState records which bytes the tap has seen arrive. TCP may have fewer bytes, because it may
// drop segments that the tap has seen. Then a gap is found late, or a hint is superfluous.
type seenState struct {
	next   uint32 // everything before has been seen, or TCP has acknowledged it
	known  bool
	ranges []seqRange // after next: sorted, disjoint, and not adjacent
}

// acknowledged learns from an ACK of our TCP. ack is RCV.NXT. If TCP acknowledges the same number
// again, it lacks that byte, whatever the tap has seen.
func (t *seenState) acknowledged(ack uint32, again bool) {
	if !t.known {
		t.next, t.known = ack, true
		return
	}
	if before(t.next, ack) || again {
		t.next = ack
		t.join()
	}
}

// join advances next past the ranges that it has reached.
func (t *seenState) join() {
	n := 0
	for ; n < len(t.ranges) && !before(t.next, t.ranges[n].start); n++ {
		t.next = later(t.next, t.ranges[n].end)
	}
	t.ranges = slices.Delete(t.ranges, 0, n)
}

// arrived records bytes that begin at next or before.
func (t *seenState) arrived(end uint32) {
	if before(t.next, end) {
		t.next = end
		t.join()
	}
}

// has reports whether all bytes of r have been seen behind the gap.
func (t *seenState) has(r seqRange) bool {
	i := t.search(r.start)
	return i > 0 && !before(t.ranges[i-1].end, r.end)
}

// add records bytes behind the gap. It returns false, and records nothing, if there are too many
// ranges.
func (t *seenState) add(r seqRange) bool {
	i := t.search(r.start)
	if i > 0 && !before(t.ranges[i-1].end, r.start) {
		i--
		r.start = t.ranges[i].start
	}
	j := i
	for ; j < len(t.ranges) && !before(r.end, t.ranges[j].start); j++ {
		r.end = later(r.end, t.ranges[j].end)
	}
	if i == j && len(t.ranges) == maxRanges {
		return false
	}
	t.ranges = slices.Replace(t.ranges, i, j, r)
	return true
}

// search returns the number of ranges that begin at seq or before.
func (t *seenState) search(seq uint32) int {
	lo, hi := 0, len(t.ranges)
	for lo < hi {
		if mid := (lo + hi) / 2; before(seq, t.ranges[mid].start) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
