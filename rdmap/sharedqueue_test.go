package rdmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// shared returns a shared queue with n buffers of size octets, with IDs from 1 on.
func shared(t testing.TB, n, size int) (s *SharedReceiveQueue, bufs map[uint64][]byte) {
	t.Helper()
	s, bufs = NewSharedReceiveQueue(n), map[uint64][]byte{}
	for id := uint64(1); id <= uint64(n); id++ {
		bufs[id] = make([]byte, size)
		if err := s.PostRecv(RecvRequest{ID: id, Buf: bufs[id]}); err != nil {
			t.Fatal(err)
		}
	}
	return s, bufs
}

// raised takes the event of a shared queue, if there is one.
func raised(s *SharedReceiveQueue) bool {
	select {
	case <-s.event:
		return true
	default:
		return false
	}
}

func TestSharedPostRecv(t *testing.T) {
	s := NewSharedReceiveQueue(2)
	for range 2 {
		if err := s.PostRecv(RecvRequest{}); err != nil {
			t.Errorf("PostRecv to a queue with room: %v", err)
		}
	}
	if err := s.PostRecv(RecvRequest{}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("PostRecv to a full queue: %v", err)
	}
	if s.Len() != 2 || s.Cap() != 2 {
		t.Errorf("Len %d, Cap %d", s.Len(), s.Cap())
	}
	if ids := s.Close(); !slices.Equal(ids, []uint64{0, 0}) {
		t.Errorf("Close gives back %v", ids)
	}
	if ids := s.Close(); len(ids) != 0 || s.Len() != 0 {
		t.Errorf("a second Close gives back %v, and %d are left", ids, s.Len())
	}
	if err := s.PostRecv(RecvRequest{}); !errors.Is(err, ErrClosed) {
		t.Errorf("PostRecv to a closed queue: %v", err)
	}
	for _, depth := range []int{-1, 0} {
		if n := NewSharedReceiveQueue(depth).Cap(); n != 1 {
			t.Errorf("depth %d: Cap %d, want 1", depth, n)
		}
	}
}

// TestSharedModel compares the queue with a slice: the buffers taken, the buffers that Close
// returns, and the time of the event.
func TestSharedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSharedReceiveQueue(rapid.IntRange(1, 6).Draw(t, "depth"))
		var want []uint64
		limit, event := 0, false
		for id := range uint64(60) {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				err := s.PostRecv(RecvRequest{ID: id})
				if errors.Is(err, ErrQueueFull) != (len(want) == s.Cap()) {
					t.Fatalf("PostRecv with %d of %d: %v", len(want), s.Cap(), err)
				}
				if err == nil {
					want = append(want, id)
				}
			case 2:
				for i := range rapid.Uint64Range(0, 4).Draw(t, "several") {
					err := s.PostRecv(RecvRequest{ID: 1000*id + i})
					if errors.Is(err, ErrQueueFull) != (len(want) == s.Cap()) {
						t.Fatalf("PostRecv with %d of %d: %v", len(want), s.Cap(), err)
					}
					if err == nil {
						want = append(want, 1000*id+i)
					}
				}
			case 3, 4:
				r, ok := s.take()
				if ok != (len(want) > 0) || ok && r.ID != want[0] {
					t.Fatalf("took %d, %t of %v", r.ID, ok, want)
				}
				if ok {
					want = want[1:]
				}
				if ok && len(want) < limit {
					limit, event = 0, true
				}
			case 5:
				limit = rapid.IntRange(-1, s.Cap()+1).Draw(t, "limit")
				s.Arm(limit)
				if event = len(want) < limit; event {
					limit = 0
				}
			case 6:
				if raised(s) != event {
					t.Fatalf("the event is there: %t, want %t, with %d buffers", !event, event, len(want))
				}
				event = false
			}
			if s.Len() != len(want) {
				t.Fatalf("Len = %d, want %d", s.Len(), len(want))
			}
		}
		if ids := s.Close(); !slices.Equal(ids, want) {
			t.Fatalf("Close gives back %v, want %v", ids, want)
		}
	})
}

