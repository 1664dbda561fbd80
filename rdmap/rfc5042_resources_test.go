package rdmap

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// Tests of RFC 5042 §2.2 and §6.4: what a peer, or another stream, can use up.

// flood lets the peer of b send messages of one kind, which are never answered or taken, until the
// stream ends or most of them have arrived. It returns how many the stream has accepted.
func flood(x *pair, most int, message func(msn uint32) []byte) (taken int) {
	for taken < most {
		x.b.inject(message(uint32(taken + 1)))
		if x.b.qp.now() != stateRTS {
			break
		}
		taken++
	}
	return taken
}

// "All ULP resource allocation requests for scarce resources MUST also be done using a Privileged
// Resource Manager" (§3), which "for some systems … may be implemented within the Privileged ULP":
// here the program's own Config sets the limits. A request of the program above a limit is refused.
// A peer cannot make a stream hold more than a limit, whatever it sends and the program does not
// take.
//
// SEC-5042-2.2.1-1, SEC-5042-2.2.8-1, SEC-5042-3-2, SEC-5042-6.4.1-1
func TestRFC5042_6_4_1_NoMoreThanConfigured(t *testing.T) {
	const depth, ird = 5, 3
	setup := func() (x *pair, r *ddp.Region) {
		x = newPair(t, params{depth: depth, cqDepth: 2 * depth, ird: ird, ord: ird})
		r, _ = x.b.register(8, allAccess)
		for id := range uint64(depth) {
			x.b.recv(id, 8)
		}
		return x, r
	}
	t.Run("the program", func(t *testing.T) {
		x, _ := setup()
		if err := x.b.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one receive too many: %v", err)
		}
		for range depth {
			x.b.post(WorkRequest{Op: WorkSend})
		}
		if err := x.b.qp.PostSend(&WorkRequest{Op: WorkSend}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one Send too many: %v", err)
		}
		x.b.slow = true
		x.b.transmit() // none is complete, so all keep their places
		if err := x.b.qp.PostSend(&WorkRequest{Op: WorkSend}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("one Send too many while the others are on their way: %v", err)
		}
		y := newPair(t, params{cqDepth: depth})
		for range depth {
			y.b.recv(0, 0)
		}
		if err := y.b.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrCompletionQueueFull) {
			t.Errorf("a receive without an entry for its Completion: %v", err)
		}
	})
	for _, tt := range []struct {
		desc  string
		limit int // -1: it is over at once, and nothing is kept
		u     func(r *ddp.Region, msn uint32) []byte
	}{
		{"Sends", depth, func(_ *ddp.Region, msn uint32) []byte { return untagged(OpSend, 0, msn, []byte{1}) }},
		{"Sends of no octets", depth, func(_ *ddp.Region, msn uint32) []byte { return untagged(OpSend, 0, msn, nil) }},
		{"Immediate Data", depth, func(_ *ddp.Region, msn uint32) []byte { return untagged(OpImmediate, 0, msn, make([]byte, 8)) }},
		{"Reads", ird, func(r *ddp.Region, msn uint32) []byte {
			return untagged(OpReadRequest, 1, msn, ReadRequest{Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}.AppendTo(nil))
		}},
		{"Reads of no octets", ird, func(_ *ddp.Region, msn uint32) []byte {
			return untagged(OpReadRequest, 1, msn, ReadRequest{}.AppendTo(nil))
		}},
		{"atomics", ird, func(r *ddp.Region, msn uint32) []byte {
			return untagged(OpAtomicRequest, 1, msn, AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil))
		}},
		{"Reads and atomics", ird, func(r *ddp.Region, msn uint32) []byte {
			if msn%2 == 0 {
				return untagged(OpReadRequest, 1, msn, ReadRequest{}.AppendTo(nil))
			}
			return untagged(OpAtomicRequest, 1, msn, AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil))
		}},
		{"Writes", -1, func(r *ddp.Region, _ uint32) []byte {
			return tagged(OpWrite, r.STag(), r.TO(), make([]byte, 8))
		}},
		{"Writes of no octets", -1, func(*ddp.Region, uint32) []byte { return tagged(OpWrite, 5, 5, nil) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x, r := setup()
			const most = 1000
			message := func(msn uint32) []byte { return tt.u(r, msn) }
			got := flood(x, most, message)
			if tt.limit >= 0 {
				if got != tt.limit {
					t.Errorf("%d are taken, want %d", got, tt.limit)
				}
				x.b.wantTerminate("1202 c000")
				return
			}
			if got != most || x.b.qp.HasOutput() || x.b.recvCQ.Len()+x.b.sendCQ.Len() > 0 || regions(x.b.domain) != 1 {
				t.Errorf("after %d of them the stream holds something: %v", got, x.b.qp.Err())
			}
			if u := message(1); !testmode.Race {
				if n := testing.AllocsPerRun(100, func() {
					x.b.rx.Place(x.b.off, u)
					for x.b.off += uint64(len(u)) + 6; x.b.rx.Deliver(x.b.off); {
						x.b.qp.Handle(x.b.rx.Message())
					}
				}); n != 0 {
					t.Errorf("%v allocations for each", n)
				}
			}
		})
	}
	t.Run("behind gaps", func(t *testing.T) {
		x, _ := setup()
		r, _ := x.b.register(1000, allAccess)
		taken := 0
		for i := range uint64(1000) {
			if x.b.rx.TryPlace(1000+100*i, tagged(OpWrite, r.STag(), r.TO()+i, []byte{1})) {
				taken++
			}
		}
		if taken != 256 {
			t.Errorf("%d segments are remembered, want 256", taken)
		}
	})
}

