package rdmap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A link runs a pair as a real driver does: for each side one goroutine transmits, holding the
// token, and one receives. Segments travel in channels, in order.
type link struct {
	x    *pair
	wg   sync.WaitGroup
	ends [2]*linkEnd
}

type linkEnd struct {
	s    *side
	wake chan struct{}
	in   chan []byte
	out  chan []byte
	quit chan struct{}
}

func newLink(t *testing.T, p params) *link {
	l := &link{x: newPair(t, p)}
	ab, ba := make(chan []byte, 64), make(chan []byte, 64)
	quit := make(chan struct{})
	l.ends[0] = &linkEnd{l.x.a, make(chan struct{}, 1), ba, ab, quit}
	l.ends[1] = &linkEnd{l.x.b, make(chan struct{}, 1), ab, ba, quit}
	for _, e := range l.ends {
		l.wg.Go(e.transmit)
		l.wg.Go(e.receive)
	}
	return l
}

// stop ends the goroutines of the link.
func (l *link) stop() {
	close(l.ends[0].quit)
	l.wg.Wait()
}

func (e *linkEnd) transmit() {
	for {
		for e.s.transmitOne() {
			for _, u := range e.s.wire {
				select {
				case e.out <- u:
				case <-e.quit:
					return
				}
			}
			e.s.wire = nil
		}
		select {
		case <-e.wake:
		case <-e.quit:
			return
		}
	}
}

func (e *linkEnd) receive() {
	for {
		select {
		case u := <-e.in:
			e.s.inject(u)
			signal(e.wake)
		case <-e.quit:
			return
		}
	}
}

// postWhenRoom posts wr as soon as the send queue has room.
func (e *linkEnd) postWhenRoom(wr *WorkRequest) error {
	for {
		err := e.s.qp.PostSend(wr)
		signal(e.wake)
		if !errors.Is(err, ErrQueueFull) {
			return err
		}
		runtime.Gosched()
	}
}

// TestConcurrentUse runs posters, transmitter, receiver and pollers at the same time, in both
// directions.
func TestConcurrentUse(t *testing.T) {
	const posters, each = 4, 100
	l := newLink(t, params{depth: 16, ord: 4, ird: 4, cqDepth: 64, mulpdu: 300})
	var wg sync.WaitGroup
	word, err := l.x.b.domain.Register(aligned(8), ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	// b receives, and posts each buffer again with its Completion.
	bufs := make([][]byte, 16)
	for id := range bufs {
		bufs[id] = l.x.b.recv(uint64(id), 1000)
	}
	last := make(map[uint32]uint32) // by poster: its last Send that arrived
	credits := make(chan struct{}, len(bufs))
	for range bufs {
		credits <- struct{}{}
	}
	wg.Go(func() {
		defer close(credits)
		for range posters * each {
			c, err := waitOne(context.Background(), l.x.b.recvCQ, false)
			if err != nil || c.Status != StatusOK {
				t.Errorf("receive: %v, %v", c, err)
				return
			}
			buf := bufs[c.ID]
			poster, n := binary.BigEndian.Uint32(buf), binary.BigEndian.Uint32(buf[4:])
			if n != last[poster]+1 {
				t.Errorf("poster %d: Send %d after %d", poster, n, last[poster])
			}
			last[poster] = n
			if !bytes.Equal(buf[8:c.Len], pattern(int(c.Len)-8, int(n))) {
				t.Errorf("poster %d: Send %d arrives changed", poster, n)
			}
			if err := l.x.b.qp.PostRecv(RecvRequest{ID: c.ID, Buf: buf}); err != nil {
				t.Errorf("PostRecv: %v", err)
			}
			credits <- struct{}{} // a Send that finds no buffer would end the stream
		}
	})
	for p := range posters {
		r, _ := l.x.b.register(1000, allAccess)
		wg.Go(func() { l.poster(t, uint32(p), each, r, word, credits) })
	}
	wg.Wait()
	l.stop()
	if got, err := load64(word, 0); err != nil || got != posters*each {
		t.Errorf("the word is %d (%v), want %d", got, err, posters*each)
	}
	wantState(t, l.x.a.qp, stateRTS)
	wantState(t, l.x.b.qp, stateRTS)
}

// poster sends, writes, reads back and adds, each time waiting for its own Completions.
func (l *link) poster(t *testing.T, p uint32, n int, r, word *ddp.Region, credits chan struct{}) {
	cq := NewCompletionQueue(4)
	for i := range uint32(n) {
		<-credits
		data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, p), i+1)
		data = append(data, pattern(int(i)*7%900, int(i+1))...)
		sink := make([]byte, len(data))
		for id, wr := range []WorkRequest{
			{Op: WorkSend, Data: data},
			{Op: WorkWrite, Data: data, Remote: handle(r)},
			{Op: WorkRead, Data: sink, Remote: handle(r)},
			{Op: WorkFetchAdd, Remote: handle(word), Operand: 1},
		} {
			wr.CQ, wr.ID = cq, uint64(id)
			if err := l.ends[0].postWhenRoom(&wr); err != nil {
				t.Errorf("PostSend: %v", err)
				return
			}
		}
		for id := range uint64(4) {
			c, err := waitOne(context.Background(), cq, false)
			if err != nil || c.Status != StatusOK || c.ID != id {
				t.Errorf("poster %d: %v, %v, want request %d", p, c, err, id)
				return
			}
		}
		if !bytes.Equal(sink, data) {
			t.Errorf("poster %d: round %d reads back something else", p, i)
		}
	}
}

