//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// lateQueue returns a CQ of a device with the given liberties, and its channel.
func lateQueue(t *testing.T, spec string) (*completionQueue, *testChannel) {
	d := newFaultyDevice(t, spec)
	c, err := d.Open(Memory{Bytes: make([]byte, 1<<20), From: 4096})
	if err != nil {
		t.Fatal(err)
	}
	const n = 255
	size, _ := ring.Size(n, uverbs.CQElementLen)
	ch := &testChannel{came: make(chan struct{}, 1)}
	return &completionQueue{
		ctx: c, ring: ring.New(make([]byte, size), n, uverbs.CQElementLen), channel: &channel{Channel: ch, users: 1}, late: d.newLateCQ(),
	}, ch
}

// polled takes the completions that the program sees.
func (q *completionQueue) polled() (all []uverbs.WC) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := make([]byte, q.ring.EntryLen())
	for q.ring.Take(b) {
		w, err := uverbs.ParseWC(b)
		if err != nil {
			panic(err)
		}
		all = append(all, w)
	}
	return all
}

// TestLateCompletions: completions come late, those of each queue of work requests in their order,
// and others overtake them. In the end all are there.
func TestLateCompletions(t *testing.T) {
	for seed := range 20 {
		synctest.Test(t, func(t *testing.T) {
			q, _ := lateQueue(t, fmt.Sprintf("legal=completions,seed=%d", seed))
			defer q.close()
			const each = 30
			for id := range uint64(each) {
				for qpn := range uint32(2) {
					q.complete(&uverbs.WC{ID: id, Op: uverbs.WCRecv, QPN: qpn}, false)
					q.complete(&uverbs.WC{ID: id, Op: uverbs.WCOpOf(uverbs.OpSend), QPN: qpn}, false)
				}
			}
			var got [4]uint64
			inOrder, most, total := true, 0, 0
			for start := time.Now(); total < 4*each; {
				all := q.polled()
				most = max(most, len(all))
				for _, w := range all {
					s := int(w.QPN) << 1
					if w.Op >= uverbs.WCRecv {
						s |= 1
					}
					if w.ID != got[s] {
						t.Fatalf("seed %d: completion %d of queue %d comes in place of %d", seed, w.ID, s, got[s])
					}
					got[s]++
					inOrder = inOrder && got[s] >= uint64(total/4)
					total++
				}
				if time.Since(start) > 20*time.Millisecond {
					t.Fatalf("seed %d: after a while %d of %d are there", seed, total, 4*each)
				}
				time.Sleep(10 * time.Microsecond)
			}
			if inOrder || most > each {
				t.Errorf("seed %d: in the order of all: %t, at once: %d", seed, inOrder, most)
			}
		})
	}
}

// TestHeldCompletions: what is held back is bounded. As soon as it fills the ring together with
// what the program has not polled, all are given to the program.
func TestHeldCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := lateQueue(t, "legal=completions")
		defer q.close()
		total := 0
		for id := range uint64(5000) {
			q.complete(&uverbs.WC{ID: id, Op: uverbs.WCRecv}, false)
			q.mu.Lock()
			held, n, room := q.late.held.Len(), int(q.ring.Len()), int(q.ring.Cap()) // +checklocksignore: locked
			q.mu.Unlock()
			if held+n > room {
				t.Fatalf("%d completions are held back, and %d are in a ring of %d", held, n, room)
			}
			if n > 200 {
				total += len(q.polled())
			}
		}
		if q.release(); total+len(q.polled()) != 5000 {
			t.Error("completions are lost")
		}
	})
}

// TestRelease: where something tells the program that completions are there, they are.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := lateQueue(t, "legal=completions")
		defer q.close()
		for id := range uint64(50) {
			q.complete(&uverbs.WC{ID: id, Op: uverbs.WCRecv}, false)
		}
		q.release()
		if n := len(q.polled()); n != 50 {
			t.Errorf("%d completions are there, want 50", n)
		}
	})
}

// waiting returns how many events the program has not read.
func (c *testChannel) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.events)
}

// TestLateEvents: an event comes late, after its completion. A queue that is destroyed meanwhile
// sends none.
func TestLateEvents(t *testing.T) {
	for _, destroyed := range []bool{false, true} {
		late := 0
		for seed := range 20 {
			synctest.Test(t, func(t *testing.T) {
				q, ch := lateQueue(t, fmt.Sprintf("legal=events,seed=%d", seed))
				t.Cleanup(q.close)
				q.arm(anyNext, 0, nil)
				q.complete(&uverbs.WC{Op: uverbs.WCRecv}, false)
				if len(q.polled()) != 1 {
					t.Fatal("the completion is not there")
				}
				if ch.waiting() == 1 {
					return
				}
				late++
				if destroyed {
					q.close()
				}
				time.Sleep(5 * time.Millisecond)
				synctest.Wait()
				q.mu.Lock()
				defer q.mu.Unlock()
				if n := ch.waiting(); (n == 1) == destroyed || int(q.events) != n {
					t.Errorf("destroyed: %t: %d events, and %d are counted", destroyed, n, q.events)
				}
			})
		}
		if late == 0 {
			t.Error("no event is late")
		}
	}
}

