package driver

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestPollChoice: calls wait in the way that costs less, and soon notice when that changes. A wait
// in which the scheduler has stopped the program does not change the choice.
func TestPollChoice(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		desc          string
		slept, polled time.Duration
		rare          time.Duration // every 100th wait of either way takes this
		least, most   int           // polls of 1,000 waits
	}{
		{"polling is quicker", 90 * us, 14 * us, 0, 950, 1000},
		{"sleeping is quicker", 30 * us, 110 * us, 0, 0, 40},
		{"polling saves less than an eighth", 16 * us, 15 * us, 0, 0, 40},
		{"polling is quicker on a busy machine", 90 * us, 14 * us, 20_000 * us, 900, 1000},
		{"sleeping is quicker on a busy machine", 30 * us, 110 * us, 20_000 * us, 0, 100},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var p pollChoice
			waits := func(n int, slept, polled time.Duration) (polls int) {
				for i := range n {
					w := p.next()
					took := slept
					if w == polling {
						took = polled
						polls++
					}
					if tt.rare > 0 && i%100 == 50 {
						took = tt.rare
					}
					p.learn(w, took)
				}
				return polls
			}
			waits(1000, tt.slept, tt.polled)
			if n := waits(1000, tt.slept, tt.polled); n < tt.least || n > tt.most {
				t.Errorf("%d of 1,000 waits polled, want %d to %d", n, tt.least, tt.most)
			}
			waits(2*spanMost, 50*us, 10*us)
			if n := waits(1000, 50*us, 10*us); n < 900 {
				t.Errorf("%d of 1,000 waits polled after polling had become the quicker way", n)
			}
			waits(2*spanMost, 10*us, 50*us)
			if n := waits(1000, 10*us, 50*us); n > 100 {
				t.Errorf("%d of 1,000 waits polled after sleeping had become the quicker way", n)
			}
		})
	}
}

// TestPollChoiceTrial: the first waits of a trial do not count, because they still find the
// connection as the other way has left it.
func TestPollChoiceTrial(t *testing.T) {
	var p pollChoice
	for p.next() == sleeping {
		p.learn(sleeping, 100)
	}
	for i := range trialWaits {
		if i > 0 {
			p.next()
		}
		took := time.Duration(10)
		if i < trialSkip {
			took = 1000
		}
		p.learn(polling, took)
	}
	if got := p.mean[polling]; got != 10 {
		t.Errorf("mean of the trial %v, want 10ns", got)
	}
	if p.next() != polling || p.best != polling {
		t.Error("the trial has not shown that polling is the better way")
	}
	if p.learn(polling, time.Second); p.mean[polling] > 20 {
		t.Errorf("mean %v after one long wait", p.mean[polling])
	}
}

// A quickPair is a connection over a simulated network that is so quick that polling pays. Each end
// has registered a Region.
type quickPair struct {
	a, b     *Driver
	ofB, ofA *ddp.Region
	never    wait.Deadline
	end      func(*Driver) error
}

// newQuickPair makes one. stream wraps the Stream of the end a.
func newQuickPair(t *testing.T, stream func(toe.Stream) toe.Stream) *quickPair {
	t.Helper()
	const delay = 5 * time.Microsecond
	sa, sb := simtoe.Pair(simtoe.Config{Delay: delay}, simtoe.Config{Delay: delay})
	p := &quickPair{}
	p.a, p.b, p.end = streamPair(stream(sa), sb)
	register := func(d *Driver) *ddp.Region {
		r, err := d.rx.domain.Register(make([]byte, 64), ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic, 1)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	p.ofA, p.ofB = register(p.a), register(p.b)
	return p
}

func (p *quickPair) finish() {
	p.end(p.a)
	p.end(p.b)
}

// readB reads 8 bytes of b's Region.
func (p *quickPair) readB(limit *wait.Deadline, canceled <-chan struct{}) error {
	return readOf(p.a, p.ofB, limit, canceled)
}

func readOf(d *Driver, r *ddp.Region, limit *wait.Deadline, canceled <-chan struct{}) error {
	_, err := d.Do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 8), Remote: rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: 8}}, limit, canceled)
	return err
}

