package main

import "slices"

// A span is a range of stream offsets: from ≤ offset < to.
type span struct{ from, to uint64 }

func (s span) len() uint64 { return s.to - s.from }

// spans are ranges in rising order that neither overlap nor touch.
type spans []span

// add adds s, and returns the parts of s that are new.
func (l *spans) add(s span) (added []span) {
	first, _ := slices.BinarySearchFunc(*l, s.from, func(t span, from uint64) int {
		if t.to < from {
			return -1
		}
		return 1
	})
	last, all, next := first, s, s.from
	for ; last < len(*l) && (*l)[last].from <= s.to; last++ {
		t := (*l)[last]
		if next < t.from {
			added = append(added, span{next, t.from})
		}
		next = max(next, t.to)
		all = span{min(all.from, t.from), max(all.to, t.to)}
	}
	if next < s.to {
		added = append(added, span{next, s.to})
	}
	*l = slices.Replace(*l, first, last, all)
	return added
}