// However the stream ends under load, every accepted request completes once.
func TestConcurrentEnd(t *testing.T) {
	for _, tt := range []struct {
		desc string
		end  func(l *link)
	}{
		{"Fail", func(l *link) { l.x.a.qp.Fail(errTest) }},
		{"Close", func(l *link) { l.x.a.qp.Close() }},
		{"Fail at both", func(l *link) { l.x.a.qp.Fail(errTest); l.x.b.qp.Fail(errTest) }},
		{"a bad Write", func(l *link) {
			l.ends[0].postWhenRoom(&WorkRequest{Op: WorkWrite, Data: []byte{1}, Unsignaled: true})
		}},
	} {
		for round := range 2 {
			t.Run(fmt.Sprintf("%s, round %d", tt.desc, round), func(t *testing.T) {
				testConcurrentEnd(t, tt.end)
			})
		}
	}
}

func testConcurrentEnd(t *testing.T, end func(*link)) {
	l := newLink(t, params{depth: 32, ord: 4, ird: 4, mulpdu: 300})
	var wg sync.WaitGroup
	counts := make([][2]int, 3) // accepted, completed
	started := make(chan struct{}, 3)
	cqs := make([]*CompletionQueue, 3)
	for p := range 3 {
		// Two regions: a Write that overtakes the answer to a Read would change the data that the
		// Read returns.
		target, _ := l.x.b.register(600, ddp.RemoteWrite)
		source, _ := l.x.b.register(600, ddp.RemoteRead)
		cq := NewCompletionQueue(64)
		cqs[p] = cq
		wg.Go(func() {
			for i := 0; ; i++ {
				wr := WorkRequest{ID: uint64(i), Op: WorkWrite, Data: pattern(i%600, i), Remote: handle(target), CQ: cq}
				if i%3 == 1 {
					wr.Op, wr.Remote = WorkRead, handle(source)
				}
				err := l.ends[0].postWhenRoom(&wr)
				switch {
				case errors.Is(err, ErrCompletionQueueFull):
					if _, err := waitOne(context.Background(), cq, false); err != nil {
						t.Error(err)
					}
					counts[p][1]++
					continue
				case errors.Is(err, ErrClosed):
					return
				case err != nil:
					t.Errorf("PostSend: %v", err)
					return
				}
				if counts[p][0]++; counts[p][0] == 30 {
					started <- struct{}{}
				}
			}
		})
	}
	received, filled := 0, 0
	wg.Go(func() { // receives come and go as well, from the other side's Sends and at the end
		for {
			err := l.x.a.qp.PostRecv(RecvRequest{Buf: make([]byte, 8)})
			if errors.Is(err, ErrClosed) {
				return
			}
			if err == nil {
				received++
				l.ends[1].s.qp.PostSend(&WorkRequest{Op: WorkSend, Data: []byte{1}, Unsignaled: true})
				signal(l.ends[1].wake)
			}
			filled += len(done(l.x.a.recvCQ))
			runtime.Gosched()
		}
	})
	for range 3 {
		<-started
	}
	end(l)
	wg.Wait()
	l.stop()
	// The transmitter has stopped, so nothing refers to any payload, and the requests that it held
	// are flushed.
	l.x.a.qp.Abort(errTest)
	for p, cq := range cqs {
		if got := counts[p][1] + len(done(cq)); got != counts[p][0] {
			t.Errorf("poster %d: %d completions for %d requests", p, got, counts[p][0])
		}
	}
	if got := filled + len(done(l.x.a.recvCQ)); got != received {
		t.Errorf("%d completions for %d receives", got, received)
	}
	if got := regions(l.x.a.domain); got != 0 {
		t.Errorf("%d sinks are still registered", got)
	}
}