func TestSharedLimit(t *testing.T) {
	s, _ := shared(t, 4, 0)
	if s.take(); raised(s) {
		t.Error("an event that nobody has asked for")
	}
	s.Arm(3)
	if raised(s) {
		t.Error("an event at the limit; it is due below it")
	}
	s.take()
	if !raised(s) || raised(s) {
		t.Error("not one event below the limit")
	}
	if s.take(); raised(s) {
		t.Error("another event, not armed again")
	}
	s.Arm(2)
	if !raised(s) {
		t.Error("no event at once where the limit has been passed")
	}
	s.Arm(1)
	s.take()
	if s.Arm(0); raised(s) {
		t.Error("an event that was taken back")
	}
	s.PostRecv(RecvRequest{})
	s.Arm(1)
	if s.Close(); raised(s) {
		t.Error("an event of the Close")
	}
	if s.Arm(1); raised(s) {
		t.Error("an event of a closed queue")
	}
}

// wantBound checks how many buffers are bound to b, in the QP and in DDP.
func (s *side) wantBound(n int) {
	s.t.Helper()
	q := s.qp
	q.mu.Lock()
	defer q.mu.Unlock()
	if got := q.rq.entries.Len(); got != n {
		s.t.Errorf("%d buffers are bound, want %d", got, n)
	}
	if got := q.queues[ddp.QNSend].Len(); got != n {
		s.t.Errorf("DDP has %d buffers, want %d", got, n)
	}
}

