package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// "An RNIC MUST ensure that a Remote Peer is not able to access memory outside of the buffer
// specified when the STag was enabled for remote access." Each operation, at and around each bound,
// between octets that must stay as they are.
//
// RDMAP-5040-8.1.1-4
func TestRFC5040_8_1_1_BoundsHold(t *testing.T) {
	const size, guard = 64, 64
	offsets := []int64{-size - 1, -size, -9, -8, -1, 0, 1, 7, 8, size - 8, size - 1, size, size + 1, math.MinInt64, math.MaxInt64}
	for _, op := range []rdmaphdr.Opcode{rdmaphdr.OpWrite, rdmaphdr.OpReadRequest, rdmaphdr.OpAtomicRequest} {
		t.Run(op.String(), func(t *testing.T) {
			accepted := 0
			for _, off := range offsets {
				for _, n := range []int{1, 7, 8, 9, size - 1, size, size + 1, 2 * size} {
					if op == rdmaphdr.OpAtomicRequest && (n != 8 || off%8 != 0) {
						continue
					}
					x := newPair(t, params{})
					memory := aligned(size + 2*guard)
					for i := range memory {
						memory[i] = 0x11
					}
					r, err := x.b.domain.Register(memory[guard:guard+size], allAccess, x.b.stream())
					if err != nil {
						t.Fatal(err)
					}
					to := r.TO() + uint64(off)
					before := bytes.Clone(memory)
					switch op {
					case rdmaphdr.OpWrite:
						x.b.inject(tagged(op, r.STag(), to, bytes.Repeat([]byte{0x22}, n)))
					case rdmaphdr.OpReadRequest:
						x.b.inject(untagged(op, 1, 1, rdmaphdr.ReadRequest{Size: uint32(n), SourceSTag: r.STag(), SourceTO: to}.AppendTo(nil)))
					case rdmaphdr.OpAtomicRequest:
						request := rdmaphdr.AtomicRequest{STag: r.STag(), TO: to, Data: 0x1111111111111111, CompareMask: allBits}
						x.b.inject(untagged(op, 1, 1, request.AppendTo(nil)))
					}
					x.b.transmit()
					inside := off >= 0 && off < math.MaxInt64-size && off+int64(n) <= size
					if inside {
						accepted++
						wantState(t, x.b.qp, StateRTS)
						if op == rdmaphdr.OpWrite {
							copy(before[guard+off:], bytes.Repeat([]byte{0x22}, n))
						} else if op == rdmaphdr.OpAtomicRequest {
							binary.NativeEndian.PutUint64(before[guard+off:], 0x2222222222222222)
						}
					} else {
						x.b.wantOut("Terminate")
					}
					if !bytes.Equal(memory, before) {
						t.Errorf("%d octets at %d: memory %x, want %x", n, off, memory, before)
					}
				}
			}
			if accepted == 0 {
				t.Error("the test is wrong: nothing is accepted")
			}
		})
	}
}

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
	wantState(t, x.b.qp, StateRTS)
	write(4, old, "by old..")
	if string(memory) != "by a new" || x.b.qp.Err() == nil {
		t.Errorf("after a Write by the revoked STag the memory is %q, the error %v", memory, x.b.qp.Err())
	}
}

// "An RNIC MUST provide a mechanism for the ULP to establish and revoke read, write, or read and
// write access to the ULP Buffer referenced by an STag." Each right is had with a Region or a
// window, and taken back with it.
//
// RDMAP-5040-8.1.1-6
func TestRFC5040_8_1_1_RightsAreGivenAndRevoked(t *testing.T) {
	for _, access := range []ddp.Access{0, ddp.RemoteRead, ddp.RemoteWrite, ddp.RemoteRead | ddp.RemoteWrite} {
		for _, op := range []WorkOp{WorkRead, WorkWrite} {
			for _, window := range []bool{false, true} {
				for _, revoked := range []bool{false, true} {
					x := newPair(t, params{})
					var r *ddp.Region
					var err error
					if window {
						whole, _ := x.b.register(16, ddp.RemoteRead|ddp.RemoteWrite)
						r, err = whole.Window(4, 8, access)
					} else {
						r, err = x.b.domain.Register(make([]byte, 8), access, x.b.stream())
					}
					if err != nil {
						t.Fatal(err)
					}
					if revoked {
						r.Deregister()
					}
					need := ddp.RemoteRead
					if op == WorkWrite {
						need = ddp.RemoteWrite
					}
					x.a.post(WorkRequest{Op: op, Data: make([]byte, 8), Remote: handle(r)})
					x.run()
					if got, want := x.b.qp.Err() == nil, access&need != 0 && !revoked; got != want {
						t.Errorf("%v with %v (window %t, revoked %t) works: %t, want %t", op, access, window, revoked, got, want)
					}
				}
			}
		}
	}
}

// "An RNIC MUST ensure that the network interface can no longer modify an Advertised Buffer after
// the ULP revokes remote access rights for an STag": in the middle of a Write, and of a Read into
// the memory, either.
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
// Requests": IRD for those of the peer, ORD for one's own; 0 is none.
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
		rx := ddp.NewReceiver(q.ReceiverConfig())
		for msn := range uint32(most + 1) {
			if q.Err() != nil || rx.Err() != nil {
				t.Fatalf("at IRD %d %d Reads are too many", most, msn)
			}
			rx.Place(uint64(msn), untagged(rdmaphdr.OpReadRequest, 1, msn+1, rdmaphdr.ReadRequest{}.AppendTo(nil)))
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
// resources." Here that is the QP and its completion queues: places in queues are had from them
// alone, as many as they were made with, and what one has used up is not missing in another.
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
			x.b.inject(untagged(rdmaphdr.OpReadRequest, 1, msn+1, rdmaphdr.ReadRequest{}.AppendTo(nil)))
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
// Peer is attempting to consume more than its fair share of resources": in time, and which peer it
// is.
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