// "The Asynchronous Event Queue is a resource that can be attacked because Remote or Local Peers …
// can cause events to occur that have the potential of overflowing the queue." The events here are
// low buffers and new Completions. At most one of each is pending, and nothing waits for the
// program to take it.
//
// SEC-5042-2.2.7-1
func TestRFC5042_2_2_7_EventsDoNotPileUp(t *testing.T) {
	srq, bufs := shared(t, 4, 8)
	x := newPair(t, params{srq: srq, cqDepth: 400})
	ready := x.b.recvCQ.Ready()
	for n := range 100 {
		srq.Arm(4) // nobody takes the event, nor the Completion's
		x.a.post(WorkRequest{Op: WorkSend, Solicited: true})
		x.run()
		if c := done(x.b.recvCQ); len(c) == 1 {
			srq.PostRecv(RecvRequest{ID: c[0].ID, Buf: bufs[c[0].ID]})
		} else {
			t.Fatalf("message %d: %v", n, c)
		}
		done(x.a.sendCQ)
	}
	if !raised(srq) {
		t.Error("no event")
	}
	if raised(srq) {
		t.Error("a second event")
	}
	<-ready
	select {
	case <-ready:
		t.Error("a second value of Ready")
	default:
	}
}

// "If resources are not shared across multiple Streams, then this attack is not possible": "The
// worst case scenario is that the Remote Peer can consume more receive buffers than the local ULP
// allowed, … which could cause the Remote Peer's Stream to the Local Peer to be torn down".
//
// SEC-5042-6.4.3.1-1
func TestRFC5042_6_4_3_1_OverrunHarmsItsOwnStream(t *testing.T) {
	domain := new(ddp.Domain)
	greedy, modest := newPair(t, params{domain: domain}), newPair(t, params{domain: domain})
	for id := range uint64(2) {
		greedy.b.recv(id, 8)
		modest.b.recv(id, 8)
	}
	message := func(msn uint32) []byte { return untagged(OpSend, 0, msn, []byte{1}) }
	if n := flood(greedy, 10, message); n != 2 {
		t.Errorf("%d Sends find a buffer, want 2", n)
	}
	greedy.b.wantTerminate("1202 c000")
	if n := flood(modest, 2, message); n != 2 {
		t.Errorf("the other stream has room for %d Sends, want 2: %v", n, modest.b.qp.Err())
	}
	wantDone(t, "the other stream", modest.b.recvCQ, "0 success, 1 success")
}

