package rdmap

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// postNext posts a request that must be accepted. If its message is next, it is sent.
func (s *side) postNext(wr WorkRequest) bool {
	s.t.Helper()
	next, err := s.qp.PostNext(&wr)
	if err != nil {
		s.t.Fatalf("PostNext(%v %d): %v", wr.Op, wr.ID, err)
	}
	if next {
		m := s.qp.Message()
		op, _ := ParseControl(m.RsvdULP)
		n := 0
		for s.tx.Start(m); s.tx.Next(s.mulpdu); {
			s.put(&n)
		}
		s.out = append(s.out, op.String())
		s.unset++
		if !s.slow {
			s.sent()
		}
	}
	return next
}

// Every operation is given out at once if nothing is queued.
func TestPostNext(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			x := newPair(t, params{})
			r, _ := x.b.register(64, allAccess)
			for id := range uint64(3) {
				x.b.recv(id, 64)
				wr := WorkRequest{ID: id, Op: k.WorkOp, Solicited: k.solicited, Remote: handle(r)}
				if op, _ := k.opcode(); k.WorkOp <= WorkRead {
					wr.Data = aligned(40)
					if op.Invalidates() {
						stale, _ := x.b.register(8, 0)
						wr.Invalidate = stale.STag()
					}
				}
				if !x.a.postNext(wr) {
					t.Fatal("PostNext = false")
				}
				x.a.wantNothing()
				x.run()
				wantDone(t, "answered", x.a.sendCQ, fmt.Sprintf("%d success", id))
			}
			wantState(t, x.a.qp, stateRTS)
			wantState(t, x.b.qp, stateRTS)
		})
	}
}

// A request waits if another one is queued, and is given out after it.
func TestPostNextWaitsItsTurn(t *testing.T) {
	x := newPair(t, params{ord: 1})
	r, _ := x.b.register(64, allAccess)
	for id := range uint64(8) {
		x.b.recv(id, 64)
	}
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Remote: handle(r)})
	if x.a.postNext(WorkRequest{ID: 2, Op: WorkSend}) {
		t.Error("a Send overtakes a Write")
	}
	x.a.transmit()
	x.a.wantOut("RDMA Write", "Send")
	if !x.a.postNext(WorkRequest{ID: 3, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)}) {
		t.Error("a Read waits for nothing")
	}
	if x.a.postNext(WorkRequest{ID: 4, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)}) {
		t.Error("a Read beyond the ORD is given out")
	}
	if x.a.postNext(WorkRequest{ID: 5, Op: WorkSend}) {
		t.Error("a Send overtakes a Read")
	}
	x.run()
	x.a.wantOut("RDMA Read Request", "RDMA Read Request", "Send")
	if !x.a.postNext(WorkRequest{ID: 6, Op: WorkRead, Remote: handle(r)}) || x.a.postNext(WorkRequest{ID: 7, Op: WorkSend, Fence: true}) {
		t.Error("a fence is not kept")
	}
	x.run()
	x.a.wantOut("RDMA Read Request", "Send")
	wantDone(t, "all", x.a.sendCQ, "1 success, 2 success, 3 success, 4 success, 5 success, 6 success, 7 success")

	// A request does not wait for one that was canceled in the queue.
	x.a.post(WorkRequest{ID: 8, Op: WorkSend})
	x.a.qp.Cancel(x.a.sendCQ, 8)
	if !x.a.postNext(WorkRequest{ID: 9, Op: WorkSend}) {
		t.Error("a Send waits for one that was canceled")
	}
	wantDone(t, "canceled", x.a.sendCQ, "8 flushed, 9 success")
}

