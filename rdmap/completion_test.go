package rdmap

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// fill reserves and completes n entries with the IDs from first on.
func fill(t *testing.T, c *CompletionQueue, first, n int) {
	t.Helper()
	for i := range n {
		if !c.reserve() {
			t.Fatalf("entry %d: the queue is full", i)
		}
		c.complete(Completion{ID: uint64(first + i), Op: WorkSend})
	}
}

func TestCompletionQueueNeverOverflows(t *testing.T) {
	c := NewCompletionQueue(3)
	for range 3 {
		if !c.reserve() {
			t.Fatal("reserve refuses an entry that is free")
		}
	}
	if c.reserve() {
		t.Fatal("reserve promises a 4th of 3 entries")
	}
	c.release()
	if !c.reserve() || c.reserve() {
		t.Error("a released entry can be reserved once")
	}
	c.complete(Completion{ID: 1})
	if c.reserve() {
		t.Error("an entry is free although its Completion has not been taken")
	}
	if got := brief(done(c)); got != "1 success" {
		t.Errorf("taken: %s", got)
	}
	if !c.reserve() {
		t.Error("a taken entry is not free")
	}
}

// TestCompletionQueueModel compares the queue with a slice, while the ring grows with its head
// anywhere.
func TestCompletionQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCompletionQueue(rapid.IntRange(1, 20).Draw(t, "depth"))
		var want []uint64
		for id := range uint64(60) {
			if rapid.Bool().Draw(t, "fill") {
				if ok := c.reserve(); ok != (len(want) < c.depth) {
					t.Fatalf("reserve = %t with %d of %d entries", ok, len(want), c.depth)
				} else if ok {
					c.complete(Completion{ID: id})
					want = append(want, id)
				}
				continue
			}
			dst := make([]Completion, rapid.IntRange(0, 5).Draw(t, "n"))
			n := c.Poll(dst)
			if n != min(len(dst), len(want)) {
				t.Fatalf("Poll = %d of %d", n, len(want))
			}
			for _, d := range dst[:n] {
				if d.ID != want[0] {
					t.Fatalf("took %d, want %d", d.ID, want[0])
				}
				want = want[1:]
			}
		}
	})
}

func TestReadyIsRearmedByPoll(t *testing.T) {
	c := NewCompletionQueue(4)
	fill(t, c, 0, 3)
	for i := range 3 {
		select {
		case <-c.Ready():
		default:
			t.Fatalf("not ready although %d entries are left", 3-i)
		}
		if n := c.Poll(make([]Completion, 1)); n != 1 {
			t.Fatalf("Poll = %d", n)
		}
	}
	select {
	case <-c.Ready():
		t.Error("ready although no entry is left")
	default:
	}
}

func TestWait(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	t.Run("data already there wins over a done context", func(t *testing.T) {
		c := NewCompletionQueue(2)
		fill(t, c, 7, 2)
		for want := uint64(7); want < 9; want++ {
			if d, err := waitOne(canceled, c, false); err != nil || d.ID != want {
				t.Errorf("Wait = %v, %v, want %d", d, err, want)
			}
		}
		if _, err := waitOne(canceled, c, false); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait on an empty queue: %v", err)
		}
	})
	t.Run("every waiter gets one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewCompletionQueue(8)
			got := make(chan uint64, 8)
			for range 5 {
				go func() {
					d, err := waitOne(context.Background(), c, false)
					if err != nil {
						t.Error(err)
					}
					got <- d.ID
				}()
			}
			synctest.Wait()
			fill(t, c, 0, 5) // one signal may cover several entries
			synctest.Wait()
			if len(got) != 5 {
				t.Errorf("%d of 5 waiters woke", len(got))
			}
		})
	})
	t.Run("context ends the wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewCompletionQueue(1)
			ctx, cancel := context.WithCancel(context.Background())
			result := make(chan error, 1)
			go func() { _, err := waitOne(ctx, c, false); result <- err }()
			synctest.Wait()
			cancel()
			if err := <-result; !errors.Is(err, context.Canceled) {
				t.Errorf("Wait: %v", err)
			}
		})
	})
}