// choose makes the next calls of a wait in this way.
func (p *quickPair) choose(w way) {
	p.a.calls.choice = pollChoice{best: w, now: w, left: 1 << 30, span: spanFirst}
}

func whole(s toe.Stream) toe.Stream { return s }

// TestCallsPoll: one call after the other polls for its answer, without home. A call that sleeps
// leaves the receiving to home.
func TestCallsPoll(t *testing.T) {
	for _, tt := range []struct {
		desc   string
		way    way
		stream func(toe.Stream) toe.Stream
		polls  bool
	}{
		{"polling", polling, whole, true},
		{"sleeping", sleeping, whole, false},
		{"a stream that cannot be polled", polling, func(s toe.Stream) toe.Stream { return struct{ toe.Stream }{s} }, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			awaitImpatience(t)
			bubble(t, func(t *testing.T) {
				p := newQuickPair(t, tt.stream)
				p.choose(tt.way)
				const calls = 100
				polled := 0
				for range calls {
					p.a.role.kind.Store(filledRead)
					if err := p.readB(&p.never, nil); err != nil {
						t.Fatal(err)
					}
					if p.a.role.kind.Load() == blockedCall && p.a.role.isVacant() {
						polled++
					}
				}
				if tt.polls && polled < calls-10 || !tt.polls && polled > 0 {
					t.Errorf("%d of %d calls received their answer themselves", polled, calls)
				}
				p.finish()
				time.Sleep(time.Minute)
			})
		})
	}
}

// TestCompletionQueueWaitPolls: so does a goroutine that waits in the completion queue of what the
// connection has posted. The queue does not keep a connection that has ended.
func TestCompletionQueueWaitPolls(t *testing.T) {
	awaitImpatience(t)
	bubble(t, func(t *testing.T) {
		p := newQuickPair(t, whole)
		p.choose(polling)
		var bells Doorbells
		cq := rdmap.NewCompletionQueue(4)
		p.a.later.sendBell.queue = &bells
		const calls = 100
		polled := 0
		for range calls {
			wr := rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 8), Remote: rdmap.Handle{STag: p.ofB.STag(), TO: p.ofB.TO(), Len: 8}}
			wr.CQ = cq
			if err := p.a.Post(&wr); err != nil {
				t.Fatal(err)
			}
			bells.asks(p.a) // as Post does for a wr without a queue of its own
			p.a.role.kind.Store(blockedCall)
			var done [1]rdmap.Completion
			if n, err := bells.Wait(t.Context(), cq, done[:], false); n != 1 || err != nil || done[0].Status != rdmap.StatusOK {
				t.Fatalf("Wait = %d, %v: %v", n, err, done[0])
			}
			if p.a.role.isVacant() {
				polled++
			}
		}
		if polled < calls/2 {
			t.Errorf("%d of %d waits received the Completion themselves", polled, calls)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := bells.Wait(canceled, cq, make([]rdmap.Completion, 1), false); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("Wait = %d, %v, want 0, %v", n, err, context.Canceled)
		}
		p.finish()
		time.Sleep(time.Minute)
		if bells.asker.Load() != nil {
			t.Error("the queue keeps the connection")
		}
	})
}

// TestCallThatPollsEnds: a call that polls ends when its deadline passes or it is canceled, though
// the peer does not answer. Meanwhile home serves the peer.
func TestCallThatPollsEnds(t *testing.T) {
	awaitImpatience(t)
	bubble(t, func(t *testing.T) {
		p := newQuickPair(t, whole)
		for range 4 {
			p.choose(polling)
			if err := p.readB(&p.never, nil); err != nil {
				t.Fatal(err)
			}
		}
		// The peer's way out stops, so nothing answers.
		p.b.tx.token.tryTake()
		p.b.tx.token.handOver()
		var limit wait.Deadline
		time.AfterFunc(alarmTime/2, func() {
			if p.a.role.isVacant() {
				t.Error("nobody receives after the call has polled")
			}
		})
		limit.Set(time.Now().Add(time.Second))
		if err := p.readB(&limit, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a call after its deadline: %v", err)
		}
		canceled := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(canceled) })
		if err := p.readB(&p.never, canceled); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a call that was canceled: %v", err)
		}
		p.b.tx.token.takeOver()
		p.b.tx.token.free()
		p.b.transmit()
		if err := p.readB(&p.never, nil); err != nil {
			t.Error(err)
		}
		p.finish()
		time.Sleep(time.Minute)
	})
}

