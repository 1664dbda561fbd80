package ddp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A slowQueue is a simple and slow model of an untagged queue of RFC 5041: a list of buffers, the
// k-th for the k-th message, and a map of the octets of the current message that have arrived.
type slowQueue struct {
	room      []uint64 // lengths of the buffers
	delivered int      // messages with all their segments
	octets    map[uint64]byte
	length    uint64 // of the current message so far
}

// A slowModel computes the result of a list of segments by the checks of RFC 5041 §7.1 and the
// rules of delivery of §5.4.
type slowModel struct {
	queues map[QN]*slowQueue
	memory map[STag]map[uint64]byte // the octets of Regions, by TO
	wrote  int                      // octets of the current tagged message so far
	log    []string
	over   bool
}

func (m *slowModel) segment(u []byte) {
	if m.over {
		return
	}
	if IsTagged(u) {
		m.tagged(u)
	} else {
		m.untagged(u)
	}
}

func (m *slowModel) fail(code Code) {
	m.over = true
	m.log = append(m.log, brief(&Error{Code: code}))
}

func (m *slowModel) untagged(u []byte) {
	h, payload, _ := ParseUntagged(u)
	q := m.queues[h.QN]
	switch {
	case q == nil:
		m.fail(CodeInvalidQN)
	case uint64(h.MSN) != uint64(q.delivered)+1:
		m.fail(CodeMSNRange)
	case q.delivered >= len(q.room):
		m.fail(CodeNoBuffer)
	case uint64(h.MO) != q.length:
		m.fail(CodeInvalidMO)
	case uint64(h.MO)+uint64(len(payload)) > q.room[q.delivered]:
		m.fail(CodeTooLong)
	default:
		for i, o := range payload {
			q.octets[uint64(h.MO)+uint64(i)] = o
		}
		q.length += uint64(len(payload))
		if h.Last {
			var b []byte
			for i := range q.length {
				b = append(b, q.octets[i])
			}
			m.log = append(m.log, fmt.Sprintf("queue %d, buffer %d: %x", h.QN, q.delivered, b))
			q.delivered++
			q.length, q.octets = 0, map[uint64]byte{}
		}
	}
}

func (m *slowModel) tagged(u []byte) {
	h, payload, _ := ParseTagged(u)
	region := m.memory[h.STag]
	if region == nil && len(payload) > 0 {
		m.fail(CodeInvalidSTag)
		return
	}
	for i := range payload {
		if _, ok := region[h.TO+uint64(i)]; !ok {
			m.fail(CodeBounds)
			return
		}
	}
	for i, o := range payload {
		region[h.TO+uint64(i)] = o
	}
	m.wrote += len(payload)
	if h.Last {
		m.log = append(m.log, fmt.Sprintf("tagged, %d octets", m.wrote))
		m.wrote = 0
	}
}

// An orderWorld is a Receiver, and the model of it.
type orderWorld struct {
	*pair
	model   *slowModel
	log     []string
	buffers map[string]guarded
	regions map[STag]guarded
}

const (
	orderTO     = 1 << 40
	orderRegion = 48 // octets
	orderBuffer = 24
)

func newOrderWorld(t testing.TB, buffers int) *orderWorld {
	w := &orderWorld{
		pair: newPairWith(t, func(c *ReceiverConfig) { c.Queues[3] = nil }), buffers: map[string]guarded{}, regions: map[STag]guarded{},
		model: &slowModel{queues: map[QN]*slowQueue{}, memory: map[STag]map[uint64]byte{}},
	}
	for qn := range QN(3) {
		q := &slowQueue{octets: map[uint64]byte{}}
		for i := range buffers {
			n := orderBuffer
			if i%3 == 2 {
				n = 8
			}
			w.buffers[fmt.Sprintf("%d/%d", qn, i)] = w.post(qn, n, uint64(i))
			q.room = append(q.room, uint64(n))
		}
		w.model.queues[qn] = q
	}
	for s := STag(0x100); s < 0x102; s++ {
		g := newGuarded(orderRegion)
		w.move(w.register(g.mem, RemoteWrite), s, orderTO)
		w.regions[s] = g
		w.model.memory[s] = map[uint64]byte{}
		for i := range uint64(orderRegion) {
			w.model.memory[s][orderTO+i] = guard
		}
	}
	return w
}

// drain logs the delivered messages, and the error.
func (w *orderWorld) drain() {
	for w.r.Deliver(w.off) {
		m := w.r.Message()
		if m.Tagged {
			w.log = append(w.log, fmt.Sprintf("tagged, %d octets", m.Len))
			continue
		}
		w.log = append(w.log, fmt.Sprintf("queue %d, buffer %d: %x", m.QN, m.ID, m.Buffer))
	}
	if e, ok := w.r.Err().(*Error); ok && (len(w.log) == 0 || w.log[len(w.log)-1] != brief(e)) {
		w.log = append(w.log, brief(e))
	}
}

func brief(e *Error) string { return fmt.Sprintf("error 1/%d/%d", e.Code>>8, e.Code&0xFF) }