// "the RDMAP MAY generate an Event, if the Data Sink is configured to generate such an Event"
// RDMAP-5040-1.2-4, RDMAP-5040-5.3-8
func TestWaitWakesForSolicited(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wake Completion
	}{
		{"a solicited one", Completion{ID: 2, Solicited: true}},
		{"a failure", Completion{ID: 2, Status: StatusFlushed, Err: errTest}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := NewCompletionQueue(4)
				got := make(chan uint64, 5)
				wait := func(n int) {
					for range n {
						d, err := waitOne(context.Background(), c, true)
						if err != nil {
							return
						}
						got <- d.ID
					}
				}
				go wait(2)
				go wait(2)
				fill(t, c, 0, 2)
				synctest.Wait()
				if len(got) != 0 {
					t.Fatal("woke for Completions that are not solicited")
				}
				c.reserve()
				c.complete(tt.wake)
				synctest.Wait()
				if len(got) != 3 {
					t.Fatalf("took %d of 3 Completions up to the solicited one", len(got))
				}
				fill(t, c, 3, 1)
				synctest.Wait()
				if len(got) != 3 {
					t.Error("woke for the next one that is not solicited")
				}
				go wait(1)
				synctest.Wait()
				if len(got) != 3 {
					t.Error("took the next one that is not solicited")
				}
				c.reserve()
				c.complete(tt.wake) // the last one, which ends all goroutines
				synctest.Wait()
				if len(got) != 5 {
					t.Errorf("took %d of 5 Completions", len(got))
				}
			})
		})
	}
}

func TestCompletionString(t *testing.T) {
	for _, tt := range []struct {
		c    Completion
		want string
	}{
		{Completion{ID: 1, Op: WorkSend, Len: 5}, "Send 1: success, 5 bytes"},
		{Completion{ID: 2, Op: WorkRecv, Len: 5, Solicited: true, HasInvalidated: true, Invalidated: 0x12345601},
			"Receive 2: success, 5 bytes, invalidated STag 0x12345601, solicited"},
		{Completion{ID: 3, Op: WorkRecv, HasImmediate: true, Immediate: 0x1122}, "Receive 3: success, immediate 0x0000000000001122"},
		{Completion{ID: 4, Op: WorkFetchAdd, Original: 41}, "FetchAdd 4: success, original 0x29"},
		{Completion{ID: 5, Op: WorkImmediate}, "Immediate Data 5: success"},
		{Completion{ID: 6, Op: WorkRead, Status: StatusRemoteAccess, Err: errTest}, "RDMA Read 6: remote access error: test error"},
		{Completion{ID: 7, Op: 99, Status: 99}, "operation 99 7: status 99, 0 bytes"},
	} {
		if got := tt.c.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// doneLater is a context that is done once Wait, which has found nothing, asks for its channel. It
// calls before first.
type doneLater struct {
	context.Context
	before func()
}

func (c doneLater) Done() <-chan struct{} {
	c.before()
	return c.Context.Done()
}

func TestWaitBatch(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		desc     string
		there, n int // Completions in the queue, and room in dst
		want     int
		canceled bool // and even then no error
	}{
		{"as many as there are", 3, 5, 3, false},
		{"as many as there is room for", 5, 3, 3, false},
		{"none asked for", 5, 0, 0, false},
		{"none asked for and none there", 0, 0, 0, false},
		{"there already, with a done context", 2, 5, 2, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			c := NewCompletionQueue(8)
			fill(t, c, 0, tt.there)
			ctx := context.Background()
			if tt.canceled {
				ctx = canceled
			}
			dst := make([]Completion, tt.n)
			n, err := c.Wait(ctx, dst, false)
			if n != tt.want || err != nil {
				t.Fatalf("WaitBatch = %d, %v, want %d", n, err, tt.want)
			}
			for i, d := range dst[:n] {
				if d.ID != uint64(i) {
					t.Errorf("Completion %d has ID %d", i, d.ID)
				}
			}
			if c.Len() != tt.there-n {
				t.Errorf("%d are left, want %d", c.Len(), tt.there-n)
			}
			for range c.Len() { // those that are left can be waited for
				if _, err := waitOne(context.Background(), c, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Run("a done context, and none there", func(t *testing.T) {
		c := NewCompletionQueue(1)
		if n, err := c.Wait(canceled, make([]Completion, 1), false); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("WaitBatch = %d, %v", n, err)
		}
	})
	t.Run("one that comes before the context is done", func(t *testing.T) {
		for _, depth := range []int{1, 8} {
			for range 100 { // select takes either of two channels that are ready
				c := NewCompletionQueue(depth)
				ctx := doneLater{canceled, func() { fill(t, c, 0, 1) }}
				if n, err := c.Wait(ctx, make([]Completion, 1), false); n != 1 || err != nil {
					t.Fatalf("WaitBatch = %d, %v", n, err)
				}
			}
		}
	})
	t.Run("a deadline ends the wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if n, err := NewCompletionQueue(1).Wait(ctx, make([]Completion, 1), false); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("WaitBatch = %d, %v", n, err)
			}
		})
	})
}