// One buffer is bound for each message that begins, none before, whatever its kind and segments.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSharedSends(t *testing.T) {
	srq, bufs := shared(t, 8, 100)
	x := newPair(t, params{mulpdu: 40, srq: srq})
	if err := x.b.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrBadRequest) {
		t.Errorf("PostRecv: %v, want ErrBadRequest", err)
	}
	var want []Completion
	for i, op := range []kind{
		{WorkSend, false}, {WorkImmediate, false}, {WorkSend, true}, {WorkSend, false},
		{WorkImmediate, true},
	} {
		wr := WorkRequest{Op: op.WorkOp, Solicited: op.solicited}
		if op.isImmediate() {
			wr.Immediate = uint64(i)
		} else {
			wr.Data = pattern(i*25, i) // of 0 octets too
		}
		x.a.post(wr)
		want = append(want, Completion{
			ID: uint64(i + 1), QPNum: x.b.qp.cfg.QPNum, Op: WorkRecv, Len: uint32(len(wr.Data)), Solicited: i%2 == 0 && i > 0,
			HasImmediate: op.isImmediate(), Immediate: wr.Immediate,
		})
	}
	x.a.transmit()
	for i, u := range x.a.wire {
		before := srq.Len()
		x.b.inject(u)
		h, _, _ := ddp.ParseUntagged(u)
		if took := before - srq.Len(); took != 0 != (h.MO == 0) || took > 1 {
			t.Errorf("segment %d, MO %d, binds %d buffers", i, h.MO, took)
		}
		if h.Last {
			x.b.wantBound(0)
		} else {
			x.b.wantBound(1)
		}
	}
	x.a.wire = nil
	got := done(x.b.recvCQ)
	if !slices.Equal(got, want) {
		t.Errorf("completions\n%v\nwant\n%v", got, want)
	}
	for i, c := range got {
		if c.Len > 0 && !bytes.Equal(bufs[c.ID][:c.Len], pattern(i*25, i)) {
			t.Errorf("message %d arrives changed", i)
		}
	}
	if srq.Len() != 3 || x.b.recvCQ.promised() != 0 {
		t.Errorf("%d buffers left, want 3; %d entries reserved, want 0", srq.Len(), x.b.recvCQ.promised())
	}
	// Tagged messages and other queues bind nothing.
	r, _ := x.b.register(8, allAccess)
	x.a.post(WorkRequest{Op: WorkWrite, Data: make([]byte, 8), Remote: handle(r)})
	x.a.post(WorkRequest{Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
	x.a.post(WorkRequest{Op: WorkFetchAdd, Remote: handle(r)})
	x.run()
	if srq.Len() != 3 {
		t.Errorf("%d buffers left after other messages, want 3", srq.Len())
	}
	if x.a.qp.TakeShared() {
		t.Error("TakeShared of a QP without a shared queue")
	}
}

// TakeShared binds one buffer, and no other while that one is free.
func TestTakeShared(t *testing.T) {
	srq, _ := shared(t, 3, 8)
	q := NewQP(Config{SRQ: srq})
	if q.TakeShared() {
		t.Error("a buffer is bound before Start")
	}
	q.Start(StartParams{})
	for range 3 {
		if !q.TakeShared() || srq.Len() != 2 {
			t.Fatalf("%d buffers left, want 2", srq.Len())
		}
	}
	q.Close()
	if got := brief(done(q.cfg.RecvCQ)); got != "1 flushed" {
		t.Errorf("Close completes %q", got)
	}
	if q.TakeShared() || srq.Len() != 2 {
		t.Errorf("a buffer is bound after the end; %d are left", srq.Len())
	}
	for _, end := range []func(q *QP){
		func(q *QP) { q.PeerClosed(nil) }, func(q *QP) { q.Abort(nil) }, func(q *QP) { q.Fail(errTest) },
	} {
		q := NewQP(Config{SRQ: srq})
		q.Start(StartParams{})
		end(q)
		if q.TakeShared() || srq.Len() != 2 {
			t.Errorf("a buffer is bound in state %v; %d are left", q.now(), srq.Len())
		}
	}
}

// A RecvCQ that the QP makes itself has room for as many buffers as the shared queue.
func TestSharedOwnRecvCQ(t *testing.T) {
	if n := NewQP(Config{SRQ: NewSharedReceiveQueue(500)}).cfg.RecvCQ.depth; n != 500 {
		t.Errorf("room for %d, want 500", n)
	}
	if n := NewQP(Config{SRQ: NewSharedReceiveQueue(5)}).cfg.RecvCQ.depth; n != defaultDepth {
		t.Errorf("room for %d, want %d", n, defaultDepth)
	}
}

// A Send that finds no buffer ends the stream as RFC 5041 §7.2 says; nothing is lost.
// DDP-5041-7.2
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSharedNoBuffer(t *testing.T) {
	for _, tt := range []struct {
		desc string
		make func() (*SharedReceiveQueue, *CompletionQueue)
		left int
	}{
		{"the queue is empty", func() (*SharedReceiveQueue, *CompletionQueue) {
			return NewSharedReceiveQueue(4), nil
		}, 0},
		{"the queue is closed", func() (*SharedReceiveQueue, *CompletionQueue) {
			s, _ := shared(t, 4, 8)
			s.Close()
			return s, nil
		}, 0},
		{"the RecvCQ is full", func() (*SharedReceiveQueue, *CompletionQueue) {
			s, _ := shared(t, 4, 8)
			cq := NewCompletionQueue(1)
			cq.reserve()
			return s, cq
		}, 4},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			srq, cq := tt.make()
			x := newPair(t, params{srq: srq, srqCQ: cq})
			x.b.injectHex(vSend)
			x.b.transmit()
			if got := x.b.wire[0]; !bytes.Equal(got, unhex(vTermNoBuffer)) {
				t.Errorf("sent %x, want %s", got, vTermNoBuffer)
			}
			wantDone(t, "receiver", x.b.recvCQ, "")
			reserved := 0
			if cq != nil {
				reserved = 1
			}
			if srq.Len() != tt.left || x.b.recvCQ.promised() != reserved {
				t.Errorf("%d buffers left, want %d; %d entries reserved, want %d", srq.Len(), tt.left, x.b.recvCQ.promised(), reserved)
			}
		})
	}
	t.Run("the receive queue is full", func(t *testing.T) {
		srq, _ := shared(t, 4, 8)
		x := newPair(t, params{srq: srq, depth: 1})
		x.a.post(WorkRequest{Op: WorkSend})
		x.a.transmit()
		for range 2 { // placed, and not delivered
			x.b.qp.TakeShared()
			x.b.rx.Place(x.b.off, x.a.wire[0])
		}
		x.b.wantDelivered()
		if srq.Len() != 3 {
			t.Errorf("%d buffers left, want 3", srq.Len())
		}
	})
}

