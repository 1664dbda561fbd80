package rdmap

import (
	"context"
	"slices"
	"testing"
)

// belled returns a QP over the queues whose Transmit counts.
func belled(send, recv *CompletionQueue) (q *QP, rung *int) {
	rung = new(int)
	return NewQP(Config{SendCQ: send, RecvCQ: recv, Transmit: func() { *rung++ }}), rung
}

// TransmitLater has each consumer that finds the queue empty, or is about to wait, call Transmit
// once.
func TestTransmitLater(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	var one [1]Completion
	for _, tt := range []struct {
		desc string
		call func(c *CompletionQueue)
	}{
		{"Poll", func(c *CompletionQueue) { c.Poll(one[:]) }},
		{"Ready", func(c *CompletionQueue) { c.Ready() }},
		{"Wait", func(c *CompletionQueue) { c.Wait(canceled) }},
		{"WaitBatch", func(c *CompletionQueue) { c.WaitBatch(canceled, one[:]) }},
		{"WaitSolicited", func(c *CompletionQueue) { c.WaitSolicited(canceled) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			send, recv := NewCompletionQueue(4), NewCompletionQueue(4)
			q, rung := belled(send, recv)
			other, otherRung := belled(send, send)
			want := func(when string, n, m int) {
				t.Helper()
				if *rung != n || *otherRung != m {
					t.Errorf("%s: rung %d and %d times, want %d and %d", when, *rung, *otherRung, n, m)
				}
			}
			tt.call(send)
			want("before", 0, 0)
			q.TransmitLater()
			q.TransmitLater()
			other.TransmitLater()
			want("nobody has looked", 0, 0)
			tt.call(send)
			want("at the first look", 1, 1)
			tt.call(send)
			want("at the second look", 1, 1)
			q.TransmitLater()
			tt.call(send)
			want("put off again", 2, 1)
			tt.call(recv)
			want("in the receive queue", 3, 1)
		})
	}
}

// A consumer that finds Completions is not about to wait. WaitSolicited is, if none of them wakes.
func TestTransmitLaterWithCompletions(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	c := NewCompletionQueue(4)
	q, rung := belled(c, c)
	c.reserve()
	c.complete(Completion{ID: 1})
	q.TransmitLater()
	if _, err := c.WaitSolicited(canceled); err == nil || *rung != 1 {
		t.Errorf("WaitSolicited: error %v, rung %d times", err, *rung)
	}
	q.TransmitLater()
	var one [1]Completion
	if n := c.Poll(one[:]); n != 1 || *rung != 1 {
		t.Errorf("Poll takes %d Completions, rung %d times", n, *rung)
	}
	if n := c.Poll(one[:]); n != 0 || *rung != 2 {
		t.Errorf("Poll takes %d Completions, rung %d times", n, *rung)
	}
}

// What Transmit has completed by the time it returns, the same Poll takes.
func TestTransmitLaterCompletes(t *testing.T) {
	c := NewCompletionQueue(4)
	q := NewQP(Config{SendCQ: c, RecvCQ: c, Transmit: func() {
		c.reserve()
		c.complete(Completion{ID: 7})
	}})
	q.TransmitLater()
	var one [1]Completion
	if n := c.Poll(one[:]); n != 1 || one[0].ID != 7 {
		t.Errorf("Poll takes %d Completions, the first %v", n, one[0])
	}
}

// bells returns the number of doorbells that hang in c.
func bells(c *CompletionQueue) int {
	c.bells.mu.Lock()
	defer c.bells.mu.Unlock()
	return c.bells.n
}

// TestTransmitLaterOfAnEndedQP checks that a queue pair that has ended leaves no doorbell in a
// completion queue, which may live longer and be looked at never.
func TestTransmitLaterOfAnEndedQP(t *testing.T) {
	send, recv := NewCompletionQueue(16), NewCompletionQueue(16)
	var qps [3]*QP
	var rung [3]*int
	for i := range qps {
		qps[i], rung[i] = belled(send, recv)
	}
	for _, ended := range []int{0, 1, 2} { // the oldest, the one in the middle, the newest
		for _, q := range qps {
			q.TransmitLater()
		}
		qps[ended].Abort(ErrClosed)
		if bells(send) != 2 || bells(recv) != 2 {
			t.Fatalf("%d and %d doorbells, want 2", bells(send), bells(recv))
		}
		qps[ended].TransmitLater() // by a goroutine that has posted just before the end
		if bells(send) != 2 || bells(recv) != 2 {
			t.Fatalf("%d and %d doorbells after TransmitLater of a queue pair that has ended", bells(send), bells(recv))
		}
		send.Ready()
		recv.Ready()
		for i := range qps {
			want := 2
			if i == ended {
				want = 0
			}
			if *rung[i] != want {
				t.Errorf("doorbell %d rung %d times, want %d", i, *rung[i], want)
			}
			*rung[i] = 0
		}
		if bells(send) != 0 || bells(recv) != 0 {
			t.Fatalf("%d and %d doorbells hang after they were rung", bells(send), bells(recv))
		}
		qps[ended], rung[ended] = belled(send, recv)
	}
}

// TestTransmitLaterWhileRinging checks that a consumer rings each doorbell once, the oldest first,
// and returns although each one hangs again at once.
func TestTransmitLaterWhileRinging(t *testing.T) {
	c := NewCompletionQueue(16)
	var order []int
	for i := range 3 {
		var q *QP
		q = NewQP(Config{SendCQ: c, RecvCQ: c, Transmit: func() {
			order = append(order, i)
			q.TransmitLater()
		}})
		q.TransmitLater()
	}
	for range 2 {
		order = nil
		if c.Ready(); !slices.Equal(order, []int{0, 1, 2}) || bells(c) != 3 {
			t.Errorf("rung %v, %d doorbells hang again", order, bells(c))
		}
	}
}
