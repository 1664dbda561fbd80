package rdmap

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"pgregory.net/rapid"
)

// A chooser makes the choices of a sequence. It is rapid, which shrinks failures, or a seeded
// source.
type chooser func(label string, n int) int

// An asked is one request of a sequence, and what the model knows about it.
type asked struct {
	op      WorkOp
	cell    int    // of a Write or Read: which word of the memory
	floor   uint64 // of a Read: the last Write to its cell before it
	floors  []uint64
	fenced  bool
	sink    []byte
	given   bool // its message has gone out
	sent    bool // and been reported to the QP
	answer  bool // its response has been handled
	ceiling uint64
}

const cells = 4

// An ordering is a stream on which one side sends requests and the other answers, and the slow
// model of it: RFC 5040 §5.5, the limit of §6.1 and fences.
type ordering struct {
	x           *pair
	ord         int
	asked       []*asked
	next        int      // the request whose message comes next
	unsent      []*asked // messages that Sent has not been called for
	outstanding []*asked // requests without a response, oldest first
	writes      [cells]uint64
	given       [cells]uint64 // the same, of messages that have gone out
	atomics     uint64
	sends       []*asked
	arrived     int // Sends that the other side has seen
	completed   int
	most        int // responses outstanding at a time
	mem         []byte
	region      *ddp.Region
	word        *ddp.Region
	recvs       [][]byte
	requested   []WorkOp // Reads and atomics as they went out
}

func newOrdering(choose chooser) *ordering {
	ord := 1 + choose("ORD", 4)
	o := &ordering{ord: ord}
	o.x = newPair(silent{}, params{ord: ord, ird: ord, mulpdu: 71 + choose("MULPDU", 30)})
	o.region, o.mem = o.x.b.register(8*cells, allAccess)
	clear(o.mem)
	o.word, _ = o.x.b.register(8, allAccess)
	o.word.Update64(0, func(uint64) uint64 { return 0 })
	o.x.a.slow, o.x.b.slow = true, true
	return o
}

// step does one of the things that can happen next.
func (o *ordering) step(choose chooser) error {
	switch choose("step", 10) {
	case 0, 1, 2:
		return o.post(choose)
	case 3, 4:
		return o.transmit()
	case 5:
		return o.sentOne(o.x.a, choose)
	case 6:
		return o.arrive(o.x.b)
	case 7:
		o.x.b.transmitOne()
	case 8:
		return o.sentOne(o.x.b, choose)
	case 9:
		return o.arrive(o.x.a)
	}
	return nil
}

func (o *ordering) post(choose chooser) error {
	if len(o.asked)-o.completed > 40 {
		return nil
	}
	id := uint64(len(o.asked)) + 1
	a := &asked{cell: choose("cell", cells), fenced: choose("fence", 4) == 0}
	wr := WorkRequest{ID: id, Fence: a.fenced}
	cell, err := handle(o.region).Slice(int64(8*a.cell), 8)
	if err != nil {
		return err
	}
	stamp := binary.BigEndian.AppendUint64(nil, id)
	switch choose("op", 4) {
	case 0:
		wr.Op, wr.Data = WorkSend, stamp
		buf := o.x.b.recv(id, 8)
		o.recvs = append(o.recvs, buf)
		a.floors = append(a.floors, o.writes[:]...)
		o.sends = append(o.sends, a)
	case 1:
		wr.Op, wr.Data, wr.Remote = WorkWrite, stamp, cell
		o.writes[a.cell] = id
	case 2:
		wr.Op, wr.Data, wr.Remote = WorkRead, make([]byte, 8), cell
		a.sink, a.floor = wr.Data, o.writes[a.cell]
	case 3:
		wr.Op, wr.Operand, wr.Remote = WorkFetchAdd, 1, handle(o.word)
		a.floor = o.atomics
		o.atomics++
	}
	a.op = wr.Op
	if err := o.x.a.qp.PostSend(&wr); err != nil {
		return err
	}
	o.asked = append(o.asked, a)
	return nil
}