// wantDelivered delivers the one message that is placed.
func (s *side) wantDelivered() {
	s.t.Helper()
	s.off += 1000
	for s.rx.Deliver(s.off) {
		s.qp.Handle(s.rx.Message())
	}
	wantDone(s.t, "delivered", s.recvCQ, "1 success")
}

// The end of a stream flushes the buffer that is bound to it, once, and leaves the other buffers to
// other streams.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSharedEnd(t *testing.T) {
	half := untagged(OpSend, 0, 1, []byte("half"))
	half[0] &^= 0x40 // not the last segment
	tooLong := untagged(OpSend, 0, 1, make([]byte, 9))
	for _, tt := range []struct {
		desc  string
		first []byte // arrives before the end; nil: nothing
		end   func(q *QP)
		want  string
	}{
		{"nothing bound", nil, func(q *QP) { q.Abort(errTest) }, ""},
		{"Abort", half, func(q *QP) { q.Abort(errTest) }, "1 flushed"},
		{"Close", half, func(q *QP) { q.Close() }, "1 flushed"},
		{"Fail", half, func(q *QP) { q.Fail(errTest) }, "1 flushed"},
		{"the peer's FIN", half, func(q *QP) { q.PeerClosed(nil) }, "1 flushed"},
		{"one after the other", half, func(q *QP) { q.PeerClosed(nil); q.Fail(errTest); q.Abort(errTest); q.Close() }, "1 flushed"},
		{"too long", tooLong, func(*QP) {}, "1 local length error"},
		{"wrong opcode", untagged(12, 0, 1, nil), func(*QP) {}, "1 flushed"},
		{"wrong MSN", untagged(OpSend, 0, 2, nil), func(*QP) {}, "1 flushed"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			srq, _ := shared(t, 3, 8)
			cq := NewCompletionQueue(8)
			ends, lives := newPair(t, params{srq: srq, srqCQ: cq}), newPair(t, params{srq: srq, srqCQ: cq})
			if tt.first != nil {
				ends.b.inject(tt.first)
			}
			tt.end(ends.b.qp)
			for _, c := range wantDone(t, "at the end", cq, tt.want) {
				if c.QPNum != ends.b.qp.cfg.QPNum || c.Op != WorkRecv {
					t.Errorf("completion %+v", c)
				}
			}
			for range srq.Len() {
				lives.a.post(WorkRequest{Op: WorkSend, Data: []byte("lives")})
			}
			lives.run()
			want := "1 success, 2 success, 3 success"
			if tt.want != "" {
				want = "2 success, 3 success"
			}
			for _, c := range wantDone(t, "the other stream", cq, want) {
				if c.QPNum != lives.b.qp.cfg.QPNum {
					t.Errorf("completion %+v", c)
				}
			}
			ends.b.qp.Abort(errTest)
			lives.b.qp.Abort(errTest)
			wantDone(t, "afterwards", cq, "")
			if srq.Len() != 0 || cq.promised() != 0 {
				t.Errorf("%d buffers and %d entries left", srq.Len(), cq.promised())
			}
		})
	}
}

// A peer that begins one message again and again, or many out of their order, gets one buffer.
// SEC-5042-6.4.3.1-3
func TestRFC5042_6_4_3_1_OneBufferInProcess(t *testing.T) {
	srq, _ := shared(t, 8, 8)
	x := newPair(t, params{srq: srq})
	empty := untagged(OpSend, 0, 1, nil)
	empty[0] &^= 0x40
	for range 20 {
		x.b.inject(empty)
	}
	x.b.wantBound(1)
	for msn := range uint32(5) { // behind gaps
		if x.b.rx.TryPlace(x.b.off+1000*uint64(msn+1), untagged(OpSend, 0, msn+2, []byte("early"))) {
			t.Errorf("message %d is placed early, though no buffer is bound to it", msn+2)
		}
	}
	x.b.wantBound(1)
	x.b.inject(untagged(OpSend, 0, 1, []byte("end")))
	wantDone(t, "receiver", x.b.recvCQ, "1 success")
	if srq.Len() != 7 {
		t.Errorf("%d buffers left, want 7", srq.Len())
	}
}