// "an implementation MUST implement a Privileged Resource Manager to control the allocation of CQ
// entries": each request has its entry before it is accepted. So no peer can reserve an entry, and
// no "minimum length RDMAP/DDP Messages" overflow a queue that untrusting streams share. "an RNIC
// MUST ensure that if a CQ overflows, any Streams that do not use the CQ MUST remain unaffected": a
// full queue stops posts to it, and nothing else.
//
// SEC-5042-6.4.3.2-1, SEC-5042-6.4.3.2-3, SEC-5042-6.4.6-1, SEC-5042-6.4.6-2
func TestRFC5042_6_4_3_2_CompletionQueueDoesNotOverflow(t *testing.T) {
	const n = 6
	cq := NewCompletionQueue(n)
	newReceiver := func(cq *CompletionQueue) *pair {
		x := newPair(t, params{})
		x.b.qp = NewQP(Config{QPNum: qpNums.Add(1), RecvCQ: cq})
		x.b.rx = ddp.NewReceiver(x.b.qp.Start(StartParams{}))
		return x
	}
	first, second := newReceiver(cq), newReceiver(cq)
	other := newReceiver(NewCompletionQueue(n))
	message := func(msn uint32) []byte { return untagged(OpSend, 0, msn, nil) }
	posted := 0
	for id := uint64(0); ; id++ {
		q := []*pair{first, second}[id%2].b.qp
		if err := q.PostRecv(RecvRequest{ID: id}); err != nil {
			if !errors.Is(err, ErrCompletionQueueFull) {
				t.Errorf("PostRecv: %v", err)
			}
			break
		}
		posted++
	}
	if posted != n {
		t.Errorf("%d receives are accepted for %d entries", posted, n)
	}
	flood(first, 100, message)
	flood(second, 100, message)
	if cq.Len() != n {
		t.Errorf("%d Completions, want %d", cq.Len(), n)
	}
	// Both streams have overrun their buffers and ended; cq is full. The stream with another queue
	// is unaffected.
	for id := range uint64(n) {
		if err := other.b.qp.PostRecv(RecvRequest{ID: id}); err != nil {
			t.Errorf("PostRecv to the other stream: %v", err)
		}
	}
	if got := flood(other, n, message); got != n || other.b.qp.cfg.RecvCQ.Len() != n {
		t.Errorf("the other stream: %d messages, %d Completions, %v", got, other.b.qp.cfg.RecvCQ.Len(), other.b.qp.Err())
	}
	count := map[uint64]int{}
	for _, c := range done(cq) {
		if c.Status != StatusOK {
			t.Errorf("%v", c)
		}
		count[c.QPNum]++
	}
	if count[first.b.qp.cfg.QPNum] != n/2 || count[second.b.qp.cfg.QPNum] != n/2 {
		t.Errorf("Completions of the two: %v, want %d each", count, n/2)
	}
	// Sends take entries as well. If no entry is left, the peer's message finds no buffer of the
	// shared queue.
	full := NewCompletionQueue(2)
	srq, _ := shared(t, 4, 8)
	x := newPair(t, params{srq: srq, srqCQ: full})
	for range 2 {
		x.b.post(WorkRequest{Op: WorkSend, CQ: full})
	}
	if err := x.b.qp.PostSend(&WorkRequest{Op: WorkSend, CQ: full}); !errors.Is(err, ErrCompletionQueueFull) {
		t.Errorf("PostSend: %v, want ErrCompletionQueueFull", err)
	}
	if got := flood(x, 4, message); got != 0 || full.Len() != 2 {
		t.Errorf("shared queue: %d messages, %d Completions, want 0 and 2", got, full.Len())
	}
}

// "If the local ULP must be able to completely fill the queues, … the CQ must be sized to
// accommodate the maximum number of operations that it is possible to post at any one time." That
// is the default of a QP, with "the worst-case size of the CQ" (appendix A): a shared receive queue
// counts too.
//
// SEC-5042-6.4.3.2-2, SEC-5042-A-5
func TestRFC5042_6_4_3_2_DefaultSizeHoldsAll(t *testing.T) {
	for _, depth := range []int{1, 7, defaultDepth, 2 * defaultDepth} {
		x := newPair(t, params{})
		x.a.qp = NewQP(Config{SendDepth: depth, RecvDepth: depth})
		x.a.qp.Start(StartParams{})
		for id := range uint64(depth) {
			x.a.post(WorkRequest{ID: id, Op: WorkSend})
			x.a.recv(id, 0)
		}
		x.a.qp.Abort(errTest) // all complete, and none has been taken
		if s, r := x.a.qp.cfg.SendCQ.Len(), x.a.qp.cfg.RecvCQ.Len(); s != depth || r != depth {
			t.Errorf("depth %d: %d and %d Completions", depth, s, r)
		}
		srq, _ := shared(t, 2*depth, 8)
		q := NewQP(Config{RecvDepth: depth, SRQ: srq})
		if q.cfg.RecvCQ.depth != 2*depth {
			t.Errorf("shared queue of %d: room for %d Completions", 2*depth, q.cfg.RecvCQ.depth)
		}
	}
}

