package usertcp

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestOverlapsAgainstModel shows random sets of segments to the tap: they repeat, enclose and
// overlap one another, also three at a time, and their bytes differ. A model with one entry for
// each sequence number says which segments ReadSegment may show early, and which bytes they have.
func TestOverlapsAgainstModel(t *testing.T) {
	const seed = 3
	cases := testmode.Cases(1_000_000)
	t.Logf("seed %d, %d cases", seed, cases)
	random := rand.New(rand.NewPCG(seed, 2))
	var shown, again int
	for n := range cases {
		m := newOverlapModel(t, random)
		for range 4 + random.IntN(8) {
			m.step()
			if t.Failed() {
				t.Fatalf("case %d", n)
			}
		}
		m.read()
		if got := m.flow.earlyStats(); got != m.want {
			t.Fatalf("case %d: EarlyStats = %+v, want %+v", n, got, m.want)
		}
		shown += int(m.want.Runs)
		again += int(m.want.Again)
	}
	if t.Logf("%d runs shown early, %d not shown again", shown, again); shown < cases || again < cases/100 {
		t.Errorf("%d runs and %d repetitions in %d cases: the cases test too little", shown, again, cases)
	}
}

// overlapSpace is the length in bytes of the stream of one case.
const overlapSpace = 600

// An overlapModel is a tap, and the state that the tap must have.
type overlapModel struct {
	*wire
	random  *rand.Rand
	edge    int                // bytes that TCP has in order
	next    int                // where the first gap begins, as the tap sees it
	seen    [overlapSpace]bool // bytes that have arrived behind the gap
	ranges  []seqRange         // of the segments so far, as stream offsets
	waiting []shownRun
	last    shownRun // the run that was shown last
	want    EarlyStats
	buf     [overlapSpace]byte
}

// A shownRun is a run that waits for ReadSegment.
type shownRun struct {
	off     int
	payload []byte
}

func newOverlapModel(t *testing.T, random *rand.Rand) *overlapModel {
	return &overlapModel{wire: newWire(t), random: random}
}

// step lets a segment arrive, or TCP acknowledge bytes, or the program read.
func (m *overlapModel) step() {
	switch m.random.IntN(10) {
	case 0:
		m.acknowledge()
	case 1:
		m.read()
	default:
		m.arrive()
	}
}

// draw draws the place of a segment, which often overlaps earlier segments.
func (m *overlapModel) draw() seqRange {
	anywhere := func() uint32 { return uint32(m.random.IntN(overlapSpace)) }
	a, b := anywhere(), anywhere()
	if n := len(m.ranges); n > 0 && m.random.IntN(4) > 0 {
		r, s := m.ranges[m.random.IntN(n)], m.ranges[m.random.IntN(n)]
		switch m.random.IntN(5) {
		case 0: // the same
			a, b = r.start, r.end
		case 1: // enclosing two others
			a, b = min(r.start, s.start, a), max(r.end, s.end, b)
		case 2: // inside
			a, b = r.start+a%(r.end-r.start), r.start+b%(r.end-r.start)
		case 3: // over the end of one and the beginning of another
			a, b = r.start+(r.end-r.start)/2, s.start+(s.end-s.start)/2
		case 4: // adjacent
			a = r.end
		}
	}
	return seqRange{min(a, b), max(a, b) + 1}
}

// arrive shows the tap a segment with new random bytes.
func (m *overlapModel) arrive() {
	r := m.draw()
	r.end = min(r.end, overlapSpace)
	if r.start >= r.end {
		return
	}
	m.ranges = append(m.ranges, r)
	payload := bytes.Repeat([]byte{byte(m.random.Uint32())}, int(r.end-r.start))
	payload[0], payload[len(payload)-1] = byte(r.start), byte(r.end)
	a, b := int(r.start), int(r.end)
	switch {
	case a <= m.next:
		m.next = max(m.next, b)
	case m.has(a, b):
		m.want.Again++
	case len(payload) < minRun:
		m.want.Short++
		m.see(a, b)
	default:
		m.waiting = append(m.waiting, shownRun{a, payload})
		m.see(a, b)
	}
	m.join()
	p := m.segment(a, payload)
	if !m.tap.inbound(p) {
		m.t.Errorf("the segment at %d is refused", a)
	}
	clear(p) // the link reuses the memory
}

// see records that all bytes from a to b have arrived behind the gap.
func (m *overlapModel) see(a, b int) {
	for i := a; i < b; i++ {
		m.seen[i] = true
	}
}

// has reports whether all bytes from a to b have arrived behind the gap.
func (m *overlapModel) has(a, b int) bool {
	for _, seen := range m.seen[a:b] {
		if !seen {
			return false
		}
	}
	return true
}

func (m *overlapModel) join() {
	for m.next < overlapSpace && m.seen[m.next] {
		m.next++
	}
}

// acknowledge lets TCP acknowledge some more bytes, perhaps fewer than the tap has seen.
func (m *overlapModel) acknowledge() {
	if m.edge+1 >= overlapSpace {
		return
	}
	m.edge += 1 + m.random.IntN(min(60, overlapSpace-1-m.edge))
	m.next = max(m.next, m.edge)
	m.join()
	m.outbound(ourISN+1, peerISN+1+uint32(m.edge), 10, nil)
}

// read takes all runs, like a program that has read everything in order. Each must be the payload
// of one segment, unchanged and at its place. The previous run comes before it, if that run ends
// there and has not arrived in order.
func (m *overlapModel) read() {
	if m.last.off <= m.edge {
		m.last = shownRun{}
	}
	for _, run := range m.waiting {
		if run.off <= m.edge {
			m.want.Stale++
			continue
		}
		want := run
		if m.last.off+len(m.last.payload) == run.off {
			want = shownRun{m.last.off, slices.Concat(m.last.payload, run.payload)}
		}
		n, at := m.flow.takeRun(m.buf[:], uint64(m.edge))
		if at != uint64(want.off) || !bytes.Equal(m.buf[:n], want.payload) {
			m.t.Errorf("takeRun = %d bytes at %d, %.10x; want %d at %d, %.10x", n, at, m.buf[:n], len(want.payload), want.off, want.payload)
		}
		m.want.Runs++
		m.want.Bytes += uint64(len(run.payload))
		m.last = run
	}
	m.waiting = m.waiting[:0]
	if n, at := m.flow.takeRun(m.buf[:], uint64(m.edge)); n != 0 {
		m.t.Errorf("takeRun shows %d more bytes at %d", n, at)
	}
}