// transmit lets the asking side send its next message, and checks that it may.
func (o *ordering) transmit() error {
	if !o.x.a.transmitOne() {
		// If nothing goes out, the model must not allow a message either.
		if o.next < len(o.asked) {
			a := o.asked[o.next]
			waits := a.fenced && len(o.outstanding) > 0 || a.op.awaitsResponse() && len(o.outstanding) >= o.ord
			if !waits {
				return fmt.Errorf("%v, request %d, is held back with %d of %d outstanding, fenced %t", a.op, o.next+1, len(o.outstanding), o.ord, a.fenced)
			}
		}
		return nil
	}
	if o.next >= len(o.asked) {
		return fmt.Errorf("a message that nobody asked for: %v", o.x.a.out)
	}
	a := o.asked[o.next]
	o.next++
	opcode, _ := kind{a.op, false}.opcode()
	// Rule 13: in the order in which they were submitted.
	if got := o.x.a.out[len(o.x.a.out)-1]; got != opcode.String() {
		return fmt.Errorf("message %d is a %s, posted was a %v", o.next, got, a.op)
	}
	if a.fenced && len(o.outstanding) > 0 {
		return fmt.Errorf("%v is fenced and goes out with %d outstanding", a.op, len(o.outstanding))
	}
	a.given = true
	o.unsent = append(o.unsent, a)
	switch {
	case a.op.awaitsResponse():
		o.outstanding = append(o.outstanding, a)
		o.requested = append(o.requested, a.op)
		o.most = max(o.most, len(o.outstanding))
		if len(o.outstanding) > o.ord {
			return fmt.Errorf("%d outstanding, ORD is %d", len(o.outstanding), o.ord)
		}
	case a.op == WorkWrite:
		o.given[a.cell] = uint64(o.next)
	}
	return nil
}

// sentOne reports some of the messages of s to its QP.
func (o *ordering) sentOne(s *side, choose chooser) error {
	if s.unset == 0 {
		return nil
	}
	n := 1 + choose("sent", s.unset)
	s.unset -= n
	if s == o.x.a {
		for _, a := range o.unsent[:n] {
			a.sent = true
		}
		o.unsent = o.unsent[n:]
	}
	s.qp.Sent(n)
	return o.take()
}

// arrive lets one segment arrive at s.
func (o *ordering) arrive(s *side) error {
	if len(s.peer.wire) == 0 {
		return nil
	}
	u := s.peer.wire[0]
	s.peer.wire = s.peer.wire[1:]
	if s == o.x.a && u[0]&0x40 != 0 { // the end of a response
		op, _ := ParseControl(u[1])
		if len(o.outstanding) == 0 {
			return fmt.Errorf("%v, nothing is outstanding", op)
		}
		a := o.outstanding[0]
		o.outstanding = o.outstanding[1:]
		want := OpReadResponse
		if a.op == WorkFetchAdd {
			want = OpAtomicResponse
		}
		if op != want { // rule 20
			return fmt.Errorf("%v answers a %v", op, a.op)
		}
		a.answer, a.ceiling = true, o.given[a.cell]
	}
	s.inject(u)
	if err := s.qp.Err(); err != nil {
		return err
	}
	return o.take()
}

// take checks all Completions.
func (o *ordering) take() error {
	for _, c := range done(o.x.a.sendCQ) {
		o.completed++
		if c.ID != uint64(o.completed) || c.Status != StatusOK { // rule 15
			return fmt.Errorf("%v, want that of request %d", c, o.completed)
		}
		a := o.asked[c.ID-1]
		if c.Op != a.op || a.op.awaitsResponse() && !a.answer || !a.op.awaitsResponse() && !a.sent { // rules 14 and 19
			return fmt.Errorf("%v: sent %t, answered %t", c, a.sent, a.answer)
		}
		switch a.op {
		case WorkRead: // rule 12, and its note
			got := binary.BigEndian.Uint64(a.sink)
			if got < a.floor || got > a.ceiling {
				return fmt.Errorf("Read %d finds Write %d, want one from %d to %d", c.ID, got, a.floor, a.ceiling)
			}
			if o.fencedAfter(int(c.ID)) && got != a.floor {
				return fmt.Errorf("Read %d, with a fence behind it, finds Write %d, not %d", c.ID, got, a.floor)
			}
		case WorkFetchAdd:
			if c.Original != a.floor {
				return fmt.Errorf("FetchAdd %d finds %d, want %d", c.ID, c.Original, a.floor)
			}
		}
	}
	for _, c := range done(o.x.b.recvCQ) { // rule 10, and its note
		a, buf := o.sends[o.arrived], o.recvs[o.arrived]
		if id := binary.BigEndian.Uint64(buf); c.Status != StatusOK || c.Len != 8 || c.ID != id || o.asked[id-1] != a {
			return fmt.Errorf("%v has Send %d", c, id)
		}
		o.arrived++
		for i, floor := range a.floors {
			if got := binary.BigEndian.Uint64(o.mem[8*i:]); got < floor {
				return fmt.Errorf("Send %d is delivered, and cell %d has Write %d, not yet %d", c.ID, i, got, floor)
			}
		}
	}
	return nil
}