// TestLegalTraffic: with all liberties, each message arrives with what was sent, a Read has what a
// Write in front of it has written, an atomic what an atomic has, and what a message tells of is
// there when it has come.
func TestLegalTraffic(t *testing.T) {
	for seed := range 5 {
		spec := fmt.Sprintf("legal,legal=-sizes,seed=%d", seed) // the queue pairs have much inline data
		a, b, qa, qb := faultyPair(t, spec, spec)
		for round := range 20 {
			n := 1 + round*317
			want := a.fill(0, n, byte(round))
			qb.PostRecv(1, b.mr.Part(1<<20, n))
			all := []guest.WR{
				{ID: 1, Op: guest.OpWrite, List: []guest.SGE{a.mr.Part(0, n)}, Remote: b.mr.Addr, Key: b.mr.Key},
				{ID: 2, Op: guest.OpRead, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(2<<20, n)}, Remote: b.mr.Addr, Key: b.mr.Key},
				{ID: 3, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, n)}},
			}
			if err := qa.Post(all...); err != nil {
				t.Fatal(err)
			}
			b.want("the receive", 1, uverbs.Success)
			if !bytes.Equal(b.read(0, n), want) || !bytes.Equal(b.read(1<<20, n), want) {
				t.Fatalf("seed %d, round %d: the Write or the Send is not there when the Send has arrived", seed, round)
			}
			a.want("the Read", 2, uverbs.Success)
			if !bytes.Equal(a.read(2<<20, n), want) {
				t.Fatalf("seed %d, round %d: the Read has other bytes than the Write", seed, round)
			}
			a.want("the Send", 3, uverbs.Success)
		}
	}
}

// TestLegalWrite: when a Write completes, its bytes are there, and when the peer has destroyed its
// queue pair, or deregistered the memory, none come any more.
func TestLegalWrite(t *testing.T) {
	a, b, qa, qb := faultyPair(t, noFault, "legal=bytes")
	for round := range 50 {
		want := a.fill(0, 4096, byte(round))
		if err := qa.Post(guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 4096)}, Remote: b.mr.Addr, Key: b.mr.Key}); err != nil {
			t.Fatal(err)
		}
		a.want("the Write", 1, uverbs.Success)
		if !bytes.Equal(b.read(0, 4096), want) {
			t.Fatalf("round %d: the Write is complete, and its bytes are not there", round)
		}
	}
	l := b.linkOf(t, qb)
	x := l.q.pd.placing
	if err := x.write(a.process(t), make([]byte, 4096), b.mr.Addr); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Destroy(uint32(uverbs.DestroyQP), qb.Handle); err != nil {
		t.Fatal(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waits) > 0 || !bytes.Equal(b.read(0, 4096), make([]byte, 4096)) {
		t.Error("the queue pair is destroyed, and bytes that have come before are not in place")
	}
}

// TestOverlappingWrites: of two Writes to the same bytes, the second is what stays.
func TestOverlappingWrites(t *testing.T) {
	p := newProgram(t, newFaultyDevice(t, "legal=bytes"))
	x := p.ctx.pds[p.pd].placing // +checklocksignore: nobody else uses the context
	for i := range byte(100) {
		if err := x.write(p.process(t), bytes.Repeat([]byte{i}, 100), p.mr.Addr); err != nil {
			t.Fatal(err)
		}
	}
	x.now()
	if got := p.read(0, 100); !bytes.Equal(got, bytes.Repeat([]byte{99}, 100)) {
		t.Errorf("the bytes are %v", got)
	}
}

// TestLateBytes: the timer places what nothing else does.
func TestLateBytes(t *testing.T) {
	p := newProgram(t, newFaultyDevice(t, "legal=bytes"))
	x := p.ctx.pds[p.pd].placing // +checklocksignore: nobody else uses the context
	want := bytes.Repeat([]byte{7}, 100)
	if err := x.write(p.process(t), want, p.mr.Addr); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the bytes", func() bool { return bytes.Equal(p.read(0, 100), want) })
}