// Many QPs share one queue, and goroutines of every kind take from it at once. Each Completion is
// taken exactly once, those of one QP by one taker in order, and in the end no taker sleeps while
// there is a Completion. Takers stop after some Completions, so each must wake the next taker.
func TestEachCompletionTakenOnce(t *testing.T) {
	for range rapidRounds {
		rapid.Check(t, func(rt *rapid.T) {
			kinds := rapid.SliceOfN(rapid.SampledFrom(takers), 1, 12).Draw(rt, "takers")
			calls := rapid.SliceOfN(rapid.SampledFrom([]int{1, 1, 2, 1000}), len(kinds), len(kinds)).Draw(rt, "calls of each")
			qps := rapid.IntRange(1, 5).Draw(rt, "QPs")
			rounds := rapid.SliceOfN(rapid.IntRange(0, 12), 1, 4).Draw(rt, "receives of each, by round")
			synctest.Test(t, func(t *testing.T) { takeAll(t, rt, kinds, calls, qps, rounds) })
		})
	}
}

const rapidRounds = 3

// A taker waits, and then takes some Completions.
type taker struct {
	name string
	take func(ctx context.Context, c *CompletionQueue, dst []Completion) (int, error)
}

var takers = []taker{
	{"Wait", func(ctx context.Context, c *CompletionQueue, dst []Completion) (n int, err error) {
		dst[0], err = waitOne(ctx, c, false)
		return 1, err
	}},
	{"WaitSolicited", func(ctx context.Context, c *CompletionQueue, dst []Completion) (n int, err error) {
		dst[0], err = waitOne(ctx, c, true)
		return 1, err
	}},
	{"WaitBatch", func(ctx context.Context, c *CompletionQueue, dst []Completion) (int, error) {
		return c.Wait(ctx, dst, false)
	}},
	{"WaitBatch of 1", func(ctx context.Context, c *CompletionQueue, dst []Completion) (int, error) {
		return c.Wait(ctx, dst[:1], false)
	}},
	{"Ready and Poll", func(ctx context.Context, c *CompletionQueue, dst []Completion) (int, error) {
		select {
		case <-c.Ready():
			return c.Poll(dst), nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}},
	{"a Wait that is canceled", func(ctx context.Context, c *CompletionQueue, dst []Completion) (n int, err error) {
		soon, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		dst[0], err = waitOne(soon, c, false)
		if err != nil {
			return 0, ctx.Err()
		}
		return 1, nil
	}},
}

// takeAll lets QPs end with their receives posted, which completes these, as flushed, from a
// goroutine each.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func takeAll(t *testing.T, rt *rapid.T, kinds []taker, calls []int, qps int, rounds []int) {
	total := 0
	for _, n := range rounds {
		total += qps * n
	}
	c := NewCompletionQueue(max(total, 1))
	ctx, cancel := context.WithCancel(t.Context())
	type name struct {
		qp uint64
		id uint64
	}
	var mu sync.Mutex
	taken := map[name]int{}
	awake := len(kinds) // or asleep, but not stopped
	var wg sync.WaitGroup
	for i, k := range kinds {
		wg.Go(func() {
			dst := make([]Completion, 4)
			last := map[uint64]uint64{}
			defer func() { mu.Lock(); awake--; mu.Unlock() }()
			for range calls[i] {
				n, err := k.take(ctx, c, dst)
				if err != nil {
					return
				}
				for _, d := range dst[:n] {
					if d.ID <= last[d.QPNum] {
						rt.Errorf("%s: %d after %d", k.name, d.ID, last[d.QPNum])
					}
					last[d.QPNum] = d.ID
					mu.Lock()
					taken[name{d.QPNum, d.ID}]++
					mu.Unlock()
				}
			}
		})
	}
	posted := 0
	for _, n := range rounds {
		var end sync.WaitGroup
		for range qps {
			q := NewQP(Config{QPNum: qpNums.Add(1), RecvCQ: c, RecvDepth: max(n, 1)})
			for id := range n {
				if err := q.PostRecv(RecvRequest{ID: uint64(id + 1)}); err != nil {
					rt.Errorf("PostRecv: %v", err)
				}
			}
			posted += n
			end.Go(func() { q.Abort(errTest) })
		}
		end.Wait()
		synctest.Wait()
		mu.Lock()
		if len(taken)+c.Len() != posted || c.Len() > 0 && awake > 0 {
			rt.Errorf("%d of %d Completions are taken and %d lie there, while %d takers sleep", len(taken), posted, c.Len(), awake)
		}
		mu.Unlock()
	}
	cancel()
	wg.Wait()
	for _, d := range done(c) {
		taken[name{d.QPNum, d.ID}]++
	}
	if len(taken) != posted {
		rt.Errorf("%d of %d Completions are taken in the end", len(taken), posted)
	}
	for k, n := range taken {
		if n != 1 {
			rt.Errorf("Completion %d is taken %d times", k.id, n)
		}
	}
	if c.promised() != 0 || c.waking != 0 {
		rt.Errorf("%d entries reserved and %d waking in the end", c.promised(), c.waking)
	}
}

