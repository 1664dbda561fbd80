package ddp

import (
	"cmp"
	"slices"
)

// maxEarly is how many segments may be placed before their turn, per stream.
const maxEarly = 256

// An earlySegment has been placed before its turn. When its turn comes its header is judged as if it
// had just come, but its payload is not copied again.
type earlySegment struct {
	off    uint64
	header [UntaggedHeaderLen]byte
	length int // of the whole segment
	span   span
}

func (e earlySegment) compareOff(off uint64) int { return cmp.Compare(e.off, off) }

// A span is the octets that a segment with payload goes to.
type span struct {
	buffer   uint64 // the STag; or the MSN, with untaggedBuffer set
	from, to uint64 // TO or MO of the first octet, and of the one after the last
}

const untaggedBuffer = 1 << 32

// span returns the n octets at TO to. A window's are those of the Region that it is, in the end, a window
// of, so that they are known to be the same whatever name they are reached by.
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

// TryPlace places the payload of the segment at stream offset off before its turn, as a hint, and
// reports whether it did. If it did the segment is remembered and must not be given to Place; if not
// nothing has happened, and the segment has to come again in order. It is not judged yet: errors are
// found, and anything is delivered, only when its turn has come.
//
// Only payload for Regions and for the buffers of QN 0 is placed early, where rights and bounds are
// beyond doubt. Where a stream writes to one place of a Region several times the octets of the last
// segment stay, as they would in order.
func (r *Receiver) TryPlace(off uint64, ulpdu []byte) bool {
	if r.failed.err != nil || off < r.next {
		return false
	}
	i, shown := slices.BinarySearchFunc(r.early, off, earlySegment.compareOff)
	if shown {
		return true // the octets that came first stay
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
	region, mem, err := r.config.Domain.hold(h.STag, h.TO, uint64(len(payload)), need, r.config.Stream)
	if err != nil {
		return where, false
	}
	defer region.mu.RUnlock() // +checklocksforce: hold has locked it
	where = region.span(h.TO, uint64(len(payload)))
	if r.overlapsEarly(where) {
		return where, false
	}
	copy(mem, payload)
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
	m := &r.untagged[QNSend]
	ahead := h.MSN - m.MSN // messages, modulo 2^32
	placedAlready := ahead == 0 && h.MO < m.Len
	if placedAlready || r.overlapsEarly(where) {
		return where, false
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

func (r *Receiver) overlapsEarly(where span) bool {
	for i := range r.early {
		if r.early[i].span.overlaps(where) {
			return true
		}
	}
	return false
}

// placeEarly judges the segments placed early whose turn has come: those below stream offset end.
func (r *Receiver) placeEarly(end uint64) {
	if len(r.early) == 0 {
		return
	}
	n := 0
	for ; n < len(r.early) && r.early[n].off < end; n++ {
		e := &r.early[n]
		r.place(segment{off: e.off, header: e.header[:headerLen(e.header[:])], length: e.length})
	}
	r.early = slices.Delete(r.early, 0, n)
}

// copyAround copies payload to mem, which is the octets at. It leaves out what segments later in the
// stream have already brought: the last one counts, as it would without them.
func copyAround(mem, payload []byte, at span, later []earlySegment) {
	for i := range later {
		e := later[i].span
		if !e.overlaps(at) {
			continue
		}
		if e.from > at.from {
			n := e.from - at.from
			copyAround(mem[:n], payload[:n], span{at.buffer, at.from, e.from}, later[i+1:])
		}
		if e.to < at.to {
			n := e.to - at.from
			copyAround(mem[n:], payload[n:], span{at.buffer, e.to, at.to}, later[i+1:])
		}
		return
	}
	copy(mem, payload)
}
