package driver

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTrustOutlivesLateWaits: a Read that is nearly always quick stays trusted if it is late a few
// times in a row, or now and then. It loses the trust if it is late again and again, and at once
// when a one-sided operation arrives.
func TestTrustOutlivesLateWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		var r role
		r.init(s, nil, new(wait.Cell), nil)
		wait := func(n int, pause time.Duration) {
			for range n {
				time.Sleep(pause)
				r.endWait(r.beginWait())
			}
		}
		want := func(desc string, streak int32, trusted bool) {
			t.Helper()
			if got := r.lastRead().streak.Load(); got != streak || r.isTrusted() != trusted {
				t.Errorf("%s: a streak of %d, trusted %t; want %d and %t", desc, got, r.isTrusted(), streak, trusted)
			}
		}
		wait(trustFirst-1, quick/2)
		want("nearly enough quick waits", trustFirst-1, false)
		wait(1, quick/2)
		want("the first quick waits", trustFirst, true)
		wait(streakCap*trustFirst, quick/2)
		want("many quick waits", streakCap*trustFirst, true)
		wait(1, 2*quick)
		want("one late wait", streakCap*trustFirst-lateWaits, true)
		wait(11, 2*quick)
		want("12 late waits", trustFirst, true)
		wait(2, 2*quick)
		want("14 late waits", trustFirst/2, false)
		wait(1, 2*quick)
		want("15 late waits", trustFirst/4, false)
		wait(trustFirst, quick/2)
		r.bulk.Store(true)
		wait(1, 2*quick)
		want("a late wait for bulk data", (trustFirst+trustFirst/4)/2, false)
		r.bulk.Store(false)
		wait(trustFirst, quick/2)
		for range 100 {
			wait(lateWaits+4, quick/2)
			wait(1, 2*quick)
		}
		if !r.isTrusted() {
			t.Error("a Read is not trusted that is late once in a while")
		}
		r.distrust()
		wait(trustFirst, quick/2)
		r.now.Store(uint32(byRead))
		r.oneSided()
		want("a one-sided operation that a Read receives", trustFirst, true)
		r.now.Store(uint32(byHome))
		r.oneSided()
		want("a one-sided operation", 0, false)
		wait(trustFirst, quick/2)
		want("quick waits again", trustFirst, true)
		r.missed()
		want("bytes have waited for the alarm", trustFirst, false)
		for range 20 {
			r.missed()
		}
		if n := r.lastRead().after.Load(); n != trustMost || streakCap*n < n {
			t.Errorf("the trust of a Read that was wrong often takes %d quick waits, want %d", n, trustMost)
		}
	})
}

// TestTrustInParts: a program that reads long messages in pieces is trusted to be back after a
// piece, though it never is after the last one.
func TestTrustInParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		var r role
		r.init(s, nil, new(wait.Cell), nil)
		read := func(want, n int) {
			r.endWait(r.beginWait())
			r.noteRead(readResult{over: true, n: n}, want)
		}
		for range trustFirst {
			read(3000, 2000)
			time.Sleep(quick / 2)
			read(1000, 1000)
			if time.Sleep(2 * quick); r.isTrusted() {
				t.Fatal("trusted after a whole message")
			}
		}
		if read(3000, 2000); !r.isTrusted() {
			t.Error("not trusted after a piece")
		}
		if r.oneSided(); r.isTrusted() {
			t.Error("trusted after a one-sided operation")
		}
	})
}

// TestAlarmRingsAgain: the alarm calls home each time that the role has been free for alarmTime,
// and not while a Read has the role. A Read that will wait for long stops the alarm meanwhile.
func TestAlarmRingsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		var r role
		r.init(s, nil, new(wait.Cell), nil)
		defer r.end()
		r.lastRead().streak.Store(trustFirst)
		for round := range 4 {
			begin := time.Now()
			r.leave(false)
			r.take()
			if round%2 == 1 {
				r.waited.Store(int64(2 * slowWait))
			}
			r.calm()
			time.Sleep(2 * alarmTime) // it finds the Read, unless it was stopped
			synctest.Wait()
			r.leave(false)
			r.gate.Wait()
			r.comesHome()
			if d := time.Since(begin); d != 3*alarmTime {
				t.Errorf("round %d: the home goroutine was called after %v, want %v", round, d, 3*alarmTime)
			}
			r.waited.Store(0)
		}
	})
}