// "the combination of the RNIC Engine and the Privileged Resource Manager MUST be able to detect if
// the Remote Peer is attempting to consume more than its fair share of resources": the event comes
// while buffers are left, and Completions tell which stream it is. That stream ends and the other
// continues. SEC-5042-6.4.3.1-2, SEC-5042-6.4.3.1-4, SEC-5042-A-4, DDP-5041-8.3.2-7
func TestRFC5042_6_4_3_1_GreedyPeer(t *testing.T) {
	srq, bufs := shared(t, 8, 8)
	cq := NewCompletionQueue(8)
	greedy, modest := newPair(t, params{srq: srq, srqCQ: cq}), newPair(t, params{srq: srq, srqCQ: cq})
	srq.Arm(4)
	modest.a.post(WorkRequest{Op: WorkSend})
	modest.run()
	for !raised(srq) {
		greedy.a.post(WorkRequest{Op: WorkSend, Data: []byte{1}})
		greedy.run()
	}
	if srq.Len() != 3 {
		t.Errorf("%d buffers are left at the event, want 3", srq.Len())
	}
	used := map[uint64]int{}
	for _, c := range done(cq) {
		used[c.QPNum]++
		srq.PostRecv(RecvRequest{ID: c.ID, Buf: bufs[c.ID]})
	}
	if used[greedy.b.qp.cfg.QPNum] != 4 || used[modest.b.qp.cfg.QPNum] != 1 {
		t.Errorf("buffers used: %d and %d, want 4 and 1", used[greedy.b.qp.cfg.QPNum], used[modest.b.qp.cfg.QPNum])
	}
	greedy.b.qp.Abort(errTest)
	modest.a.post(WorkRequest{Op: WorkSend})
	modest.run()
	wantDone(t, "the other", cq, "6 success")
}

// The peer's RTR uses a buffer that the QP made itself.
func TestSharedRTR(t *testing.T) {
	srq, _ := shared(t, 2, 8)
	x := newPair(t, params{srq: srq, startA: StartParams{SendRTR: WorkSend, Initiator: true}, startB: StartParams{ExpectRTRSend: true}})
	x.run()
	wantDone(t, "the RTR", x.b.recvCQ, "")
	if srq.Len() != 2 {
		t.Errorf("%d buffers left, want 2", srq.Len())
	}
	x.a.post(WorkRequest{Op: WorkSend})
	x.run()
	wantDone(t, "a Send", x.b.recvCQ, "1 success")
}

// Many streams share one queue of buffers and one completion queue, and some of them end on the
// way: each buffer completes exactly once for each time it was posted, and none is lost.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSharedConcurrent(t *testing.T) {
	const streams, each, buffers = 6, 200, 8
	srq, bufs := shared(t, buffers, 200)
	cq := NewCompletionQueue(buffers)
	var credits = make(chan struct{}, buffers) // a Send that finds no buffer would end its stream
	for range buffers {
		credits <- struct{}{}
	}
	links := make([]*link, streams)
	index := map[uint64]int{}
	for i := range links {
		links[i] = newLink(t, params{srq: srq, srqCQ: cq, mulpdu: 60})
		index[links[i].x.b.qp.cfg.QPNum] = i
	}
	ctx, cancel := context.WithCancel(context.Background())
	var senders, consumer sync.WaitGroup
	received := make([]int, streams)
	consumer.Go(func() {
		batch := make([]Completion, 3)
		for {
			n, err := cq.Wait(ctx, batch, false)
			if err != nil {
				return
			}
			for _, c := range batch[:n] {
				i := index[c.QPNum]
				if c.Status == StatusOK {
					if want := pattern(int(c.Len), i*1000+received[i]); !bytes.Equal(bufs[c.ID][:c.Len], want) {
						t.Errorf("stream %d: message %d arrives changed", i, received[i])
					}
					received[i]++
				}
				if err := srq.PostRecv(RecvRequest{ID: c.ID, Buf: bufs[c.ID]}); err != nil {
					t.Errorf("PostRecv: %v", err)
				}
				credits <- struct{}{}
			}
		}
	})
	for i, l := range links {
		senders.Go(func() {
			for n := range each {
				if i%3 == 2 && n == each/2 {
					l.x.b.qp.Abort(errTest)
					return
				}
				<-credits
				wr := WorkRequest{Op: WorkSend, Data: pattern(n%200, i*1000+n), Unsignaled: true}
				if err := l.ends[0].postWhenRoom(&wr); err != nil {
					t.Errorf("PostSend: %v", err)
				}
				if i%3 == 2 { // otherwise its Sends, and the credits with them, would be lost at the end
					prototest.Wait(t, "the receive queue is empty", func() bool { return l.x.b.qp.isIdle(n + 1) })
				}
			}
		})
	}
	senders.Wait()
	for range buffers {
		<-credits // each comes with its buffer
	}
	cancel()
	consumer.Wait()
	for i, l := range links {
		l.stop()
		want := each
		if i%3 == 2 {
			want = each / 2
		}
		if received[i] != want {
			t.Errorf("stream %d: %d messages, want %d", i, received[i], want)
		}
		l.x.b.qp.Abort(errTest)
	}
	ids := srq.Close()
	slices.Sort(ids)
	if fmt.Sprint(ids) != "[1 2 3 4 5 6 7 8]" || cq.Len() != 0 || cq.promised() != 0 {
		t.Errorf("in the end there are the buffers %v; %d completions, %d entries reserved", ids, cq.Len(), cq.promised())
	}
}

