package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "An RNIC MUST provide a mechanism for the ULP to establish and revoke the association of a ULP
// Buffer to an STag and TO range." Other memory, under another STag, is not touched by either.
//
// RDMAP-5040-8.1.1-5
func TestRFC5040_8_1_1_AssociationIsMadeAndRevoked(t *testing.T) {
	x := newPair(t, params{})
	stays, kept := x.b.register(8, ddp.RemoteWrite)
	goes, memory := x.b.register(8, ddp.RemoteWrite)
	write := func(id uint64, h Handle, text string) {
		x.a.post(WorkRequest{ID: id, Op: WorkWrite, Data: []byte(text), Remote: h})
		x.run()
	}
	write(1, handle(goes), "in range")
	if string(memory) != "in range" {
		t.Errorf("memory %q", memory)
	}
	old := handle(goes)
	goes.Deregister()
	again, err := x.b.domain.Register(memory, ddp.RemoteWrite, x.b.stream())
	if err != nil {
		t.Fatal(err)
	}
	if again.STag() == old.STag {
		t.Error("the same STag is given again")
	}
	write(2, handle(again), "by a new")
	write(3, handle(stays), "the same")
	if string(memory) != "by a new" || string(kept) != "the same" {
		t.Errorf("memory %q and %q", memory, kept)
	}
	wantState(t, x.b.qp, stateRTS)
	write(4, old, "by old..")
	if string(memory) != "by a new" || x.b.qp.Err() == nil {
		t.Errorf("after a Write by the revoked STag the memory is %q, the error %v", memory, x.b.qp.Err())
	}
}

// "An RNIC MUST ensure that the network interface can no longer modify an Advertised Buffer after
// the ULP revokes remote access rights for an STag": also in the middle of a Write, or of a Read
// into the memory.
//
// RDMAP-5040-8.1.1-7
func TestRFC5040_8_1_1_NoChangeAfterRevocation(t *testing.T) {
	t.Run("Write", func(t *testing.T) {
		x := newPair(t, params{mulpdu: 64})
		r, b := x.b.register(500, ddp.RemoteWrite)
		x.a.post(WorkRequest{Op: WorkWrite, Data: make([]byte, 500), Remote: handle(r)})
		x.a.transmit()
		for _, u := range x.a.wire[:4] {
			x.b.inject(u)
		}
		r.Deregister()
		after := bytes.Clone(b)
		if after[0] != 0 || after[499] == 0 {
			t.Fatal("the test is wrong: not in the middle")
		}
		for _, u := range x.a.wire[4:] {
			x.b.inject(u)
		}
		x.b.wantTerminate("1100 c000")
		if !bytes.Equal(b, after) {
			t.Error("memory changes after its STag was revoked")
		}
	})
	t.Run("sink of a Read", func(t *testing.T) {
		x, sink := halfAnswered(t)
		if !x.a.qp.Cancel(x.a.sendCQ, 1) { // which gives the memory back
			t.Fatal("Cancel: false")
		}
		wantDone(t, "reader", x.a.sendCQ, "1 flushed")
		after := bytes.Clone(sink)
		for _, u := range x.b.wire[4:] {
			x.a.inject(u)
		}
		if !bytes.Equal(sink, after) {
			t.Error("the sink changes after it was taken back")
		}
	})
}

// "An RNIC MUST choose the value of STags in a way difficult to predict. It is RECOMMENDED to
// sparsely populate them over the full available range." The sinks of Reads, which the layer itself
// registers, are no exception.
//
// RDMAP-5040-8.1.1-9, RDMAP-5040-8.1.1-10
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_8_1_1_STagsAreRandom(t *testing.T) {
	const n = 10_000
	domain := new(ddp.Domain)
	x := newPair(t, params{domain: domain})
	for what, draw := range map[string]func() ddp.STag{
		"registered": func() ddp.STag {
			r, err := domain.Register(make([]byte, 1), allAccess, 1)
			if err != nil {
				t.Fatal(err)
			}
			return r.STag()
		},
		"sinks": func() ddp.STag {
			x.a.post(WorkRequest{Op: WorkRead, Data: make([]byte, 1)})
			s := x.a.qp.sq.at(x.a.qp.sq.ring.Head()).sinkSTag
			x.a.qp.Cancel(x.a.sendCQ, 0)
			done(x.a.sendCQ)
			return s
		},
	} {
		t.Run(what, func(t *testing.T) {
			var octets [4]map[byte]int
			for i := range octets {
				octets[i] = map[byte]int{}
			}
			steps := map[ddp.STag]int{}
			last := ddp.STag(0)
			for range n {
				s := draw()
				for i := range octets {
					octets[i][byte(s>>(8*i))]++
				}
				steps[s-last]++
				last = s
			}
			for i, values := range octets {
				if len(values) != 256 { // one value is missing once in 10^14 runs
					t.Errorf("octet %d of %d STags has %d values", i, n, len(values))
				}
			}
			for step, times := range steps {
				if times > 3 {
					t.Errorf("%d of %d STags are %v above the one before", times, n, step)
				}
			}
		})
	}
}