// process returns the memory of p.
func (p *program) process(t *testing.T) Process {
	m, err := p.Process()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLegalGIDs: each order of the GIDs comes.
func TestLegalGIDs(t *testing.T) {
	addresses := []netip.Addr{localhost, netip.MustParseAddr("127.0.0.2")}
	orders := make(map[string]bool)
	for seed := range 20 {
		p, err := fault.Parse([]string{fmt.Sprintf("legal=gids,seed=%d", seed)})
		if err != nil {
			t.Fatal(err)
		}
		d, err := New(Config{Addresses: addresses, Faults: fault.New(p, slog.New(slog.DiscardHandler))})
		if err != nil {
			t.Fatal(err)
		}
		orders[fmt.Sprint(d.Addresses())] = true
		d.Close()
	}
	if len(orders) != 2 || !slices.Equal(addresses, []netip.Addr{localhost, netip.MustParseAddr("127.0.0.2")}) {
		t.Errorf("the orders %v, and the caller has %v", orders, addresses)
	}
}

// TestLegalNotReady: with rnr_retry 0 a Send that finds no receive fails at once, whatever the
// peer's timer is. With others, it is repeated after the timer.
func TestLegalNotReady(t *testing.T) {
	a, b := newProgram(t, newFaultyDevice(t, "legal=rnr")), newProgram(t, newFaultyDevice(t, "legal=rnr"))
	for _, retries := range []uint8{0, 7} {
		qa, qb := a.qp(nil), b.qp(nil)
		joinPair(t, a, b, qa, qb)
		la, lb := a.linkOf(t, qa), b.linkOf(t, qb)
		la.q.mu.Lock()
		la.q.life.attrs.RNRRetry = retries
		la.q.mu.Unlock()
		lb.q.mu.Lock()
		lb.q.life.attrs.MinRNRTimer = 0 // 655 ms
		lb.q.mu.Unlock()
		if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		if retries == 0 {
			a.want("the Send", 1, uverbs.RNRRetryExceeded)
			continue
		}
		prototest.Wait(t, "the Send waits", func() bool {
			lb.q.recvMu.Lock()
			defer lb.q.recvMu.Unlock()
			return len(lb.receiver.in.held) > 0 && lb.receiver.wait.next == repeatMost && lb.receiver.late == nil // +checklocksignore: the link's queue pair is locked
		})
		qb.PostRecv(1, b.mr.Part(0, 8))
		b.want("the receive", 1, uverbs.Success)
		a.want("the Send", 1, uverbs.Success)
	}
}

// TestLegalLastReceive: when the event says that a queue pair uses its shared receives no more, all
// completions are there.
func TestLegalLastReceive(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newFaultyDevice(t, "legal=completions"))
	srq, err := b.SRQ(b.pd, 60, 99)
	if err != nil {
		t.Fatal(err)
	}
	qa, qb := a.qp(nil), b.qp(func(c *guest.QPConfig) { c.SRQ = srq })
	joinPair(t, a, b, qa, qb)
	const n = 50
	for id := range uint64(n) {
		srq.PostRecv(id, b.mr.Part(0, 8))
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
	}
	a.poll(n) // the peer has acknowledged all
	if err := qb.Modify(guest.Err, b.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(n) {
		if w, ok := b.cq.Poll(); !ok || w.ID != id {
			t.Fatalf("completion %d of %d is not there: %v", id, n, w)
		}
	}
}

// TestLegalSizes: a queue has as many places as asked for, and the limits are small.
func TestLegalSizes(t *testing.T) {
	a, b := newProgram(t, newFaultyDevice(t, "legal=sizes")), newProgram(t, newFaultyDevice(t, "legal=sizes"))
	inline := func(c *guest.QPConfig) { c.Inline = 64 }
	qa, qb := a.qp(inline), b.qp(inline)
	joinPair(t, a, b, qa, qb)
	la := a.linkOf(t, qa)
	if got := la.q.caps; got.MaxSendWR != 64 || got.MaxRecvWR != 64 || got.MaxInline != 64 {
		t.Errorf("the queue pair has %+v", got)
	}
	n := 0
	for qb.PostRecv(uint64(n), b.mr.Part(0, 8)) {
		n++
	}
	if n != 64 {
		t.Errorf("there is room for %d receives, want 64", n)
	}
	for id := range uint64(3) {
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("the Send", id, uverbs.Success)
		b.want("the receive", id, uverbs.Success)
	}
	for desc, change := range map[string]func(*guest.QPConfig){
		"SGEs": func(c *guest.QPConfig) { c.SGEs = 7 }, "inline data": func(c *guest.QPConfig) { c.Inline = 300 }, "entries": func(c *guest.QPConfig) { c.Depth = 5000 },
	} {
		c := guest.QPConfig{PD: a.pd, Send: a.cq, Recv: a.cq, Depth: 64, SGEs: 4, Inline: 64}
		change(&c)
		if _, err := a.Context.QP(c); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("too many %s: %v", desc, err)
		}
	}
	cq, err := a.CQ(2, -1, 9)
	if err != nil {
		t.Fatal(err)
	}
	q := a.dev.find(qa.Num).ctx.cqs[cq.Handle] // +checklocksignore: nobody else uses the context
	for range 3 {
		q.complete(&uverbs.WC{Op: uverbs.WCRecv}, false)
	}
	if q.ring.Len() != 2 || !q.overrun { // +checklocksignore: nobody else uses the queue
		t.Error("a queue for 2 completions has taken 3")
	}
}

// TestStrictReads: more Reads than the peer serves fail as from a card, and others do not.
func TestStrictReads(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := sending{depth: 4, strict: strict}
		o := outgoing{kind: linkByAttributes, serves: 2}
		for i := range 3 {
			s.takes(uverbs.SendWR{Op: uverbs.OpRead, Flags: uverbs.Signaled}, nil, uverbs.RC, false)
			if begun := s.begins(&o); begun != (i < 2 || !strict) {
				t.Errorf("strict: %t: Read %d begins: %t", strict, i, begun)
			}
			s.flight.awaits = 1
		}
	}
}