// Entries that arrive while a signal is pending raise no other signal, so a consumer that takes one
// passes the signal on.
func TestOneSignalWakesAll(t *testing.T) {
	for _, k := range takers {
		if k.name == "a Wait that is canceled" || k.name == "Ready and Poll" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 3
				c := NewCompletionQueue(4 * n)
				var wg sync.WaitGroup
				got := make(chan int, n)
				for range n {
					wg.Go(func() {
						taken, err := k.take(t.Context(), c, make([]Completion, 4))
						if err != nil {
							t.Error(err)
						}
						got <- taken
					})
				}
				synctest.Wait()
				ready, _ := c.ready.get()
				solicited, _ := c.solicited.get()
				nobody := make(chan struct{}, 1)
				c.ready.c.Store(&nobody)
				c.solicited.c.Store(&nobody)
				for range 4 * n {
					c.reserve()
					c.complete(Completion{Solicited: true})
				}
				c.ready.c.Store(&ready)
				c.solicited.c.Store(&solicited)
				signal(ready)
				signal(solicited)
				synctest.Wait()
				if len(got) != n {
					t.Errorf("%d of %d woke", len(got), n)
				}
				for range n - len(got) { // or the bubble would not end
					signal(ready)
					signal(solicited)
					synctest.Wait()
				}
				wg.Wait()
			})
		})
	}
}

// A consumer that asks for the channel of Ready for the first time while Completions wait finds a
// value there, and one that asks while the queue is empty finds none before the next Completion.
func TestReadyIsMadeLate(t *testing.T) {
	for _, depth := range []int{1, 4} {
		c := NewCompletionQueue(depth)
		c.reserve()
		c.complete(Completion{ID: 1})
		select {
		case <-c.Ready():
		default:
			t.Errorf("depth %d: a Completion waits, and Ready has no value", depth)
		}
		c = NewCompletionQueue(depth)
		select {
		case <-c.Ready():
			t.Errorf("depth %d: the queue is empty, and Ready has a value", depth)
		default:
		}
		c.reserve()
		c.complete(Completion{ID: 2})
		select {
		case <-c.Ready():
		default:
			t.Errorf("depth %d: no value after a Completion", depth)
		}
	}
}

// waitOne takes one Completion from c, as a program that waits for one does.
func waitOne(ctx context.Context, c *CompletionQueue, solicited bool) (Completion, error) {
	var one [1]Completion
	_, err := c.Wait(ctx, one[:], solicited)
	return one[0], err
}

// TestZeroQueues: the zero values of the queues have no room, and are empty.
func TestZeroQueues(t *testing.T) {
	c := new(CompletionQueue)
	if c.Reserve() || c.Len() != 0 || c.Poll(make([]Completion, 1)) != 0 {
		t.Error("a zero CompletionQueue has room, or something in it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := c.Wait(ctx, make([]Completion, 1), false); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %d, %v", n, err)
	}
	s := new(SharedReceiveQueue)
	if err := s.PostRecv(RecvRequest{}); !errors.Is(err, ErrQueueFull) || s.Len() != 0 || s.Cap() != 0 || s.Close() != nil {
		t.Errorf("a zero SharedReceiveQueue takes a buffer: %v", err)
	}
	s.Arm(1)
}
