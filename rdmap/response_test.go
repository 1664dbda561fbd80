package rdmap

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A slowRead is an RDMA Read as the oracle of TestReadResponses sees it.
type slowRead struct {
	stag ddp.STag
	to   uint64
	n    uint64
	open bool
}

// A slowSink computes the effect of Read Responses: which octets may be written, and which
// Terminate is due.
type slowSink struct {
	reads  []slowRead
	octets map[ddp.STag]map[uint64]byte // contents of the sinks, by TO
	begun  bool
	stag   ddp.STag // of the current response: where its first octet went
	to     uint64
	length uint64
	joined bool // each segment followed the one before
	end    verdict
	good   int // Reads that are complete
}

func (s *slowSink) segment(h ddp.TaggedHeader, payload []byte) {
	if s.end.refused {
		return
	}
	if !s.begun {
		s.begun, s.stag, s.to, s.length, s.joined = true, h.STag, h.TO, 0, true
	}
	if len(payload) > 0 {
		i := 0
		for ; i < len(s.reads) && (s.reads[i].stag != h.STag || !s.reads[i].open); i++ {
		}
		switch {
		case i == len(s.reads):
			s.end = refused(1, 1, 0)
			return
		case h.TO+uint64(len(payload)) < h.TO:
			s.end = refused(1, 1, 3)
			return
		case h.TO < s.reads[i].to || h.TO+uint64(len(payload)) > s.reads[i].to+s.reads[i].n:
			s.end = refused(1, 1, 1)
			return
		}
		for k, o := range payload {
			s.octets[h.STag][h.TO+uint64(k)] = o
		}
		if s.length == 0 {
			s.stag, s.to = h.STag, h.TO
		} else if h.STag != s.stag || h.TO != s.to+s.length {
			s.joined = false
		}
		s.length += uint64(len(payload))
	}
	if !h.Last {
		return
	}
	s.begun = false
	i := 0
	for ; i < len(s.reads) && !s.reads[i].open; i++ {
	}
	switch {
	case i == len(s.reads):
		s.end = refused(0, 2, 6)
	case s.stag != s.reads[i].stag:
		s.end = refused(1, 1, 0)
	case s.to != s.reads[i].to || s.length != s.reads[i].n || !s.joined:
		s.end = refused(1, 1, 1)
	default:
		s.reads[i].open = false
		s.good++
	}
}

// A tampered is one segment of a Read Response.
type tampered struct {
	h       ddp.TaggedHeader
	payload []byte
}

