package ddp

import (
	"cmp"
	"slices"
)

// maxEarly is the maximum number of segments per stream that are placed before their turn.
const maxEarly = 256

// An earlySegment has been placed before its turn. When its turn comes, the Receiver checks its
// header like that of a segment that has just arrived, but does not copy its payload again.
type earlySegment struct {
	off    uint64
	header [UntaggedHeaderLen]byte
	length int // of the whole segment, in bytes
	span   span
}

func (e earlySegment) compareOff(off uint64) int { return cmp.Compare(e.off, off) }

// A span is the range of memory that a segment's payload goes to.
type span struct {
	buffer   uint64 // the STag, or the MSN with untaggedBuffer set
	from, to uint64 // TO or MO of the first byte, and of the byte after the last
}

const untaggedBuffer = 1 << 32

// span returns the span of the n bytes at TO to. For a window it is the span in the Region that the
// window is ultimately a part of. So the same bytes have the same span whichever STag names them.
func (r *Region) span(to, n uint64) span {
	for ; r.of != nil; r = r.of {
		to = to - r.base + r.offset + r.of.base
	}
	return span{buffer: uint64(r.stag), from: to, to: to + n}
}

func untaggedSpan(h UntaggedHeader, n uint64) span {
	return span{buffer: untaggedBuffer | uint64(h.MSN), from: uint64(h.MO), to: uint64(h.MO) + n}
}

func (a span) overlaps(b span) bool { return a.buffer == b.buffer && a.from < b.to && b.from < a.to }

// earlySpans are the spans of the segments placed early: sorted, and none overlaps another. So a
// peer that writes to the same memory again and again, early and in order, costs no more than the
// pieces that it cuts.
type earlySpans []span

// search returns the index of the first span that ends after the beginning of s, or the index at
// which s would be inserted if it overlaps none.
func (e earlySpans) search(s span) int {
	i, _ := slices.BinarySearchFunc(e, s, func(e, s span) int {
		if c := cmp.Compare(e.buffer, s.buffer); c != 0 {
			return c
		}
		if e.to <= s.from {
			return -1
		}
		return 1
	})
	return i
}

func (e earlySpans) overlap(s span) bool {
	i := e.search(s)
	return i < len(e) && e[i].overlaps(s)
}

func (e *earlySpans) add(s span) { *e = slices.Insert(*e, e.search(s), s) }

func (e *earlySpans) remove(s span) {
	i := e.search(s)
	*e = slices.Delete(*e, i, i+1)
}

// TryPlace places the payload of the segment at stream offset off before its turn, as a hint, and
// reports whether it did. If TryPlace returns true, the segment is remembered and must not be given
// to Place. If TryPlace returns false, nothing has changed, and the segment must come again in
// order. The segment is checked only when its turn comes. Only then can it cause an error or
// complete a message.
//
// TryPlace places payload only in Regions and in the buffers of QN 0, and only if rights and bounds
// clearly allow it. If a stream writes to the same place of a Region several times, the bytes of
// the last segment remain, as they would in order.
func (r *Receiver) TryPlace(off uint64, ulpdu []byte) bool {
	if r.failed.err != nil || off < r.next {
		return false
	}
	i, shown := slices.BinarySearchFunc(r.early, off, earlySegment.compareOff)
	if shown {
		return true // the bytes that arrived first remain
	}
	if len(r.early) == maxEarly {
		return false
	}
	var where span
	var placed bool
	if IsTagged(ulpdu) {
		where, placed = r.tryTagged(ulpdu)
	} else {
		where, placed = r.tryUntagged(ulpdu)
	}
	if !placed {
		return false
	}
	e := earlySegment{off: off, length: len(ulpdu), span: where}
	copy(e.header[:], ulpdu)
	r.early = slices.Insert(r.early, i, e)
	r.earlySpans.add(where)
	return true
}

func (r *Receiver) tryTagged(ulpdu []byte) (where span, placed bool) {
	h, payload, err := ParseTagged(ulpdu)
	if err != nil || len(payload) == 0 {
		return where, false
	}
	need, err := r.config.Admit(true, h.RsvdULP, 0)
	if err != nil {
		return where, false
	}
	region, mem, err := r.config.Stream.hold(h.STag, h.TO, uint64(len(payload)), need)
	if err != nil {
		return where, false
	}
	defer region.mu.RUnlock() // +checklocksforce: hold has locked it
	where = region.span(h.TO, uint64(len(payload)))
	if region.memory != nil || r.earlySpans.overlap(where) {
		return where, false
	}
	region.put(mem, payload)
	return where, true
}

func (r *Receiver) tryUntagged(ulpdu []byte) (where span, placed bool) {
	h, payload, err := ParseUntagged(ulpdu)
	q := r.config.Queues[QNSend]
	if err != nil || len(payload) == 0 || h.QN != QNSend || q == nil {
		return where, false
	}
	if _, err := r.config.Admit(false, h.RsvdULP, QNSend); err != nil || r.config.InMessage(h.RsvdULP, QNSend) {
		return where, false
	}
	where = untaggedSpan(h, uint64(len(payload)))
	m := &r.sends
	ahead := h.MSN - m.MSN // messages, modulo 2^32
	placedAlready := ahead == 0 && h.MO < m.Len
	if placedAlready || r.earlySpans.overlap(where) {
		return where, false
	}
	if m.isBound {
		if ahead != 0 || where.to > m.bound.room() {
			return where, false
		}
		m.bound.put(where.from, payload)
		return where, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	b, ok := q.atLocked(ahead)
	if !ok || where.to > b.room() {
		return where, false
	}
	b.put(where.from, payload)
	return where, true
}

// isEarly reports whether a segment of the message msn of QN 0 has been placed early.
func (r *Receiver) isEarly(msn uint32) bool {
	for i := range r.early {
		if r.early[i].span.buffer == untaggedBuffer|uint64(msn) {
			return true
		}
	}
	return false
}

// putAround copies payload to mem, the part of r's memory whose span is at. It leaves out bytes
// that later segments of the stream have already written: the last segment counts, as it would if
// all had arrived in order.
func (r *Region) putAround(mem, payload []byte, at span, later earlySpans) {
	if len(later) > 0 {
		later = later[later.search(at):]
	}
	for ; len(later) > 0 && later[0].overlaps(at); later = later[1:] {
		e := later[0]
		if e.from > at.from {
			n := e.from - at.from
			r.put(mem[:n], payload[:n])
		}
		if e.to >= at.to {
			return
		}
		n := e.to - at.from
		mem, payload, at.from = mem[n:], payload[n:], e.to
	}
	r.put(mem, payload)
}
