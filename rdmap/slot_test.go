package rdmap

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// An entry goes through its states in order, and a queue of depth 1 does what one of depth 2 does.
func TestOneEntry(t *testing.T) {
	for _, depth := range []int{1, 2} {
		t.Run(fmt.Sprintf("depth %d", depth), func(t *testing.T) {
			c := NewCompletionQueue(depth)
			var dst [3]Completion
			for round := range uint64(5) {
				if n := c.Poll(dst[:]); n != 0 || c.Len() != 0 {
					t.Fatalf("an empty queue has %d and %d Completions", n, c.Len())
				}
				for i := range depth {
					if !c.reserve() {
						t.Fatalf("reserve = false with %d of %d entries", i, depth)
					}
				}
				if c.reserve() || c.promised() != depth {
					t.Fatalf("reserve of one entry too many; %d are promised", c.promised())
				}
				for range depth - 1 {
					c.release()
				}
				if n := c.Poll(dst[:]); n != 0 || c.Len() != 0 {
					t.Fatalf("a reserved entry holds %d and %d Completions", n, c.Len())
				}
				c.complete(Completion{ID: round, Err: errTest, Status: StatusFlushed})
				if c.Len() != 1 || c.promised() != 0 {
					t.Fatalf("%d Completions, %d promised", c.Len(), c.promised())
				}
				<-c.Ready()
				if n := c.Poll(nil); n != 0 || len(c.Ready()) != 1 {
					t.Fatalf("Poll of none takes %d, and %d values are in Ready", n, len(c.Ready()))
				}
				if n := c.Poll(dst[:]); n != 1 || dst[0].ID != round || dst[0].Err != errTest {
					t.Fatalf("Poll = %d, %v", n, dst[0])
				}
			}
			if c.slot != nil && c.slot.c != (Completion{}) {
				t.Errorf("the queue keeps %v", c.slot.c)
			}
		})
	}
}

// An entry that nobody has reserved is a bug.
func TestEntryNotReserved(t *testing.T) {
	for _, depth := range []int{1, 2} {
		for desc, do := range map[string]func(c *CompletionQueue){
			"never": func(c *CompletionQueue) { c.complete(Completion{}) },
			"twice": func(c *CompletionQueue) { c.reserve(); c.complete(Completion{}); c.complete(Completion{}) },
			"no more": func(c *CompletionQueue) {
				c.reserve()
				c.release()
				c.complete(Completion{})
			},
			"after Poll": func(c *CompletionQueue) {
				c.reserve()
				c.complete(Completion{})
				c.Poll(make([]Completion, 1))
				c.complete(Completion{})
			},
		} {
			t.Run(fmt.Sprintf("%s, depth %d", desc, depth), func(t *testing.T) {
				defer func() {
					if v := recover(); v != errNotReserved {
						t.Errorf("panic %v", v)
					}
				}()
				do(NewCompletionQueue(depth))
			})
		}
	}
	defer func() {
		if v := recover(); v != errNotReserved {
			t.Errorf("release of an empty slot: panic %v", v)
		}
	}()
	NewCompletionQueue(1).release()
}

func TestWaitSolicitedOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCompletionQueue(1)
		got := make(chan Completion, 1)
		go func() {
			d, err := waitOne(t.Context(), c, true)
			if err != nil {
				t.Error(err)
			}
			got <- d
		}()
		synctest.Wait()
		fill(t, c, 1, 1)
		synctest.Wait()
		if len(got) != 0 {
			t.Fatalf("WaitSolicited takes %v", <-got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if d, err := waitOne(ctx, c, true); err != ctx.Err() {
			t.Errorf("WaitSolicited = %v, %v", d, err)
		}
		if all := done(c); brief(all) != "1 success" {
			t.Errorf("taken: %v", all)
		}
		c.reserve()
		c.complete(Completion{ID: 2, Solicited: true})
		if d := <-got; d.ID != 2 {
			t.Errorf("WaitSolicited = %v", d)
		}
	})
}