// TestReadResponses answers Reads with responses that a hostile peer has changed: another STag or
// TO, longer, shorter, ended too early, never or twice, in another order, repeated, unasked for.
// Octets are placed only inside Reads that wait for them, a Read succeeds only with all its octets,
// and the Terminate is the right one.
//
// SEC-5042-6.2.1-3, DDP-5041-7.1-14
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestReadResponses(t *testing.T) {
	rnd := seeded(t)
	cases := testmode.Cases(100_000)
	ends := map[verdict]int{}
	completed := 0
	for range cases {
		x := newPair(t, params{depth: 4, cqDepth: 8, ird: 1, ord: 4})
		model := &slowSink{octets: map[ddp.STag]map[uint64]byte{}}
		var all [][]byte
		var script []tampered
		var stags []ddp.STag
		writable, mem := x.a.register(64, allAccess)
		for id := range 1 + rnd.IntN(3) {
			g := bytes.Repeat([]byte{guardOctet}, 32+64)
			n := 1 + rnd.IntN(64)
			sink := g[16 : 16+n : 16+n]
			x.a.post(WorkRequest{ID: uint64(id), Op: WorkRead, Data: sink, Remote: Handle{STag: 1, TO: 1, Len: uint32(n)}})
			x.a.transmit()
			e := x.a.qp.sq.at(uint64(id))
			model.reads = append(model.reads, slowRead{e.sinkSTag, e.sinkTO, uint64(n), true})
			model.octets[e.sinkSTag] = map[uint64]byte{}
			stags = append(stags, e.sinkSTag)
			all = append(all, g)
			script = append(script, honest(rnd, e.sinkSTag, e.sinkTO, n)...)
		}
		before := bytes.Clone(mem)
		script = tamper(rnd, script, append(stags, writable.STag(), 0))
		for _, s := range script {
			model.segment(s.h, s.payload)
			x.a.inject(append(s.h.AppendTo(nil), s.payload...))
		}
		for i, g := range all {
			want := bytes.Repeat([]byte{guardOctet}, len(g))
			for to, o := range model.octets[model.reads[i].stag] {
				want[16+to-model.reads[i].to] = o
			}
			if !bytes.Equal(g, want) {
				t.Fatalf("script %+v: sink %d is %x, want %x", script, i, g, want)
			}
		}
		if !bytes.Equal(mem, before) {
			t.Fatalf("script %+v: a Region that is no sink has changed", script)
		}
		end := verdict{}
		for x.a.qp.NextMessage() {
			term, err := ParseTerminate(x.a.qp.Message().Payload[0])
			if err != nil {
				t.Fatal(err)
			}
			end = verdict{refused: true, code: term.Code}
			x.a.qp.Sent(1)
		}
		good := 0
		for _, c := range done(x.a.sendCQ) {
			if c.Status == StatusOK {
				good++
			}
		}
		if end != model.end || good != model.good {
			t.Fatalf("script %+v for %+v: %+v, %d Reads succeed, want %+v, %d", script, model.reads, end, good, model.end, model.good)
		}
		ends[end]++
		completed += good
	}
	t.Logf("%d scripts, %d Reads complete, by Terminate: %v", cases, completed, ends)
	if len(ends) < 5 {
		t.Errorf("only %d outcomes", len(ends))
	}
}

// honest answers a Read of n octets in up to three segments.
func honest(rnd *rand.Rand, s ddp.STag, to uint64, n int) (script []tampered) {
	for n > 0 {
		k := n
		if len(script) < 2 {
			k = 1 + rnd.IntN(n)
		}
		payload := make([]byte, k)
		for i := range payload {
			payload[i] = byte(rnd.IntN(128)) // never a guard octet
		}
		n -= k
		h := ddp.TaggedHeader{Last: n == 0, RsvdULP: Control(OpReadResponse), STag: s, TO: to}
		script = append(script, tampered{h, payload})
		to += uint64(k)
	}
	return script
}

// tamper makes a few changes, sometimes none.
func tamper(rnd *rand.Rand, script []tampered, stags []ddp.STag) []tampered {
	for range rnd.IntN(3) {
		i := rnd.IntN(len(script))
		s := &script[i]
		switch rnd.IntN(11) {
		case 0:
			s.h.STag = stags[rnd.IntN(len(stags))]
		case 1:
			s.h.TO += uint64(rnd.IntN(9)) - 4
		case 2:
			s.h.TO = rnd.Uint64()
		case 3:
			s.h.Last = !s.h.Last
		case 4:
			s.payload = append(s.payload[:len(s.payload):len(s.payload)], make([]byte, rnd.IntN(40))...)
		case 5:
			s.payload = s.payload[:rnd.IntN(len(s.payload)+1)]
		case 6: // again
			script = append(script[:i+1:i+1], script[i:]...)
		case 7: // not at all
			if len(script) > 1 {
				script = append(script[:i:i], script[i+1:]...)
			}
		case 8:
			k := rnd.IntN(len(script))
			script[i], script[k] = script[k], script[i]
		case 9: // about to wrap
			s.h.TO = -rnd.Uint64N(uint64(len(s.payload)) + 4)
		case 10: // one more, which was not requested
			h := script[len(script)-1].h
			script = append(script, tampered{h: h})
		}
	}
	return script
}