// TestCallsAmongOthers: calls that poll, Reads, messages and the peer's own calls, from several
// goroutines at random times: nothing waits for longer than the alarm, and everything arrives.
func TestCallsAmongOthers(t *testing.T) {
	seeds := 20
	if testmode.Full {
		seeds = 400
	}
	for seed := range seeds {
		awaitImpatience(t)
		bubble(t, func(t *testing.T) {
			p := newQuickPair(t, whole)
			p.choose(polling)
			r := rand.New(rand.NewPCG(uint64(seed), 7))
			pauses := func(n int) (all []time.Duration) {
				for range n {
					all = append(all, []time.Duration{0, 0, 3 * time.Microsecond, 80 * time.Microsecond, time.Millisecond, 20 * time.Millisecond}[r.IntN(6)])
				}
				return all
			}
			const each = 100
			failed := make(chan error, 8)
			var slow atomic.Int64
			run := func(f func() error) {
				times := pauses(each)
				go func() {
					for _, pause := range times {
						time.Sleep(pause)
						began := time.Now()
						if err := f(); err != nil {
							failed <- err
							return
						}
						for took, old := int64(time.Since(began)), slow.Load(); took > old && !slow.CompareAndSwap(old, took); old = slow.Load() {
						}
					}
					failed <- nil
				}()
			}
			run(func() error { return p.readB(&p.never, nil) })
			if seed%2 == 1 {
				run(func() error { return p.readB(&p.never, nil) })
			}
			run(func() error { return readOf(p.b, p.ofA, &p.never, nil) })
			run(func() error { _, err := p.b.Write(make([]byte, 8), nil); return err })
			go func() {
				b := make([]byte, 8*each)
				n := 0
				for n < len(b) {
					k, err := p.a.Read(b[n:], &p.never)
					if err != nil {
						failed <- err
						return
					}
					n += k
				}
				failed <- nil
			}()
			for range 4 + seed%2 {
				if err := <-failed; err != nil {
					t.Fatal(err)
				}
			}
			if took, limit := time.Duration(slow.Load()), 2*alarmTime+time.Millisecond; took > limit {
				t.Errorf("seed %d: an operation took %v, want at most %v", seed, took, limit)
			}
			synctest.Wait()
			p.finish()
			time.Sleep(time.Minute)
		})
	}
}

// A drip is a script that can be polled, and that brings one byte at a time.
type drip struct {
	script
	polls int
}

func (s *drip) PollSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	s.polls++
	return s.give(l.Lend()[:1])
}

// TestCallGivesUpRole: a call leaves the role to home after a few segments that do not bring its
// answer, because the peer may go on like that for ever.
func TestCallGivesUpRole(t *testing.T) {
	awaitImpatience(t)
	s := &drip{}
	s.in = append([]byte{0x40, 0}, make([]byte, 1000)...) // the beginning of a long FPDU
	d, _, _ := idleDriver(&s.script)
	d.rx.poller = s
	d.role.now.Store(uint32(byNobody))
	if d.pollAnswer(rdmap.NewCompletionQueue(1)) {
		t.Error("there is an answer")
	}
	if s.polls != callSegments {
		t.Errorf("the call received %d segments, want %d", s.polls, callSegments)
	}
	if !d.role.isVacant() || !d.role.asked.Load() {
		t.Error("the call has not left the role")
	}
}
