package dissect

import (
	"cmp"
	"slices"
)

// Bounds of the octets that wait for missing ones before them.
const (
	maxWaiting    = 8 << 20  // octets of one direction
	maxWaitingAll = 64 << 20 // octets of all directions of the capture
	runOverhead   = 512      // counted for a run besides its octets: also bounds the number of tiny runs
)

// reassembly puts the segments of one direction in order. If segments overlap, octets that were
// given out win, and between two segments that wait, the one that begins first wins. The zero value
// is ready for use.
type reassembly struct {
	known   bool   // next is valid
	next    uint32 // sequence number of the next octet in order
	waiting []run  // beyond next, sorted by seq
	held    int    // the cost of waiting, in octets
	ended   bool   // a FIN was seen; end is valid
	end     uint32 // sequence number of the FIN
}

// run is a copy of a segment's octets.
type run struct {
	seq  uint32
	data []byte
}

// before reports whether sequence number a comes before b, modulo 2^32.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// start sets the sequence number of the first octet of the direction.
func (r *reassembly) start(seq uint32) { r.known, r.next = true, seq }

// finish records that the direction ends before sequence number seq.
func (r *reassembly) finish(seq uint32) { r.ended, r.end = true, seq }

// complete reports whether everything up to the FIN has been given out.
func (r *reassembly) complete() bool { return r.ended && !before(r.next, r.end) }

// missing returns the number of octets between those given out and the first that waits, or seq if
// none waits.
func (r *reassembly) missing(seq uint32) int {
	if len(r.waiting) > 0 {
		seq = r.waiting[0].seq
	}
	return int(seq - r.next)
}

// add takes one segment and calls give with the octets that are now in order: first the octets of
// the segment, then those that waited for it. If the segment must wait and there is no room, add
// returns false and changes nothing. budget counts the octets that wait in all directions.
func (r *reassembly) add(seq uint32, data []byte, budget *int, give func([]byte)) bool {
	if !r.known {
		r.start(seq)
	}
	if before(r.next, seq) {
		return r.wait(seq, data, budget)
	}
	r.advance(seq, data, give)
	r.flush(budget, give)
	return true
}

// skip skips the octets that are missing before the first run that waits, or before seq if none
// waits.
func (r *reassembly) skip(seq uint32, budget *int, give func([]byte)) {
	if len(r.waiting) == 0 {
		r.next = seq
		return
	}
	r.next = r.waiting[0].seq
	r.flush(budget, give)
}

// flush gives out the runs that no longer need to wait.
func (r *reassembly) flush(budget *int, give func([]byte)) {
	for len(r.waiting) > 0 && !before(r.next, r.waiting[0].seq) {
		w := r.waiting[0]
		r.waiting[0] = run{}
		r.waiting = r.waiting[1:]
		r.release(len(w.data)+runOverhead, budget)
		r.advance(w.seq, w.data, give)
	}
}

// advance gives out the part of data at seq ≤ next that has not been given out yet.
func (r *reassembly) advance(seq uint32, data []byte, give func([]byte)) {
	if seen := r.next - seq; uint64(seen) < uint64(len(data)) {
		data = data[seen:]
		r.next += uint32(len(data))
		give(data)
	}
}

func (r *reassembly) wait(seq uint32, data []byte, budget *int) bool {
	at, found := slices.BinarySearchFunc(r.waiting, seq, func(w run, seq uint32) int {
		return cmp.Compare(int32(w.seq-seq), 0)
	})
	if found && len(r.waiting[at].data) >= len(data) {
		return true // a retransmission of octets that already wait
	}
	cost := len(data) + runOverhead
	if r.held+cost > maxWaiting || *budget+cost > maxWaitingAll {
		return false
	}
	if found {
		at++ // the run that came first goes first
	}
	r.held += cost
	*budget += cost
	r.waiting = slices.Insert(r.waiting, at, run{seq: seq, data: slices.Clone(data)})
	return true
}

// drop forgets everything that waits.
func (r *reassembly) drop(budget *int) {
	r.release(r.held, budget)
	r.waiting = nil
}

func (r *reassembly) release(n int, budget *int) {
	r.held -= n
	*budget -= n
}