// "An RNIC implementation SHOULD provide a mechanism to cap the number of outstanding RDMA Read
// Requests": IRD for the peer's requests, ORD for our own. 0 means none.
//
// RDMAP-5040-8.1.1-14
func TestRFC5040_8_1_1_OutstandingReadsAreCapped(t *testing.T) {
	for _, most := range []int{0, 1, 5} {
		q := NewQP(Config{})
		q.Start(StartParams{IRD: most, ORD: most})
		for range most + 1 {
			if err := q.PostSend(&WorkRequest{Op: WorkRead}); err != nil && (most > 0 || !errors.Is(err, ErrNoORD)) {
				t.Errorf("PostSend at ORD %d: %v", most, err)
			}
		}
		out := 0
		for q.NextMessage() {
			out++
		}
		if out != most {
			t.Errorf("at ORD %d there are %d Reads out", most, out)
		}
		rx := ddp.NewReceiver(q.receiverConfig())
		for msn := range uint32(most + 1) {
			if q.Err() != nil || rx.Err() != nil {
				t.Fatalf("at IRD %d %d Reads are too many", most, msn)
			}
			rx.Place(uint64(msn), untagged(OpReadRequest, 1, msn+1, ReadRequest{}.AppendTo(nil)))
			for rx.Deliver(uint64(msn) + 1) {
				q.Handle(rx.Message())
			}
		}
		if rx.Err() == nil {
			t.Errorf("at IRD %d %d Reads are taken", most, most+1)
		}
	}
}

// "All ULP resource allocation requests for scarce resources MUST also be done using a Privileged
// Resource Manager", which "SHOULD prevent a Local Peer from allocating more than its fair share of
// resources." Here that is the QP and its completion queues: only they provide places in queues, up
// to their configured depth, and a QP that has used up its places takes none from another.
//
// RDMAP-5040-8.1.2-2, RDMAP-5040-8.1.2-6
func TestRFC5040_8_1_2_EveryQPHasItsShare(t *testing.T) {
	greedy, modest := newPair(t, params{depth: 4, ird: 2}), newPair(t, params{depth: 4, ird: 2})
	fill := func(x *pair, want string) {
		t.Helper()
		var sends, receives, reads int
		var err error
		for range 10 {
			if err = x.b.qp.PostSend(&WorkRequest{Op: WorkSend}); err == nil {
				sends++
			}
		}
		if !errors.Is(err, ErrQueueFull) {
			t.Errorf("the 10th Send: %v", err)
		}
		for range 10 {
			if err = x.b.qp.PostRecv(RecvRequest{}); err == nil {
				receives++
			}
		}
		if !errors.Is(err, ErrQueueFull) {
			t.Errorf("the 10th receive: %v", err)
		}
		for msn := range uint32(10) {
			x.b.inject(untagged(OpReadRequest, 1, msn+1, ReadRequest{}.AppendTo(nil)))
			if x.b.qp.Err() == nil {
				reads++
			}
		}
		if got := fmt.Sprintf("%d sends, %d receives, %d reads", sends, receives, reads); got != want {
			t.Errorf("accepted: %s, want %s", got, want)
		}
	}
	fill(greedy, "4 sends, 4 receives, 2 reads")
	fill(modest, "4 sends, 4 receives, 2 reads")
}

// "If an RNIC provides the ability to share receive buffers across multiple Streams, the
// combination of the RNIC and the Privileged Resource Manager MUST be able to detect if the Remote
// Peer is attempting to consume more than its fair share of resources": the program learns of it in
// time, and which peer it is.
//
// RDMAP-5040-8.1.2-8
func TestRFC5040_8_1_2_GreedyPeerIsFound(t *testing.T) {
	srq, _ := shared(t, 6, 8)
	cq := NewCompletionQueue(6)
	x, y := newPair(t, params{srq: srq, srqCQ: cq}), newPair(t, params{srq: srq, srqCQ: cq})
	srq.Arm(3)
	used := map[uint64]int{}
	for n, p := range []*pair{x, y, x, x} { // 5, 4, 3, 2 buffers are left
		if raised(srq) {
			t.Fatalf("the event comes with %d buffers left", srq.Len())
		}
		p.a.post(WorkRequest{ID: uint64(n), Op: WorkSend, Data: []byte("more")})
		p.run()
		for _, c := range done(cq) {
			used[c.QPNum]++
		}
	}
	if !raised(srq) || srq.Len() != 2 {
		t.Errorf("no event, and %d buffers are left", srq.Len())
	}
	if used[x.b.qp.cfg.QPNum] != 3 || used[y.b.qp.cfg.QPNum] != 1 {
		t.Errorf("the Completions tell of %d and %d buffers, want 3 and 1", used[x.b.qp.cfg.QPNum], used[y.b.qp.cfg.QPNum])
	}
}
