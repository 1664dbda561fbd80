//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// linkOf waits for the link of a queue pair.
func (p *program) linkOf(t *testing.T, q *guest.QP) (l *link) {
	t.Helper()
	x := p.dev.find(q.Num)
	prototest.Wait(t, "the link", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		l = x.link
		return l != nil
	})
	return l
}

// TestWrongFrames: acknowledgements and frames that no peer may send are errors.
func TestWrongFrames(t *testing.T) {
	a, _, qa, _ := pair(t)
	l := a.linkOf(t, qa)
	for _, number := range []uint32{1, window, 1 << 31} {
		if err := l.receiver.handle(frame{kind: frameAck, number: number}, nil); !errors.Is(err, errFrame) {
			t.Errorf("an acknowledgement of frame %d, which was not sent: %v", number, err)
		}
	}
	send := frame{kind: frameSend, flags: flagFirst | flagLast}
	for i := range window {
		if err := l.receiver.handle(send, nil); err != nil {
			t.Fatalf("frame %d that finds no receive: %v", i, err)
		}
	}
	if err := l.receiver.handle(send, nil); !errors.Is(err, errFrame) {
		t.Errorf("one frame too many: %v", err)
	}
}

// TestInvalidateWithoutSend: only a Send invalidates a key. If a peer's device asks for that in
// another frame, the connection ends, and nothing else happens.
func TestInvalidateWithoutSend(t *testing.T) {
	for _, kind := range []frameType{frameWritten, frameProbe} {
		a, b, qa, qb := pair(t)
		l := a.linkOf(t, qa)
		qa.PostRecv(1, a.mr.Part(0, 8))
		if err := b.linkOf(t, qb).post(frame{kind: kind, flags: flagInvalidate, immediate: [4]byte{1, 2, 3, 4}}); err != nil {
			t.Fatal(err)
		}
		<-l.ctx.Done()
		l.q.recvMu.Lock()
		if n := l.receiver.in.consumed; n != 0 { // +checklocksignore: the link's queue pair is locked
			t.Errorf("type %d: %d frames were acted upon", kind, n)
		}
		l.q.recvMu.Unlock()
	}
}

// TestWriteInsideSend: immediate data of a Write cannot come before the end of a Send. If it does,
// the receive that the Send fills fails, and is not lost.
func TestWriteInsideSend(t *testing.T) {
	a, b, qa, qb := pair(t)
	a.linkOf(t, qa)
	for id := range uint64(2) {
		qa.PostRecv(id, a.mr.Part(0, 64))
	}
	if err := b.linkOf(t, qb).post(frame{kind: frameSend, flags: flagFirst}, frame{kind: frameWritten, flags: flagImmediate}); err != nil {
		t.Fatal(err)
	}
	a.want("the receive of the Send", 0, uverbs.RemoteInvalidErr)
	a.want("the other one", 1, uverbs.FlushErr)
}

// TestLostSendGoesOn: over UC, a receive that is posted in the middle of a Send that found none
// gets the next Send.
func TestLostSendGoesOn(t *testing.T) {
	a, _, qa, _ := ucPair(t)
	l := a.linkOf(t, qa)
	take := func(flags frameFlags, payload string) {
		t.Helper()
		if err := l.receiver.handle(frame{kind: frameSend, flags: flags, length: uint32(len(payload))}, []byte(payload)); err != nil {
			t.Fatal(err)
		}
	}
	take(flagFirst, "lost")
	qa.PostRecv(1, a.mr.Part(0, 64))
	take(0, "lost")
	take(flagLast, "lost")
	take(flagFirst, "the next ")
	take(flagLast, "Send")
	if w := a.want("the receive", 1, uverbs.Success); string(a.read(0, int(w.Len))) != "the next Send" {
		t.Errorf("%q", a.read(0, int(w.Len)))
	}
}

// TestFullWindow: nothing goes out while the window is full, however often the send queue is looked
// at, and a Write with immediate data that waits for the window has no number. If each look sent a
// probe, its acknowledgement would lead to the next look, forever.
func TestFullWindow(t *testing.T) {
	for _, op := range []uint32{guest.OpSend, guest.OpWrite, guest.OpWriteImm} {
		t.Run(uverbs.SendOp(op).String(), func(t *testing.T) {
			a, b, qa, qb := pair(t)
			post := func(id uint64, op uint32) {
				t.Helper()
				w := guest.WR{ID: id, Op: op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}
				if err := qa.Post(w); err != nil {
					t.Fatal(err)
				}
			}
			for i := range window {
				post(uint64(i), guest.OpWriteImm) // a Write would wait behind a Send
			}
			post(window, op)
			l := a.linkOf(t, qa)
			outstanding := func() uint32 {
				l.q.mu.Lock()
				defer l.q.mu.Unlock()
				return l.out.sent - l.out.acked
			}
			prototest.Wait(t, "a full window", func() bool { return outstanding() >= window })
			for range 100 {
				l.q.kick()
			}
			if n := outstanding(); n != window {
				t.Errorf("%d frames count and are not acknowledged, of %d that may", n, window)
			}
			for i := range window + 1 {
				qb.PostRecv(uint64(i), b.mr.Part(0, 8))
			}
			for i := range window + 1 {
				a.want("a work request in order", uint64(i), uverbs.Success)
			}
		})
	}
}