// same compares deliveries and memory with the model's.
func (w *orderWorld) same(desc string, segments [][]byte) bool {
	if got, want := strings.Join(w.log, "\n"), strings.Join(w.model.log, "\n"); got != want {
		w.Errorf("%s, segments %x:\ngot\n%s\nthe model says\n%s", desc, segments, got, want)
		return false
	}
	for s, g := range w.regions {
		for i, o := range g.mem {
			if o != w.model.memory[s][orderTO+uint64(i)] {
				w.Errorf("%s: octet %d of %v is %#x, in the model %#x", desc, i, s, o, w.model.memory[s][orderTO+uint64(i)])
				return false
			}
		}
		if !g.intact() {
			w.Errorf("%s: octets around %v have changed", desc, s)
			return false
		}
	}
	for qn, q := range w.model.queues { // no hint changes the arrived segments
		for off, o := range q.octets {
			if got := w.buffers[fmt.Sprintf("%d/%d", qn, q.delivered)].mem[off]; got != o {
				w.Errorf("%s: octet %d of queue %d's buffer %d is %#x, in the model %#x", desc, off, qn, q.delivered, got, o)
				return false
			}
		}
	}
	for name, g := range w.buffers {
		if !g.intact() {
			w.Errorf("%s: octets around buffer %s have changed", desc, name)
			return false
		}
	}
	return true
}

func u(qn QN, msn, mo uint32, last bool, payload string) []byte {
	return append(UntaggedHeader{Last: last, RsvdULP: 0x43, QN: qn, MSN: msn, MO: mo}.AppendTo(nil), payload...)
}

// permutations calls f with every order of 0..n-1.
func permutations(n int, f func(order []int)) {
	var rec func(order []int)
	rec = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
	next:
		for i := range n {
			for _, o := range order {
				if o == i {
					continue next
				}
			}
			rec(append(order[:len(order):len(order)], i))
		}
	}
	rec(nil)
}

// TestOrderAllPermutations gives four segments in every order. First it gives them as if the peer
// had sent them in that order, so that all but the right orders are errors. Then it gives them as
// hints before they arrive in order, which must change nothing.
//
// DDP-5041-7.1-1 to DDP-5041-7.1-3, DDP-5041-7.1-8, DDP-5041-7.1-10
func TestOrderAllPermutations(t *testing.T) {
	sets := map[string][][]byte{
		"one message":             {u(0, 1, 0, false, "abcd"), u(0, 1, 4, false, "efgh"), u(0, 1, 8, false, "ijkl"), u(0, 1, 12, true, "mn")},
		"two messages":            {u(0, 1, 0, false, "abcd"), u(0, 1, 4, true, "efgh"), u(0, 2, 0, false, "ijkl"), u(0, 2, 4, true, "mn")},
		"four messages":           {u(0, 1, 0, true, "abcd"), u(0, 2, 0, true, "efgh"), u(0, 3, 0, true, "ijkl"), u(0, 4, 0, true, "mn")},
		"two queues":              {u(0, 1, 0, false, "abcd"), u(1, 1, 0, false, "ijkl"), u(1, 1, 4, true, "mn"), u(0, 1, 4, true, "efgh")},
		"a repeat":                {u(0, 1, 0, true, "abcd"), u(0, 1, 0, true, "wxyz"), u(0, 2, 0, true, "efgh"), u(0, 3, 0, true, "ijkl")},
		"a gap":                   {u(0, 1, 0, true, "abcd"), u(0, 3, 0, true, "efgh"), u(0, 4, 0, true, "ijkl"), u(0, 5, 0, true, "mnop")},
		"no last one":             {u(0, 1, 0, false, "abcd"), u(0, 2, 0, true, "efgh"), u(0, 1, 4, false, "ijkl"), u(1, 1, 0, true, "x")},
		"overlapping offsets":     {u(0, 1, 0, false, "abcd"), u(0, 1, 2, false, "efgh"), u(0, 1, 4, true, "ijkl"), u(0, 2, 0, true, "m")},
		"longer than their room":  {u(0, 1, 0, false, "abcdefghijkl"), u(0, 1, 12, false, "abcdefghijkl"), u(0, 1, 24, true, "x"), u(0, 2, 0, true, "")},
		"empty ones":              {u(0, 1, 0, false, ""), u(0, 1, 0, false, ""), u(0, 1, 0, true, ""), u(0, 2, 0, true, "")},
		"MSN 0 and 2^32-1":        {u(0, 0, 0, true, "abcd"), u(0, 0xFFFFFFFF, 0, true, "efgh"), u(0, 1, 0, true, "ijkl"), u(0, 2, 0, true, "m")},
		"a queue that is not one": {u(0, 1, 0, true, "abcd"), u(3, 1, 0, true, "efgh"), u(0xFFFFFFFF, 1, 0, true, "i"), u(1, 1, 0, true, "m")},
	}
	cases, good := 0, 0
	for desc, set := range sets {
		permutations(len(set), func(order []int) {
			var segments [][]byte
			for _, i := range order {
				segments = append(segments, set[i])
			}
			w := newOrderWorld(t, 6)
			for _, s := range segments {
				w.model.segment(s)
				w.place(s)
				w.drain()
			}
			w.same(desc, segments)
			cases++
			if !w.model.over {
				good++
			}
			// As hints: the same segments in their own order, after some were shown in this one.
			for turn := range 2 * (len(set) + 1) {
				shown, first := turn/2, turn%2 // the number of shown segments, and of arrived ones before them
				w := newOrderWorld(t, 6)
				at := make([]uint64, len(set))
				for i := range set[1:] {
					at[i+1] = at[i] + fpduLen(set[i])
				}
				taken := make([]bool, len(set))
				for i, s := range set {
					for _, k := range order[:shown] {
						if i == first && k >= i {
							taken[k] = w.r.TryPlace(at[k], bytes.Clone(set[k]))
						}
					}
					w.model.segment(s)
					if taken[i] {
						w.off += fpduLen(s)
					} else {
						w.place(s)
					}
					w.drain()
				}
				w.same(desc+", with hints", segments)
				cases++
			}
		})
	}
	t.Logf("%d runs of 4 segments, of %d orders %d are right ones", cases, len(sets)*24, good)
}