// If several goroutines poll at the same time, exactly one takes the Completion.
func TestSlotTakenOnce(t *testing.T) {
	const goroutines = 4
	rounds := testmode.Count(100_000, 20_000)
	c := NewCompletionQueue(1)
	times := make([]atomic.Int64, rounds+1) // by ID
	var taken atomic.Int64
	var round atomic.Int64 // the goroutines poll once in each
	var ready sync.WaitGroup
	for range goroutines {
		ready.Go(func() {
			var dst [1]Completion
			for last := int64(0); last < int64(rounds); {
				now := round.Load()
				if now == last {
					runtime.Gosched()
					continue
				}
				if c.Poll(dst[:]) == 1 {
					if dst[0].Original != dst[0].ID*3 {
						t.Errorf("torn in round %d: %+v", now, dst[0])
					}
					times[dst[0].ID].Add(1)
					taken.Add(1)
				}
				last = now
			}
		})
	}
	for i := range int64(rounds) {
		c.reserve()
		c.complete(Completion{ID: uint64(i + 1), Original: uint64(i+1) * 3})
		round.Store(i + 1)
		for taken.Load() <= i {
			runtime.Gosched()
		}
	}
	ready.Wait()
	for id := range times {
		if n := times[id].Load(); n != int64(min(id, 1)) { // there is no 0
			t.Fatalf("Completion %d is taken %d times", id, n)
		}
	}
}

// Goroutines of all kinds use a queue of depth 1 at once. Each Completion is taken exactly once and
// whole, and nobody sleeps forever.
func TestSlotConcurrently(t *testing.T) {
	const producers = 4
	rounds := testmode.Count(5000, 1000)
	for _, k := range takers {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := NewCompletionQueue(1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var fillers, consumers sync.WaitGroup
			room := make(chan struct{}, producers) // a consumer has taken something
			for p := range producers {
				fillers.Go(func() {
					for i := range rounds {
						for !c.reserve() {
							<-room
						}
						if i%5 == 0 {
							c.release() // and once more
							signal(room)
							for !c.reserve() {
								<-room
							}
						}
						id := uint64(i*producers + p)
						c.complete(Completion{ID: id, QPNum: id ^ 0xFFFF, Original: id * 3, Solicited: true})
					}
				})
			}
			taken := make([]int, rounds*producers)
			var mu sync.Mutex
			left := len(taken)
			for _, k := range []taker{k, takers[0]} {
				consumers.Go(func() {
					dst := make([]Completion, 4)
					for {
						n, err := k.take(ctx, c, dst)
						if err != nil {
							return
						}
						for _, d := range dst[:n] {
							if d.QPNum != d.ID^0xFFFF || d.Original != d.ID*3 {
								t.Errorf("torn: %+v", d)
							}
							mu.Lock()
							taken[d.ID]++
							if left--; left == 0 {
								cancel()
							}
							mu.Unlock()
						}
						for range producers {
							signal(room)
						}
					}
				})
			}
			fillers.Wait()
			consumers.Wait()
			for id, n := range taken {
				if n != 1 {
					t.Fatalf("Completion %d is taken %d times", id, n)
				}
			}
			if c.promised() != 0 || c.Len() != 0 {
				t.Errorf("%d entries promised, %d filled in the end", c.promised(), c.Len())
			}
		})
	}
}

func TestAllocsOfCompletionQueue(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, depth := range []int{1, 2} {
		c := NewCompletionQueue(depth)
		var dst [2]Completion
		if n := testing.AllocsPerRun(100, func() {
			c.reserve()
			c.complete(Completion{ID: 1})
			if c.Poll(dst[:]) != 1 {
				t.Error("no Completion")
			}
		}); n != 0 {
			t.Errorf("depth %d: %v allocations, want 0", depth, n)
		}
	}
}

// promised returns the number of entries that posted requests have reserved.
func (c *CompletionQueue) promised() int {
	if c.slot != nil {
		if c.slot.state.Load() == slotReserved {
			return 1
		}
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.depth - int(c.n.Load()) - int(c.free.Load())
}