// TestPeerThatLeaves: work requests under way do not fail before a NIC would give up.
func TestPeerThatLeaves(t *testing.T) {
	a, b, qa, qb := pair(t)
	a.dev.missMost = time.Hour // so that the last wait is there however late the test looks
	b.linkOf(t, qb)            // a device that leaves before that resets the connection
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	l := a.linkOf(t, qa)
	prototest.Wait(t, "the Send", func() bool { return !l.isIdle() })
	l.q.mu.Lock()
	l.q.life.attrs.Timeout, l.q.life.attrs.Retry = 31, 7
	l.q.mu.Unlock()
	b.ctx.Close()
	prototest.Wait(t, "the beginning of the last wait, or of none", func() bool {
		l.q.mu.Lock()
		defer l.q.mu.Unlock()
		return l.q.agenda.has(alarmMissed) || l.q.link == nil
	})
	if l.isIdle() {
		t.Error("the Send failed at once")
	}
	l.q.mu.Lock()
	if l.q.agenda.has(alarmMissed) {
		l.q.alarmLocked(alarmMissed, 0) // the wait is over
	}
	l.q.mu.Unlock()
	a.want("the Send", 1, uverbs.RetryExceeded)
}

// TestOvertakenAcknowledgement: an acknowledgement in front of what the program sends may be
// overtaken by one that goes out at once, because one goroutine sends and another one receives.
// Then it is out of date, and the connection goes on.
func TestOvertakenAcknowledgement(t *testing.T) {
	a, b, qa, qb := pair(t)
	send := func(id uint64) {
		t.Helper()
		qb.PostRecv(id, b.mr.Part(0, 8))
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("the Send", id, uverbs.Success) // first: if the link has ended, b may wait on
		b.want("the receive", id, uverbs.Success)
	}
	send(1)
	send(2)
	if err := b.linkOf(t, qb).post(frame{kind: frameAck, number: 1}, frame{kind: frameAck, number: 0}); err != nil {
		t.Fatal(err)
	}
	send(3)
	l := a.linkOf(t, qa)
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	if l.out.acked != l.out.sent {
		t.Errorf("frame %d is acknowledged, want %d", l.out.acked, l.out.sent)
	}
}

// TestLateReceive: a Send that found no receive does not fail once it has got one, even if no frame
// has asked for an acknowledgement. The wait for the next Send without a receive begins anew.
func TestLateReceive(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	a.dev.rnrTick *= 10 // a wait of 46 s: no machine stalls that long between two steps
	qa, qb := a.qp(nil), b.qp(nil)
	joinPair(t, a, b, qa, qb)
	la, lb := a.linkOf(t, qa), b.linkOf(t, qb)
	la.q.mu.Lock()
	la.q.life.attrs.RNRRetry = 6
	la.q.mu.Unlock()
	lb.q.mu.Lock()
	lb.q.life.attrs.MinRNRTimer = 0 // 655.36 ms, the longest time
	lb.q.mu.Unlock()
	for id := uint64(1); id <= 2; id++ {
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
	}
	// waitsFor returns the number of the frame that waits for a receive, or false if the link has
	// ended.
	waitsFor := func() (uint32, bool) {
		la.q.mu.Lock()
		defer la.q.mu.Unlock()
		if !la.q.agenda.has(alarmNotReady) {
			return 0, la.out.state != outOver
		}
		return la.out.notReady, la.out.state != outOver
	}
	for id := uint64(1); id <= 2; id++ {
		prototest.Wait(t, "the news that there is no receive", func() bool {
			n, ok := waitsFor()
			return n == uint32(id) || !ok
		})
		if _, ok := waitsFor(); !ok {
			t.Fatal("a Send that was received has failed")
		}
		qb.PostRecv(id, b.mr.Part(0, 8))
		b.want("the receive", id, uverbs.Success)
	}
	prototest.Wait(t, "the end of the wait", func() bool {
		n, ok := waitsFor()
		return n == 0 || !ok
	})
	if _, ok := waitsFor(); !ok {
		t.Error("a Send that was received has failed")
	}
}

// TestLastAcknowledgement: if a program disconnects, the peer's Sends that it has received succeed,
// even if the acknowledgement still waits for an answer of the program, and even if the peer has
// sent more since.
func TestLastAcknowledgement(t *testing.T) {
	for _, sends := range []uint64{1, 2} {
		a, b, qa, qb := pair(t)
		l := b.linkOf(t, qb)
		r := &l.receiver
		r.l.q.recvMu.Lock()
		r.in.due.answers, r.in.due.sent = enoughMost, 2
		l.alarm(alarmDue, time.Hour, false) // it is never set again
		r.l.q.recvMu.Unlock()
		qb.PostRecv(1, b.mr.Part(0, 8))
		for id := range sends {
			if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			if id == 0 {
				b.want("the receive", 1, uverbs.Success)
			}
		}
		if !r.hasWaiting() {
			t.Fatal("the acknowledgement does not wait")
		}
		l.q.fail(l, uverbs.FlushErr, "the test")
		a.want("the Send that was received", 0, uverbs.Success)
		if sends > 1 {
			a.want("the Send that was not", 1, uverbs.RetryExceeded)
		}
	}
}

// hasWaiting reports whether an acknowledgement waits.
func (r *receiver) hasWaiting() bool {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	return r.in.due.waits
}