// Requests and answers take turns, with PostNext as well.
func TestPostNextAndAnswers(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.a.register(64, allAccess)
	for id := range uint64(4) {
		x.b.post(WorkRequest{ID: id, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
		x.b.recv(id, 64)
	}
	x.b.transmit()
	x.a.receive()
	if x.a.postNext(WorkRequest{Op: WorkSend}) {
		t.Error("a request overtakes the answer that is due")
	}
	x.a.transmitOne()
	x.a.transmitOne()
	x.a.transmitOne()
	if !x.a.postNext(WorkRequest{Op: WorkSend}) {
		t.Error("after an answer it is a request's turn")
	}
	if x.a.postNext(WorkRequest{Op: WorkSend}) {
		t.Error("after a request it is an answer's turn")
	}
	x.a.transmit()
	x.a.wantOut("RDMA Read Response", "Send", "RDMA Read Response", "Send", "RDMA Read Response", "Send", "RDMA Read Response")
}

// PostNext refuses the same requests as PostSend, and then gives nothing out.
func TestPostNextErrors(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		p       params
		prepare func(x *pair)
		wr      WorkRequest
		want    error
	}{
		{"bad request", params{}, nil, WorkRequest{}, ErrBadRequest},
		{"closed", params{}, func(x *pair) { x.a.qp.Close() }, WorkRequest{Op: WorkSend}, ErrClosed},
		{"failed", params{}, func(x *pair) { x.a.qp.Fail(errTest) }, WorkRequest{Op: WorkSend}, errTest},
		{"peer closed", params{}, func(x *pair) { x.a.qp.PeerClosed(nil) }, WorkRequest{Op: WorkRead, Data: make([]byte, 1)}, ErrPeerClosed},
		{"no ORD", params{ord: -1}, nil, WorkRequest{Op: WorkRead, Data: make([]byte, 1)}, ErrNoORD},
		{"no extensions", params{noExtensions: true}, nil, WorkRequest{Op: WorkImmediate}, ErrNoExtensions},
		{"queue full", params{depth: 1}, func(x *pair) { x.a.post(WorkRequest{Op: WorkSend}) }, WorkRequest{Op: WorkSend, Data: make([]byte, 1), Inline: true}, ErrQueueFull},
		{"completion queue full", params{cqDepth: 1}, func(x *pair) { x.a.post(WorkRequest{Op: WorkSend}) }, WorkRequest{Op: WorkSend}, ErrCompletionQueueFull},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, tt.p)
			if tt.prepare != nil {
				tt.prepare(x)
			}
			given := givenOut(x.a.qp)
			next, err := x.a.qp.PostNext(&tt.wr)
			if next || !errors.Is(err, tt.want) || givenOut(x.a.qp) != given {
				t.Errorf("PostNext = %t, %v, want %v", next, err, tt.want)
			}
			if n := regions(x.a.domain); n != 0 {
				t.Errorf("%d sinks are left", n)
			}
		})
	}
	q := NewQP(Config{})
	if next, err := q.PostNext(&WorkRequest{Op: WorkSend}); next || !errors.Is(err, errNotConnected) {
		t.Errorf("PostNext before Start = %t, %v", next, err)
	}
}

// Sent(0) changes nothing.
func TestSentOfNone(t *testing.T) {
	x := newPair(t, params{})
	x.a.slow = true
	x.a.postNext(WorkRequest{ID: 1, Op: WorkWrite})
	x.a.qp.Sent(0)
	wantDone(t, "Sent(0)", x.a.sendCQ, "")
	x.a.sent()
	wantDone(t, "Sent(1)", x.a.sendCQ, "1 success")
}

// One goroutine holds the transmit token and posts, while others only post. Each request is given
// out and completes exactly once, the requests of one goroutine in order.
func TestPostNextConcurrently(t *testing.T) {
	rounds := testmode.Count(5000, 1000)
	const posters = 3
	x := newPair(t, params{depth: 4 * rounds, cqDepth: 4 * rounds})
	r, _ := x.b.register(64, allAccess)
	h := handle(r)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for p := range posters {
		wg.Go(func() {
			for i := range rounds {
				if err := x.a.qp.PostSend(&WorkRequest{ID: uint64(p+1)<<32 | uint64(i), Op: WorkWrite, Remote: h}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var holder sync.WaitGroup
	gaveOut, nexts := 0, 0
	holder.Go(func() {
		giveAll := func() {
			for x.a.qp.NextMessage() {
				gaveOut++
				x.a.qp.Sent(1)
			}
		}
		for i := range rounds {
			next, err := x.a.qp.PostNext(&WorkRequest{ID: uint64(i), Op: WorkWrite, Remote: h})
			switch {
			case err != nil:
				t.Error(err)
			case next:
				gaveOut++
				nexts++
				x.a.qp.Sent(1)
			default:
				giveAll()
			}
		}
		<-stop
		giveAll()
	})
	wg.Wait()
	close(stop)
	holder.Wait()
	if gaveOut != (posters+1)*rounds {
		t.Errorf("%d messages, want %d", gaveOut, (posters+1)*rounds)
	}
	t.Logf("%d of %d requests were given out by PostNext", nexts, rounds)
	var last [posters + 1]uint64
	for _, c := range done(x.a.sendCQ) {
		p := c.ID >> 32
		if n := c.ID & 0xFFFFFFFF; c.Err != nil || n != last[p] {
			t.Fatalf("Completion %v of poster %d, want %d", c, p, last[p])
		}
		last[p]++
	}
	for p, n := range last {
		if n != uint64(rounds) {
			t.Errorf("%d Completions of poster %d, want %d", n, p, rounds)
		}
	}
}

// givenOut returns how many messages are given out and not reported by Sent.
func givenOut(q *QP) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.output.given)
}