// "RDMA Read Request Queue resource consumption MUST be controlled … such that RDMAP/DDP Streams
// that do not share Partial Mutual Trust do not share RDMA Read Request Queue resources." "the
// RDMAP Stream is terminated when more RDMA Read Requests arrive at the Local Peer than the Local
// Peer can handle". "if the Remote Peer submits more requests than the Local Peer's RDMA Read
// Request Queue can handle, the requests would be queued at the Remote Peer's RNIC until previous
// requests complete." "an RNIC implementation SHOULD provide a mechanism to cap the number of
// outstanding RDMA Read Requests."
//
// SEC-5042-2.2.8-1, SEC-5042-6.4.3.3-1 to SEC-5042-6.4.3.3-4, SEC-5042-A-3, RDMAP-5040-8.1.2-7
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5042_6_4_3_3_ReadRequestQueue(t *testing.T) {
	const ird = 2
	domain := new(ddp.Domain)
	greedy := newPair(t, params{domain: domain, ird: ird, ord: ird + 1}) // the peer has a greater ORD than this end's IRD
	modest := newPair(t, params{domain: domain, ird: ird, ord: ird})
	for _, x := range []*pair{greedy, modest} {
		r, err := domain.Register(make([]byte, 8), ddp.RemoteRead, 0)
		if err != nil {
			t.Fatal(err)
		}
		for id := range uint64(ird + 2) {
			x.a.post(WorkRequest{ID: id, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
		}
		x.a.transmit()
	}
	greedy.a.wantOut("RDMA Read Request", "RDMA Read Request", "RDMA Read Request")
	modest.a.wantOut("RDMA Read Request", "RDMA Read Request") // the others are queued here
	greedy.b.receive()
	modest.b.receive()
	greedy.b.wantTerminate("1202 c000 002e 4141")
	modest.run()
	wantDone(t, "the other stream", modest.a.sendCQ, "0 success, 1 success, 2 success, 3 success")
	modest.b.wantOut("RDMA Read Response", "RDMA Read Response", "RDMA Read Response", "RDMA Read Response")
	// The queue is as long as ever.
	if n := modest.b.qp.responder.queue.Len(); n != ird {
		t.Errorf("the queue has buffers for %d requests, want %d", n, ird)
	}
}

// "Note that for most RDMAP or DDP errors, the attacking Stream will simply be torn down. Thus, for
// this form of attack to be effective, the Remote Peer needs to exercise data paths that do not
// cause the Stream to be torn down." This end answers the first error with one Terminate, and
// ignores everything after it.
//
// SEC-5042-6.4.4-2
func TestRFC5042_6_4_4_OneErrorPerStream(t *testing.T) {
	for _, tt := range []struct {
		desc, u, want string
		byDDP         bool
	}{
		{"found by DDP", "4143 00000000 00000000 00000009 00000000", "1203 c000 0012 4143", true},
		{"found by RDMAP", vReadRequest, "0100 e000 002e 4141", false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			for id := range uint64(3) {
				x.b.recv(id, 8)
			}
			before := bytes.Clone(b)
			x.b.injectHex(tt.u)
			why := x.b.qp.Err()
			for n := range uint32(100) {
				x.b.inject(untagged(OpSend, 0, n%4, nil))
				if tt.byDDP { // otherwise the driver must place no more
					x.b.inject(tagged(OpWrite, r.STag(), r.TO(), []byte{1}))
				}
				x.b.inject(untagged(OpReadRequest, 1, n+2, ReadRequest{}.AppendTo(nil)))
				x.b.inject(untagged(OpTerminate, 2, 1, make([]byte, 4)))
				x.b.injectHex("414c 00000000 00000000 00000001 00000000") // opcode 0xC
			}
			x.b.wantTerminate(tt.want)
			x.b.wantOut("Terminate")
			wantDone(t, "receives", x.b.recvCQ, "0 flushed, 1 flushed, 2 flushed")
			if !bytes.Equal(b, before) || x.b.qp.Err() != why {
				t.Errorf("afterwards: memory %x, error %v", b, x.b.qp.Err())
			}
		})
	}
}
