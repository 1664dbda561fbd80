package driver

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// counting returns a doorbell of q that counts how often it is rung.
func counting(q *Doorbells) (b *doorbell, rung *int) {
	rung = new(int)
	return &doorbell{queue: q, owner: ringing(func() { *rung++ })}, rung
}

// ringing is what the doorbell of a test does when it is rung.
type ringing func()

func (r ringing) Flush()     { r() }
func (ringing) flushIfIdle() {}

// hanging returns the number of doorbells that hang in q.
func hanging(q *Doorbells) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.hung.Len()
}

// TestDoorbells checks that a doorbell is rung once, however often it was hung before.
func TestDoorbells(t *testing.T) {
	var q Doorbells
	b, rung := counting(&q)
	for want := range 3 {
		if q.Ring(); *rung != want {
			t.Fatalf("rung %d times, want %d", *rung, want)
		}
		b.hang()
		b.hang()
		if *rung != want || hanging(&q) != 1 {
			t.Fatalf("rung %d times although nobody looked, %d doorbells hang", *rung, hanging(&q))
		}
		if q.Ring(); *rung != want+1 || hanging(&q) != 0 {
			t.Fatalf("rung %d times, want %d; %d doorbells hang", *rung, want+1, hanging(&q))
		}
	}
	new(doorbell).hang() // of a connection whose queue has no doorbells
}

// TestDoorbellTakenDown checks that the other doorbells of a queue are rung, in their order.
func TestDoorbellTakenDown(t *testing.T) {
	for down, want := range [][]int{{1, 2}, {0, 2}, {0, 1}} { // the oldest, the one in the middle, the newest
		var q Doorbells
		var order []int
		bells := make([]*doorbell, 3)
		for i := range bells {
			bells[i] = &doorbell{queue: &q, owner: ringing(func() { order = append(order, i) })}
			bells[i].hang()
		}
		bells[down].takeDown()
		bells[down].takeDown()
		if hanging(&q) != 2 {
			t.Fatalf("%d doorbells hang, want 2", hanging(&q))
		}
		if q.Ring(); !slices.Equal(order, want) {
			t.Errorf("rung %v, want %v", order, want)
		}
		bells[down].hang() // a doorbell that was taken down can hang again
		if q.Ring(); order[len(order)-1] != down || hanging(&q) != 0 || q.any.Load() {
			t.Errorf("rung %v, %d doorbells hang", order, hanging(&q))
		}
		bells[down].hang()
		if bells[down].takeDown(); q.any.Load() {
			t.Error("the queue says that a doorbell hangs")
		}
	}
}

// TestDoorbellsWhileRinging checks that a consumer rings each doorbell once, the oldest first, and
// returns although each one hangs again at once.
func TestDoorbellsWhileRinging(t *testing.T) {
	var q Doorbells
	var order []int
	for i := range 3 {
		b := &doorbell{queue: &q}
		b.owner = ringing(func() {
			order = append(order, i)
			b.hang()
		})
		b.hang()
	}
	for range 2 {
		order = nil
		if q.Ring(); !slices.Equal(order, []int{0, 1, 2}) || hanging(&q) != 3 {
			t.Errorf("rung %v, %d doorbells hang again", order, hanging(&q))
		}
	}
}

// TestDoorbellsOfAnEndedConnection checks that a connection that has ended leaves no doorbell in a
// completion queue, which may live longer and may never be polled.
func TestDoorbellsOfAnEndedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the net, a timer, fires at none of the steps
		var send, recv Doorbells
		cq := rdmap.NewCompletionQueue(128)
		qp := rdmap.NewQP(rdmap.Config{QPNum: 1, Domain: new(ddp.Domain), SendCQ: cq})
		d := New(Config{Stream: &script{}, QP: qp, SendBells: &send, RecvBells: &recv, Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout})
		wr := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: rdmap.Handle{STag: 1, Len: 1}}
		for hanging(&send) == 0 { // until one waits
			if err := d.Post(&wr); err != nil {
				t.Fatal(err)
			}
			var done [1]rdmap.Completion
			cq.Poll(done[:])
		}
		if hanging(&recv) != 1 {
			t.Errorf("%d doorbells hang in the receive queue, want 1", hanging(&recv))
		}
		d.Receive() // the peer's FIN comes at once
		d.Close()
		want := func(when string) {
			t.Helper()
			if hanging(&send) != 0 || hanging(&recv) != 0 {
				t.Errorf("%s: %d and %d doorbells hang", when, hanging(&send), hanging(&recv))
			}
		}
		want("at the end")
		d.sendLater(&wr) // of a goroutine that has posted just before the end
		want("after a Post during the end")
	})
}