// TestSparseReads: a trusted Read that has waited for long arms the watch when it leaves, or sets
// the alarm if other connections wait too.
func TestSparseReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		var r role
		r.init(s, nil, new(wait.Cell), nil)
		defer r.end()
		r.patience = &patience{id: waiters.Add(2)}
		r.lastRead().streak.Store(trustFirst)
		for _, tt := range []struct {
			waited time.Duration
			alone  bool
			watch  bool
		}{{sparseWait / 2, true, false}, {2 * sparseWait, false, false}, {2 * sparseWait, true, true}} {
			r.waited.Store(int64(tt.waited))
			lastWaiter.Store(r.patience.id)
			if !tt.alone {
				lastWaiter.Store(r.patience.id - 1)
			}
			r.now.Store(uint32(byRead))
			r.leave(false)
			watch := r.reading().by() == byWatched
			if alarm := r.reading()&alarmSet != 0; watch != tt.watch || alarm == tt.watch {
				t.Errorf("waited %v, alone %v: the watch is armed: %v, want %v", tt.waited, tt.alone, watch, tt.watch)
			}
		}
	})
}

// TestAlarmOfAnEarlierTime: an alarm that was set before a Read came and left again rings when the
// role has been free for alarmTime since then.
func TestAlarmOfAnEarlierTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, _ := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		var r role
		r.init(s, nil, new(wait.Cell), nil)
		defer r.end()
		r.lastRead().streak.Store(2 * trustFirst)
		r.leave(false)
		time.Sleep(alarmTime - slowWait/2)
		r.take()
		r.endWait(r.beginWait())
		begin := time.Now()
		r.leave(false)
		r.gate.Wait()
		if d := time.Since(begin); d != alarmTime {
			t.Errorf("the home goroutine was called %v after the Read had left, want %v", d, alarmTime)
		}
	})
}

// unwatched is a Stream that can't be watched.
type unwatched struct{ toe.Stream }

func (s unwatched) Capabilities() toe.Capabilities {
	c := s.Stream.Capabilities()
	c.Watch = toe.WatchNone
	return c
}
func (unwatched) Watch(*toe.Gate) bool { return false }

// refusing is a Stream whose watch the operating system refuses.
type refusing struct{ toe.Stream }

func (refusing) Watch(*toe.Gate) bool { return false }

// TestNoOperationWaits: after a number of quick messages the program turns to something else, and
// the peer's operation is carried out at once. The time of the bubble goes on only when nothing is
// left to do, so an operation that takes any time has waited for a timer. The exception is the
// alarm, once for a program that has been trusted.
func TestNoOperationWaits(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wrap func(toe.Stream) toe.Stream
	}{
		{"watched", func(s toe.Stream) toe.Stream { return s }},
		{"not watched", func(s toe.Stream) toe.Stream { return unwatched{s} }},
		{"watch refused", func(s toe.Stream) toe.Stream { return refusing{s} }},
	} {
		for _, messages := range []int{0, 1, 3, 4, 5, 16, trustFirst - 8, trustFirst + 8, 3 * trustFirst} {
			t.Run(fmt.Sprintf("%s/%d", tt.desc, messages), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					a, b, end := streamPair(tt.wrap(sa), sb)
					var waited []time.Duration
					for range testmode.Rounds(6, 3) {
						exchange(t, a, b, messages)
						synctest.Wait()
						begin := time.Now()
						// The peer answers a Read of no bytes without its program.
						if _, err := b.Do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}}, nil, nil); err != nil {
							t.Fatal(err)
						}
						if d := time.Since(begin); d > 0 {
							waited = append(waited, d)
						}
						time.Sleep(time.Second) // the program computes
					}
					if want := messages >= trustFirst; len(waited) > 1 || (len(waited) == 1) != want || want && waited[0] > alarmTime {
						t.Errorf("operations waited for %v", waited)
					}
					end(a)
					end(b)
					time.Sleep(time.Minute)
				})
			})
		}
	}
}