// isIdle reports whether n messages have used up n buffers.
func (q *QP) isIdle(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rq.entries.Head() == uint64(n) && q.rq.isEmpty()
}

// Streams end while messages arrive for them: a buffer completes once, with the right result, or
// remains in the queue.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestSharedConcurrentEnd(t *testing.T) {
	for round := range 30 {
		const buffers = 6
		srq, bufs := shared(t, buffers, 400)
		cq := NewCompletionQueue(buffers)
		first, second := newLink(t, params{srq: srq, srqCQ: cq, mulpdu: 40}), newLink(t, params{srq: srq, srqCQ: cq, mulpdu: 40})
		var wg sync.WaitGroup
		for _, l := range []*link{first, second} {
			wg.Go(func() {
				for range 20 {
					if l.ends[0].postWhenRoom(&WorkRequest{Op: WorkSend, Data: pattern(400, 1), Unsignaled: true}) != nil {
						return
					}
				}
			})
		}
		prototest.Wait(t, "a buffer is taken", func() bool { return srq.Len() < buffers })
		for range round {
			runtime.Gosched()
		}
		// Either this or a Send that finds no buffer ends the stream.
		first.x.b.qp.Fail(errTest)
		second.x.b.qp.Abort(errTest)
		wg.Wait()
		first.stop()
		second.stop()
		seen := map[uint64]bool{}
		for _, c := range done(cq) {
			if seen[c.ID] {
				t.Errorf("buffer %d completes twice", c.ID)
			}
			seen[c.ID] = true
			if c.Status == StatusOK && !bytes.Equal(bufs[c.ID], pattern(400, 1)) {
				t.Errorf("buffer %d completes with octets missing", c.ID)
			}
		}
		for _, id := range srq.Close() {
			if seen[id] {
				t.Errorf("buffer %d has completed, and is there still", id)
			}
			seen[id] = true
		}
		if len(seen) != buffers || cq.promised() != 0 {
			t.Errorf("%d of %d buffers are accounted for; %d entries reserved", len(seen), buffers, cq.promised())
		}
	}
}

func TestAllocsOfSharedQueue(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	srq, bufs := shared(t, 1, 100)
	l := &loop{pair: newPair(t, params{srq: srq})}
	data := make([]byte, 100)
	batch := make([]Completion, 4)
	if n := testing.AllocsPerRun(200, func() {
		if err := l.a.qp.PostSend(&WorkRequest{Op: WorkSend, Data: data, Unsignaled: true}); err != nil {
			t.Fatal(err)
		}
		l.b.qp.TakeShared()
		l.carry()
		if n, err := l.b.recvCQ.Wait(context.Background(), batch, false); n != 1 || err != nil {
			t.Fatalf("%d completions, %v", n, err)
		}
		srq.PostRecv(RecvRequest{ID: 1, Buf: bufs[1]})
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