// TestOrderRandomScripts gives random segments, most of which follow the rules, to the Receiver and
// to the model: several queues and messages at a time, wrong numbers, buffers that run out,
// duplicates and hints.
//
// DDP-5041-7.1-1 to DDP-5041-7.1-3, DDP-5041-7.1-8, DDP-5041-7.1-10
func TestOrderRandomScripts(t *testing.T) {
	rnd := seeded(t)
	cases := testmode.Cases(200_000)
	segments, errors, hints := 0, 0, 0
	for range cases {
		buffers := rnd.IntN(5)
		w := newOrderWorld(t, buffers)
		script := drawSegments(rnd, buffers)
		at := make([]uint64, len(script)+1)
		for i, s := range script {
			at[i+1] = at[i] + fpduLen(s)
		}
		taken := make([]bool, len(script))
		for i, s := range script {
			if rnd.IntN(4) == 0 { // a hint of later segments
				k := i + rnd.IntN(len(script)-i)
				if !taken[k] && w.r.TryPlace(at[k], bytes.Clone(script[k])) {
					taken[k] = true
					hints++
				}
			}
			w.model.segment(s)
			if !taken[i] {
				w.r.Place(at[i], bytes.Clone(s))
			}
			if i > 0 && rnd.IntN(8) == 0 { // an earlier segment comes again, with other octets
				again := bytes.Clone(script[i-1])
				again[len(again)-1] ^= 0xFF
				w.r.Place(at[i-1], again)
			}
			w.off = at[i+1]
			w.drain()
		}
		segments += len(script)
		if w.model.over {
			errors++
		}
		if !w.model.over && !w.same("random", script) || w.model.over && !w.sameDeliveries(script) {
			return
		}
	}
	t.Logf("%d scripts of %d segments, %d hints taken, %d scripts end in an error: all as in the model", cases, segments, hints, errors)
	if errors == 0 || errors == cases || hints == 0 {
		t.Error("not all that there is was tried")
	}
}

// sameDeliveries is same for a stream that has failed. It accepts any bytes in the Regions, because
// hints of segments after the failure may have been placed there.
func (w *orderWorld) sameDeliveries(script [][]byte) bool {
	for s, g := range w.regions {
		for i, o := range g.mem {
			w.model.memory[s][orderTO+uint64(i)] = o
		}
	}
	return w.same("random, with an error", script)
}

// drawSegments draws up to 12 segments. About one in 15 breaks a rule.
func drawSegments(rnd *rand.Rand, buffers int) (script [][]byte) {
	var next [3]struct{ msn, mo uint32 }
	open := false
	for range 1 + rnd.IntN(12) {
		payload := randomBytes(rnd, rnd.IntN(9))
		last := rnd.IntN(2) == 0
		if rnd.IntN(3) == 0 || open {
			h := TaggedHeader{Last: last, STag: STag(0x100 + rnd.IntN(2)), TO: orderTO + uint64(rnd.IntN(orderRegion-8))}
			open = !last
			switch rnd.IntN(30) {
			case 0:
				h.TO += uint64(rnd.IntN(80)) - 20
			case 1:
				h.STag = STag(rnd.Uint32())
			}
			script = append(script, append(h.AppendTo(nil), payload...))
			continue
		}
		qn := QN(rnd.IntN(3))
		q := &next[qn]
		h := UntaggedHeader{Last: last, RsvdULP: 0x43, QN: qn, MSN: q.msn + 1, MO: q.mo}
		switch rnd.IntN(60) {
		case 0:
			h.MSN += uint32(rnd.IntN(5)) - 2
		case 1:
			h.MO += uint32(rnd.IntN(9)) - 4
		case 2:
			h.MSN, h.MO = rnd.Uint32(), rnd.Uint32()
		case 3:
			h.QN = QN(rnd.Uint32() >> rnd.IntN(32))
		}
		q.mo += uint32(len(payload))
		if last {
			q.msn, q.mo = q.msn+1, 0
		}
		script = append(script, append(h.AppendTo(nil), payload...))
	}
	return script
}
