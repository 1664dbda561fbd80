package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// firstOfBurst is the number of Work Requests of a program's first burst that Post sends at once.
const firstOfBurst = 4

// A burst is a pair of connections with memory of one end that the other writes to.
type burst struct {
	c, peer *extsock.Conn
	remote  rdmap.Handle
	before  uint64 // Writes that have arrived during startup: the RTR
}

func newBurst(t *testing.T) *burst {
	t.Helper()
	return newBurstOf(t, inMessages)
}

// newBurstOf is newBurst with i as the side that posts.
func newBurstOf(t *testing.T, i side) *burst {
	t.Helper()
	ci, cr := simPair(t, simtoe.Config{}, i, inMessages)
	r := register(t, cr, make([]byte, 64), ddp.RemoteWrite|ddp.RemoteRead)
	synctest.Wait()
	return &burst{ci, cr, r.Handle(), cr.Stats().Received.Writes}
}

// post posts n Writes without a pause: in a bubble no time passes.
func (b *burst) post(t *testing.T, n int) {
	t.Helper()
	post(t, b.c, n, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: b.remote})
}

// want checks how many Writes have arrived.
func (b *burst) want(t *testing.T, when string, n int) {
	t.Helper()
	synctest.Wait()
	if got := b.peer.Stats().Received.Writes - b.before; got != uint64(n) {
		t.Errorf("%s: %d Writes have arrived, want %d", when, got, n)
	}
}

// A Work Request that Post has put off goes out at each of these occasions.
func TestPostPutsOffABurst(t *testing.T) {
	const posted = 10
	took := func(n int) error {
		if n == 0 {
			return errors.New("nothing taken")
		}
		return nil
	}
	var done [posted + 1]rdmap.Completion
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		desc string
		now  func(c *extsock.Conn) error
	}{
		{"Poll finds the queue empty", func(c *extsock.Conn) error {
			if n := c.SendCQ().Poll(done[:]); n != firstOfBurst {
				return errors.New("the Writes at once have no Completions")
			}
			return took(c.SendCQ().Poll(done[:])) // simtoe takes all at once
		}},
		{"Poll of the receive queue", func(c *extsock.Conn) error { c.RecvCQ().Poll(done[:]); return nil }},
		{"Ready", func(c *extsock.Conn) error { c.SendCQ().Ready(); return nil }},
		{"Wait", func(c *extsock.Conn) error {
			for range posted {
				if _, err := c.SendCQ().Wait(t.Context()); err != nil {
					return err
				}
			}
			return nil
		}},
		{"WaitBatch", func(c *extsock.Conn) error {
			for taken := 0; taken < posted; {
				n, err := c.SendCQ().WaitBatch(t.Context(), done[:3], false)
				if err != nil {
					return err
				}
				taken += n
			}
			return nil
		}},
		{"WaitBatch, solicited", func(c *extsock.Conn) error {
			if _, err := c.SendCQ().WaitBatch(canceled, done[:1], true); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}},
		{"Read", func(c *extsock.Conn) error {
			c.SetReadDeadline(time.Now().Add(1)) // less than the timer
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			return nil
		}},
		{"Write", func(c *extsock.Conn) error { _, err := c.Write([]byte{1}); return err }},
		{"a pause", func(c *extsock.Conn) error { time.Sleep(time.Millisecond); return nil }},
		{"Close", (*extsock.Conn).Close},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBurst(t)
				b.post(t, posted)
				b.want(t, "before", firstOfBurst)
				if err := tt.now(b.c); err != nil {
					t.Error(err)
				}
				b.want(t, "after", posted)
			})
		})
	}
	t.Run("PostBatch", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBurst(t)
			b.post(t, posted)
			if _, err := b.c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: b.remote}}); err != nil {
				t.Fatal(err)
			}
			b.want(t, "after", posted+1)
		})
	})
	t.Run("a full batch", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBurst(t)
			b.post(t, firstOfBurst+63)
			b.want(t, "before", firstOfBurst)
			b.post(t, 1)
			b.want(t, "after", firstOfBurst+64)
		})
	})
	t.Run("much payload", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b := newBurst(t)
			b.post(t, 8)
			b.want(t, "before", firstOfBurst)
			r := register(t, b.peer, make([]byte, 1<<20), ddp.RemoteWrite)
			post(t, b.c, 1, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 1<<20), Remote: r.Handle()})
			b.want(t, "after", 9)
		})
	})
}

// TestQueueThatIsNotEmpty checks that a call that finds Completions sends nothing that Post has put
// off, because the program may be about to post more. A program that calls Ready, or waits for a
// solicited Completion, is about to wait, whatever the queue holds.
func TestQueueThatIsNotEmpty(t *testing.T) {
	var one [1]rdmap.Completion
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		desc string
		call func(q *extsock.CompletionQueue)
		want int
	}{
		{"Poll", func(q *extsock.CompletionQueue) { q.Poll(one[:]) }, firstOfBurst},
		{"Wait", func(q *extsock.CompletionQueue) { q.Wait(canceled) }, firstOfBurst},
		{"WaitBatch", func(q *extsock.CompletionQueue) { q.WaitBatch(canceled, one[:], false) }, firstOfBurst},
		{"Ready", func(q *extsock.CompletionQueue) { q.Ready() }, 10},
		{"WaitBatch, solicited", func(q *extsock.CompletionQueue) { q.WaitBatch(canceled, one[:], true) }, 10},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t)
				b.post(t, 10)
				tt.call(b.c.SendCQ())
				b.want(t, "after", tt.want)
			})
		})
	}
}

