package badlink

import (
	"slices"
	"time"
)

// maxPieces is the maximum number of segments that Split makes of one.
const maxPieces = 4

// accept decides what happens to p, the next packet. If p is too long for the path and the link
// must report that, accept returns the path's MTU.
//
// +checklocks:d.mu
func (d *direction) accept(p *packet) (pathMTU int) {
	k, f := d.k, &d.faults
	d.k++
	d.stats.In++
	d.stats.InBytes += uint64(len(p.b))
	if d.clean && d.isIdle() {
		d.arrived(p)
		return 0
	}
	now := d.now()
	d.advance(now)
	lost := d.isLost(k) // first, because each packet is a step of Burst
	switch {
	case f.BlackHole != nil && f.BlackHole(k, now):
		d.stats.BlackHoled++
	case f.PathMTU != 0 && len(p.b) > f.PathMTU:
		d.stats.TooLong++
		if f.PacketTooBig {
			pathMTU = f.PathMTU
		}
	case lost:
		d.stats.Lost++
	default:
		d.change(p, k)
		d.forward(p, k, now)
		return 0
	}
	d.pool.put(p)
	return pathMTU
}

// isLost decides whether packet k is lost by Loss or Burst.
//
// +checklocks:d.mu
func (d *direction) isLost(k uint64) bool {
	f := &d.faults
	if d.burst {
		d.burst = !d.draws.chance(k, forBurst, f.Burst.Leave)
	} else {
		d.burst = d.draws.chance(k, forBurst, f.Burst.Enter)
	}
	if d.burst {
		return d.draws.chance(k, forBurstLoss, f.Burst.Loss)
	}
	return d.draws.chance(k, forLoss, f.Loss)
}

// change corrupts packet k if its random numbers say so, and draws how it will travel.
//
// +checklocks:d.mu
func (d *direction) change(p *packet, k uint64) {
	f := &d.faults
	if d.draws.chance(k, forCorrupt, f.Corrupt) {
		corrupt(p.b, func(n int) int { return d.draws.below(k, forCorruptBit, n) })
		d.stats.Corrupted++
	}
	if d.draws.chance(k, forRepaired, f.CorruptRepaired) &&
		corruptRepaired(p.b, func(n int) int { return d.draws.below(k, forRepairedBit, n) }) {
		d.stats.Repaired++
	}
	p.jitter = d.jitter(k, forJitter)
	if d.draws.chance(k, forReorder, f.Reorder) {
		p.late = 1 + d.draws.below(k, forDistance, f.ReorderBy)
		d.stats.Reordered++
	}
}

// jitter draws the time that is added to the delay of packet k, or of answer k.
//
// +checklocks:d.mu
func (d *direction) jitter(k uint64, p purpose) time.Duration {
	if d.faults.Jitter == 0 {
		return 0
	}
	return time.Duration(d.draws.below64(k, p, uint64(d.faults.Jitter)+1))
}

// forward sends packet k on. It cuts, merges and duplicates the packet as the faults say.
//
// +checklocks:d.mu
func (d *direction) forward(p *packet, k uint64, now time.Duration) {
	f := &d.faults
	var twin *packet
	if d.draws.chance(k, forDuplicate, f.Duplicate) {
		twin = d.clone(p)
		d.stats.Duplicated++
	}
	split, merge := d.draws.chance(k, forSplit, f.Split), d.draws.chance(k, forMerge, f.Merge)
	if split || merge || d.merging != nil {
		d.resegment(p, k, split, merge, now)
	} else {
		d.pass(p, now)
	}
	if twin != nil {
		d.pass(twin, now)
	}
}

// clone returns a copy of p that is not held back.
//
// +checklocks:d.mu
func (d *direction) clone(p *packet) *packet {
	twin := d.pool.get(len(p.b))
	copy(twin.b, p.b)
	twin.jitter = p.jitter
	return twin
}

// resegment cuts packet k if split is set, joins its beginning with the packet that waits for it,
// and lets its end wait for the next packet if merge is set.
//
// +checklocks:d.mu
func (d *direction) resegment(p *packet, k uint64, split, merge bool, now time.Duration) {
	s, ok := parseTCP(p.b)
	ok = ok && s.isPlain()
	if !ok || !split || len(s.payload()) < 2 {
		d.join(p, ok && merge, now)
		return
	}
	var cuts [maxPieces + 1]int // where pieces begin, and the end of the last
	n := 2 + d.draws.below(k, forPieces, maxPieces-1)
	for i := range n - 1 {
		cuts[1+i] = 1 + d.draws.below(k, forCut+purpose(i), len(s.payload())-1)
	}
	cuts[n] = len(s.payload())
	slices.Sort(cuts[1:n])
	bounds := slices.Compact(cuts[:n+1])
	d.stats.Split++
	d.stats.Pieces += uint64(len(bounds) - 1)
	for i, end := range bounds[1:] {
		q := d.pool.get(s.data + end - bounds[i])
		s.piece(q.b, bounds[i], end, i)
		q.late, q.jitter = p.late, p.jitter
		d.join(q, merge && i == len(bounds)-2, now)
	}
	d.pool.put(p)
}

// join merges p with the packet that waits for it, if p continues that packet. Then it sends the
// result on. If wait is set, the result waits for the next packet instead.
//
// +checklocks:d.mu
func (d *direction) join(p *packet, wait bool, now time.Duration) {
	if first := d.merging; first != nil {
		d.merging = nil
		if merged := d.merged(first, p); merged != nil {
			d.pool.put(first)
			d.pool.put(p)
			d.stats.Merged++
			p = merged
		} else {
			d.pass(first, now)
		}
	}
	if wait {
		d.merging, d.mergeBy = p, now+d.faults.Hold
	} else {
		d.pass(p, now)
	}
}

// merged returns first and p as one packet, or nil if they cannot be merged.
//
// +checklocks:d.mu
func (d *direction) merged(first, p *packet) *packet {
	s, _ := parseTCP(first.b) // first is plain
	t, ok := parseTCP(p.b)
	if !ok || !t.isPlain() || !s.continues(t) || len(s.b)+len(t.payload()) > d.pool.mtu {
		return nil
	}
	q := d.pool.get(len(s.b) + len(t.payload()))
	s.merge(q.b, t)
	q.late, q.jitter = first.late, first.jitter
	return q
}

// pass lets p overtake the packets that are held back, or holds it back itself.
//
// +checklocks:d.mu
func (d *direction) pass(p *packet, now time.Duration) {
	if p.late > 0 {
		d.held.add(p, now+d.faults.Hold)
		return
	}
	d.enqueue(p, now)
	for q := d.held.overtaken(); q != nil; q = d.held.next() {
		d.enqueue(q, now)
	}
}
