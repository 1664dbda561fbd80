package rdmap

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

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

func TestCompletionQueueOrderAcrossTheRing(t *testing.T) {
	c := NewCompletionQueue(5)
	next := 0
	for round := range 7 {
		fill(t, c, round*4, 4)
		dst := make([]Completion, 3)
		for n := c.Poll(dst); n > 0; n = c.Poll(dst) {
			for _, d := range dst[:n] {
				if d.ID != uint64(next) {
					t.Fatalf("took %d, want %d", d.ID, next)
				}
				next++
			}
		}
		if c.Len() != 0 {
			t.Errorf("Len = %d after all were taken", c.Len())
		}
	}
}

// Against a slice, while the ring grows with its head anywhere.
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
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	t.Run("data already there wins over a done context", func(t *testing.T) {
		c := NewCompletionQueue(2)
		fill(t, c, 7, 2)
		for want := uint64(7); want < 9; want++ {
			if d, err := c.Wait(cancelled); err != nil || d.ID != want {
				t.Errorf("Wait = %v, %v, want %d", d, err, want)
			}
		}
		if _, err := c.Wait(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("Wait on an empty queue: %v", err)
		}
	})
	t.Run("every waiter gets one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := NewCompletionQueue(8)
			got := make(chan uint64, 8)
			for range 5 {
				go func() {
					d, err := c.Wait(context.Background())
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
			go func() { _, err := c.Wait(ctx); result <- err }()
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
func TestWaitSolicited(t *testing.T) {
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
				got := make(chan uint64, 4)
				for range 2 {
					go func() {
						for range 2 {
							d, err := c.WaitSolicited(context.Background())
							if err != nil {
								return
							}
							got <- d.ID
						}
					}()
				}
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
				c.reserve()
				c.complete(tt.wake) // the last one, which ends both goroutines' loops
				synctest.Wait()
			})
		})
	}
}

func TestCompletionString(t *testing.T) {
	for _, tt := range []struct {
		c    Completion
		want string
	}{
		{Completion{ID: 1, Op: WorkSend, Len: 5}, "Send 1: success, 5 octets"},
		{Completion{ID: 2, Op: WorkRecv, Len: 5, Solicited: true, HasInvalidated: true, Invalidated: 0x12345601},
			"Receive 2: success, 5 octets, invalidated STag 0x12345601, solicited"},
		{Completion{ID: 3, Op: WorkRecv, HasImmediate: true, Immediate: 0x1122}, "Receive 3: success, immediate 0x0000000000001122"},
		{Completion{ID: 4, Op: WorkFetchAdd, Original: 41}, "FetchAdd 4: success, original 0x29"},
		{Completion{ID: 5, Op: WorkImmediateSE}, "Immediate Data with Solicited Event 5: success"},
		{Completion{ID: 6, Op: WorkRead, Status: StatusRemoteAccess, Err: errTest}, "RDMA Read 6: remote access error: test error"},
		{Completion{ID: 7, Op: 99, Status: 99}, "operation 99 7: status 99, 0 octets"},
	} {
		if got := tt.c.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