// TestSharedQueueSendsForAll checks that a consumer of a queue that several connections share sends
// what all of them have put off, and nothing of another connection.
func TestSharedQueueSendsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cq := extsock.NewCompletionQueue(200)
		shares := inMessages
		shares.cfg.SendCQ = cq
		var bursts [3]*burst
		for i, s := range []side{shares, shares, inMessages} {
			bursts[i] = newBurstOf(t, s)
			bursts[i].post(t, 10)
			bursts[i].want(t, "before", firstOfBurst)
		}
		var done [2 * 10]rdmap.Completion
		if n := cq.Poll(done[:]); n != 2*firstOfBurst {
			t.Fatalf("%d Completions of the Writes at once, want %d", n, 2*firstOfBurst)
		}
		if n := cq.Poll(done[:]); n != 2*(10-firstOfBurst) { // simtoe takes all at once
			t.Errorf("%d Completions of the others, want %d", n, 2*(10-firstOfBurst))
		}
		bursts[0].want(t, "the first", 10)
		bursts[1].want(t, "the second", 10)
		bursts[2].want(t, "with a queue of its own", firstOfBurst)
	})
}

// If a program posts one Work Request at a time, none is put off. After a long burst, the first
// Work Request of the next one is put off. If no other follows it, the one after it is not.
func TestPostDoesNotPutOffOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBurst(t)
		n := 0
		alone := func(now bool) {
			t.Helper()
			time.Sleep(time.Millisecond)
			b.post(t, 1)
			if now {
				n++
			}
			b.want(t, "at once", n)
			if !now {
				n++
			}
		}
		for range 20 {
			alone(true)
		}
		b.post(t, 10)
		n += 10
		alone(false)
		alone(true)
		alone(true)
	})
}

// The timer sends what is put off every time, not only the first time, whether or not the program
// has posted something just before.
func TestPutOffIsCaughtEachTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBurst(t)
		n := 0
		for round := range 5 {
			b.post(t, 10)
			if round%2 == 1 {
				time.Sleep(150 * time.Microsecond) // less than the timer, which then waits longer
				b.post(t, 10)
				n += 10
			}
			n += 10
			time.Sleep(400 * time.Microsecond)
			b.want(t, fmt.Sprintf("round %d", round), n)
			time.Sleep(time.Second)
		}
	})
}

// Work Requests that Post has put off do not fill the queue: Post sends them first.
func TestPostPutsOffNoMoreThanTheQueueHolds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		i := inMessages
		i.cfg.SendDepth = 16
		ci, cr := simPair(t, simtoe.Config{}, i, inMessages)
		r := register(t, cr, make([]byte, 64), ddp.RemoteWrite)
		synctest.Wait()
		before := cr.Stats().Received.Writes
		post(t, ci, 40, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: r.Handle(), Unsignaled: true})
		time.Sleep(time.Millisecond)
		if n := cr.Stats().Received.Writes - before; n != 40 {
			t.Errorf("%d Writes have arrived, want 40", n)
		}
	})
}

// Many goroutines post on connections that share a completion queue, and one takes the Completions:
// each Work Request completes, although some goroutines pause and none waits for its own Work
// Requests.
func TestPutOffOfManyPosters(t *testing.T) {
	const conns, posters, each = 4, 3, 500
	cq := extsock.NewCompletionQueue(conns * posters * each)
	var all sync.WaitGroup
	for range conns {
		i := inMessages
		i.cfg.SendCQ, i.cfg.SendDepth = cq, posters*each
		ci, cr := tcpPair(t, i, inMessages)
		r := register(t, cr, make([]byte, 64), ddp.RemoteWrite)
		for p := range posters {
			all.Go(func() {
				for n := range each {
					err := ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: r.Handle()})
					if err != nil {
						t.Errorf("Post: %v", err)
						return
					}
					if n%50 == p {
						runtime.Gosched()
					}
				}
			})
		}
	}
	done := make([]rdmap.Completion, 64)
	for taken := 0; taken < conns*posters*each; {
		n, err := cq.WaitBatch(timeLimit(t), done, false)
		if err != nil {
			t.Fatalf("after %d Completions: %v", taken, err)
		}
		for i := range done[:n] {
			if done[i].Status != rdmap.StatusOK {
				t.Fatal(done[i])
			}
		}
		taken += n
	}
	all.Wait()
}

// If posters take no Completions and stop in the middle of a burst, everything still goes out.
func TestPutOffWithoutPolls(t *testing.T) {
	ci, cr := tcpPair(t, inMessages, inMessages)
	r := register(t, cr, make([]byte, 64), ddp.RemoteWrite)
	for n := range 40 {
		before := ci.Stats().Sent.FPDUs
		post(t, ci, n, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: r.Handle(), Unsignaled: true})
		prototest.Wait(t, "all are sent", func() bool { return ci.Stats().Sent.FPDUs == before+uint64(n) })
	}
}