// fencedAfter reports whether there is a fence between request id and the next Write to its cell.
func (o *ordering) fencedAfter(id int) bool {
	for _, a := range o.asked[id:] {
		if a.fenced {
			return true
		}
		if a.op == WorkWrite && a.cell == o.asked[id-1].cell {
			return false
		}
	}
	return false
}

// finish runs the stream until nothing is left, and checks that all is complete.
func (o *ordering) finish() error {
	always := func(_ string, n int) int { return n - 1 }
	for range 10000 {
		idle := !o.x.a.qp.HasOutput() && !o.x.b.qp.HasOutput() && len(o.x.a.wire)+len(o.x.b.wire)+o.x.a.unset+o.x.b.unset == 0
		if idle {
			break
		}
		err := o.transmit()
		if err == nil {
			err = o.sentOne(o.x.a, always)
		}
		if err == nil {
			err = o.arrive(o.x.b)
		}
		o.x.b.transmitOne()
		if err == nil {
			err = o.sentOne(o.x.b, always)
		}
		if err == nil {
			err = o.arrive(o.x.a)
		}
		if err != nil {
			return err
		}
	}
	if o.completed != len(o.asked) || o.arrived != len(o.sends) || len(o.outstanding) > 0 {
		return fmt.Errorf("%d of %d requests complete, %d of %d Sends delivered, %d outstanding", o.completed, len(o.asked), o.arrived, len(o.sends), len(o.outstanding))
	}
	for i, id := range o.writes {
		if got := binary.BigEndian.Uint64(o.mem[8*i:]); got != id {
			return fmt.Errorf("cell %d has Write %d at the end, want %d", i, got, id)
		}
	}
	return nil
}

// TestOrderRapid lets rapid look for a sequence of requests and events in which the stream violates
// the order of RFC 5040 §5.5, exceeds the ORD, or delays a message without a reason.
//
// RDMAP-5040-5.5-9 to RDMAP-5040-5.5-12, RDMAP-5040-5.5-14 to RDMAP-5040-5.5-17, RDMAP-5040-5.5-21,
// RDMAP-5040-5.5-22, RDMAP-5040-5.5-24
func TestOrderRapid(t *testing.T) {
	prototest.Checks(t, testmode.Cases(10_000))
	rapid.Check(t, func(t *rapid.T) {
		choose := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
		o := newOrdering(choose)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if err := o.step(choose); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.finish(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOrderRandom does the same with ten times as many sequences from a seeded source, which is
// faster.
//
// RDMAP-5040-5.5-9 to RDMAP-5040-5.5-12, RDMAP-5040-5.5-14 to RDMAP-5040-5.5-17, RDMAP-5040-5.5-21,
// RDMAP-5040-5.5-22, RDMAP-5040-5.5-24
func TestOrderRandom(t *testing.T) {
	rnd := seeded(t)
	sequences := testmode.Count(100_000, testmode.Rounds(1000, 300))
	requests, atLimit := 0, 0
	for i := range sequences {
		seed := rnd.Uint64()
		own := rand.New(rand.NewPCG(seed, 1))
		choose := func(_ string, n int) int { return own.IntN(n) }
		o := newOrdering(choose)
		var err error
		for range 10 + own.IntN(60) {
			if err = o.step(choose); err != nil {
				break
			}
		}
		if err == nil {
			err = o.finish()
		}
		if err != nil {
			t.Fatalf("sequence %d, its seed %#x: %v", i, seed, err)
		}
		requests += len(o.asked)
		if o.most == o.ord {
			atLimit++
		}
	}
	t.Logf("%d sequences of %d requests, %d of them with as many outstanding as the ORD: the order of RFC 5040 §5.5", sequences, requests, atLimit)
	if atLimit == 0 {
		t.Error("the ORD was never reached")
	}
}