// hold keeps a region from being deregistered until release is called, as a copy in progress does.
func hold(t *testing.T, r *ddp.Region) (release func()) {
	t.Helper()
	begun, over := make(chan bool), make(chan struct{})
	var copying sync.WaitGroup
	copying.Go(func() { // the goroutine that holds a Region must release it
		var s ddp.Sender
		s.Start(&ddp.Message{Tagged: true, Len: 1, Source: r, SourceTO: r.TO()})
		begun <- s.Next(100)
		<-over
		s.Release()
	})
	if !<-begun {
		close(over)
		t.Fatal("the Region cannot be held")
	}
	return func() { close(over); copying.Wait() }
}

// No Completion comes before its memory is out of the peer's reach, and the QP is not locked
// meanwhile.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestFlushWaitsForCopies(t *testing.T) {
	x := newPair(t, params{})
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
	x.a.post(WorkRequest{ID: 2, Op: WorkSend})
	x.a.transmit()
	release := hold(t, x.a.qp.sq.at(0).sink)
	var wg sync.WaitGroup
	wg.Go(func() { x.a.qp.Fail(errTest) })
	prototest.Wait(t, "output", x.a.qp.HasOutput)
	if !x.a.qp.NextMessage() || x.a.qp.now() != stateTerminating {
		t.Fatal("no Terminate")
	}
	x.a.qp.Sent(1) // looks for finished requests
	wantDone(t, "while a copy is under way", x.a.sendCQ, "")
	release()
	wg.Wait()
	wantDone(t, "after it", x.a.sendCQ, "1 flushed, 2 success")
}

// If Cancel and the end of the stream happen at the same time, there is one Completion.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestCancelMeetsEnd(t *testing.T) {
	for _, tt := range []struct {
		desc string
		end  func(q *QP)
		want string
	}{
		{"Abort", func(q *QP) { q.Abort(errTest) }, "1 flushed"},
		{"PeerClosed", func(q *QP) { q.PeerClosed(errTest) }, "1 flushed, 2 success"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{depth: 1})
			q := x.a.qp
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
			e := q.sq.at(0) // +checklocksignore: no other goroutine is at work
			release := hold(t, e.sink)
			var wg sync.WaitGroup
			wg.Go(func() { q.Cancel(x.a.sendCQ, 1) })
			prototest.Wait(t, "the request is done", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return e.done })
			wg.Go(func() { tt.end(q) })
			prototest.Wait(t, "the end", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.peerClosed || q.state == stateError })
			release()
			wg.Wait()
			if q.now() == stateRTS {
				x.a.post(WorkRequest{ID: 2, Op: WorkSend}) // in the same place of the ring
				x.a.transmit()
			}
			wantDone(t, "all", x.a.sendCQ, tt.want)
			if x.a.sendCQ.promised() != 0 {
				t.Errorf("%d entries stay reserved", x.a.sendCQ.promised())
			}
		})
	}
}