// exchange lets b send messages, which a answers.
func exchange(t *testing.T, a, b *Driver, messages int) {
	t.Helper()
	var never wait.Deadline
	answered := make(chan error, 1)
	go func() {
		p := make([]byte, 8)
		for range messages {
			_, err := a.Read(p, &never)
			if err == nil {
				_, err = a.Write(p, nil)
			}
			if err != nil {
				answered <- err
				return
			}
		}
		answered <- nil
	}()
	p := make([]byte, 8)
	for range messages {
		synctest.Wait() // a Read that finds a message does not wait, and the home goroutine would keep the role
		if _, err := b.Write(p, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(p, &never); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
}

// TestNoOperationWaitsBehindAMessage: an operation that has arrived together with a message, behind
// it, does not wait until Reads have taken all of the message.
func TestNoOperationWaitsBehindAMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		long := simtoe.Config{MaxSegment: 64 << 10}
		sa, sb := simtoe.Pair(long, long)
		a, b, end := streamPair(sa, sb)
		exchange(t, a, b, 4)
		synctest.Wait()
		var never wait.Deadline
		read := make(chan error, 1)
		for tries := 0; ; tries++ {
			go func() { // a Read with room for a part of the message
				_, err := a.Read(make([]byte, 10), &never)
				read <- err
			}()
			synctest.Wait()
			if a.role.isReaders() {
				break
			}
			// The home goroutine has not noticed that it has served a Read, and will at one of the
			// next.
			if tries == 100 {
				t.Fatal("the Read does not receive for itself")
			}
			if _, err := b.Write(make([]byte, 10), nil); err != nil {
				t.Fatal(err)
			}
			if err := <-read; err != nil {
				t.Fatal(err)
			}
		}
		if !b.tx.token.tryTake() { // so that both go out in one write, and one read brings both
			t.Fatal("the transmit token is taken")
		}
		if _, err := b.Write(make([]byte, 1000), nil); err != nil {
			t.Fatal(err)
		}
		b.tx.postStream()
		cq := rdmap.NewCompletionQueue(1)
		if err := b.qp.PostSend(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}, CQ: cq}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		b.letGo()
		select {
		case <-cq.Ready():
		case <-time.After(time.Minute):
		}
		if d := time.Since(begin); d > 0 {
			t.Errorf("the operation has waited for %v", d)
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
		end(a)
		end(b)
		time.Sleep(time.Minute)
	})
}

// TestNothingStaysAfterClose: when both ends are closed, all that belongs to the connection ends at
// once, wherever the receive role is.
func TestNothingStaysAfterClose(t *testing.T) {
	for _, messages := range []int{0, 1, 5, trustFirst + 8} {
		for _, reads := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", messages, reads), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					a, b, end := streamPair(sa, sb)
					exchange(t, a, b, messages)
					synctest.Wait()
					if reads {
						var never wait.Deadline
						go a.Read(make([]byte, 1), &never)
						synctest.Wait()
					}
					begin := time.Now()
					go end(a)
					end(b)
					synctest.Wait()
					for _, d := range []*Driver{a, b} {
						if s := d.end.life.state(); s != lifeClosed {
							t.Errorf("the connection is %v", s)
						}
					}
					if d := time.Since(begin); d > 0 {
						t.Errorf("the end took %v", d)
					}
				})
			})
		}
	}
}

// TestTrustInBatches: a batch leaves the trust in Reads unchanged, unless the peer must answer it.
func TestTrustInBatches(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		mayPost := func(*rdmap.WorkRequest) error { return nil }
		post := func(op rdmap.WorkOp) {
			a.role.lastRead().streak.Store(trustFirst)
			a.role.now.Store(uint32(byNobody)) // as after a Read that is trusted
			a.PostBatch([]rdmap.WorkRequest{{Op: op}}, mayPost)
		}
		synctest.Wait()
		if post(rdmap.WorkWrite); !a.role.isTrusted() {
			t.Error("no Read is trusted after a batch without an answer")
		}
		if post(rdmap.WorkRead); a.role.isTrusted() {
			t.Error("a Read is trusted after a batch with an answer")
		}
		a.role.now.Store(uint32(byHome))
		end(a)
		end(b)
	})
}