// The end of the stream and then Cancel, while the peer's answer is being copied: Cancel does not
// report that the Read continues. It does not report that the memory belongs to the caller while an
// octet may still arrive.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestEndMeetsCancel(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		given bool // TCP has not taken the Read Request
		sent  bool
		end   func(q *QP)
	}{
		{"Abort, not given out", false, false, func(q *QP) { q.Abort(errTest) }},
		{"Abort, given out", true, false, func(q *QP) { q.Abort(errTest) }},
		{"Abort, sent", true, true, func(q *QP) { q.Abort(errTest) }},
		{"Fail, not given out", false, false, func(q *QP) { q.Fail(errTest) }},
		{"Fail, given out", true, false, func(q *QP) { q.Fail(errTest) }},
		{"Fail, sent", true, true, func(q *QP) { q.Fail(errTest) }},
		{"PeerClosed, given out", true, false, func(q *QP) { q.PeerClosed(errTest) }},
		{"PeerClosed, sent", true, true, func(q *QP) { q.PeerClosed(errTest) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			q := x.a.qp
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
			if tt.given && !q.NextMessage() {
				t.Fatal("nothing to send")
			}
			if tt.sent {
				q.Sent(1)
			}
			e := q.sq.at(0) // +checklocksignore: no other goroutine is at work
			release := hold(t, e.sink)
			var wg sync.WaitGroup
			wg.Go(func() { tt.end(q) })
			prototest.Wait(t, "the request is done", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return e.done })
			ok := make(chan bool, 1)
			go func() { ok <- q.Cancel(x.a.sendCQ, 1) }()
			select {
			case got := <-ok:
				t.Errorf("Cancel = %t while the answer is being copied", got)
				ok <- got
			case <-time.After(20 * time.Millisecond): // it waits
			}
			release()
			wg.Wait()
			if !<-ok {
				t.Error("Cancel = false for a Read")
			}
			wantDone(t, "all", x.a.sendCQ, "1 flushed")
			q.Sent(1)
			q.Abort(errTest)
			wantDone(t, "after that", x.a.sendCQ, "")
			if x.a.sendCQ.promised() != 0 {
				t.Errorf("%d entries stay reserved", x.a.sendCQ.promised())
			}
		})
	}
}

// The stream ends while a delivered Send with Invalidate waits for copies from the region: its
// receive is flushed with all others, once.
func TestEndDuringInvalidate(t *testing.T) {
	x := newPair(t, params{})
	x.b.recv(1, 8)
	r, _ := x.b.register(8, allAccess)
	release := hold(t, r)
	var wg sync.WaitGroup
	wg.Go(func() {
		x.b.inject(ddp.UntaggedHeader{
			Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(r.STag()), MSN: 1,
		}.AppendTo(nil))
	})
	// Check would not do: it would take the region's lock once more, behind the goroutine that
	// waits for it.
	prototest.Wait(t, "the invalidation", func() bool {
		var e *ddp.AccessError
		return errors.As(x.b.domain.Invalidate(r.STag(), x.b.stream()+1), &e) && e.Code == ddp.CodeInvalidSTag
	})
	x.b.qp.Abort(errTest)
	wantDone(t, "at the end", x.b.recvCQ, "1 flushed")
	release()
	wg.Wait()
	wantDone(t, "afterwards", x.b.recvCQ, "")
}

// Several goroutines wait for the same sink, and the entries of the requests go to other QPs as
// soon as one goroutine continues. No goroutine touches an entry that is no longer its own, which
// the race detector would see.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestEntriesMoveOnToOtherQPs(t *testing.T) {
	const reads = 32
	memory := make([]byte, 8)
	other := newPair(t, params{depth: reads})
	for range 100 {
		x := newPair(t, params{depth: reads})
		for id := range uint64(reads) {
			x.a.post(WorkRequest{ID: id, Op: WorkRead, Data: memory})
		}
		release := hold(t, x.a.qp.sq.at(reads-1).sink)
		var wg sync.WaitGroup
		wg.Go(func() { x.a.qp.Abort(errTest) })
		prototest.Wait(t, "the end", func() bool { return x.a.qp.now() == stateError })
		for range 4 {
			wg.Go(func() { x.a.qp.Cancel(x.a.sendCQ, reads-1) })
		}
		runtime.Gosched()
		release()
		for range reads {
			if err := other.a.qp.PostSend(&WorkRequest{Op: WorkWrite, Unsignaled: true}); err != nil {
				t.Fatal(err)
			}
		}
		wg.Wait()
		other.run()
		if n := len(done(x.a.sendCQ)); n != reads {
			t.Fatalf("%d Completions, want %d", n, reads)
		}
	}
}
