package ddp

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

func TestQueuePost(t *testing.T) {
	q := NewQueue(2, 0)
	for id := range uint64(2) {
		if err := post(q, nil, nil, id); err != nil {
			t.Errorf("Post: %v", err)
		}
	}
	if err := post(q, nil, nil, 2); !errors.Is(err, errQueueFull) {
		t.Errorf("Post to a full queue = %v, want errQueueFull", err)
	}
	if got := q.Flush(); !slices.Equal(got, []uint64{0, 1}) {
		t.Errorf("Flush = %v, want [0 1]", got)
	}
	if got := q.Flush(); got != nil || q.Len() != 0 {
		t.Errorf("second Flush = %v, Len = %d, want none", got, q.Len())
	}
	if err := post(q, nil, nil, 3); !errors.Is(err, errQueueClosed) {
		t.Errorf("Post after Flush = %v, want errQueueClosed", err)
	}
	if err := post(NewQueue(0, 0), nil, nil, 0); !errors.Is(err, errQueueFull) {
		t.Errorf("Post to a queue of depth 0 = %v, want errQueueFull", err)
	}
}

// Len falls when a message has been placed, but its buffer counts toward the depth until the
// message is delivered.
func TestQueueLen(t *testing.T) {
	p := newPair(t)
	q := NewQueue(2, 0)
	p.queues[0], p.r.config.Queues[0] = q, q
	p.post(0, 300, 1)
	p.post(0, 300, 2)
	segments := cut(&p.s, &Message{Payload: [][]byte{make([]byte, 200)}, Len: 200}, 118)
	steps := []struct {
		desc string
		do   func()
		len  int
		post error
	}{
		{"both posted", func() {}, 2, errQueueFull},
		{"first segment placed", func() { p.place(segments[0]) }, 2, errQueueFull},
		{"message placed", func() { p.place(segments[1]) }, 1, errQueueFull},
		{"message delivered", func() { p.wantMessage("the Send") }, 1, nil},
		{"another posted", func() {}, 2, errQueueFull},
	}
	for _, s := range steps {
		s.do()
		if got := q.Len(); got != s.len {
			t.Errorf("%s: Len = %d, want %d", s.desc, got, s.len)
		}
		if err := post(q, nil, nil, 3); err != s.post {
			t.Errorf("%s: Post = %v, want %v", s.desc, err, s.post)
		}
	}
}

// Flush returns all buffers that were not delivered, whatever state they are in, and no others.
func TestQueueFlushOrder(t *testing.T) {
	p := newPair(t)
	for id := range uint64(5) {
		p.post(0, 300, id)
	}
	p.send(send([]byte("delivered")), 128)
	p.wantMessage("message 0")
	p.send(send([]byte("placed")), 128)
	segments := cut(&p.s, &Message{Payload: [][]byte{make([]byte, 200)}, Len: 200}, 118)
	p.place(segments[0])
	if got := p.queues[0].Flush(); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Errorf("Flush = %v, want [1 2 3 4]", got)
	}
	p.wantIdle("message 1, whose buffer was taken back")
	p.place(segments[1])
	p.wantFailure(segments[1], CodeNoBuffer)
}

// The ring wraps around many times, with all depths.
func TestQueueRing(t *testing.T) {
	rnd := seeded(t)
	for depth := 1; depth < 6; depth++ {
		p := newPairWith(t, func(c *ReceiverConfig) { c.Queues[0] = NewQueue(depth, 0) })
		p.queues = p.r.config.Queues
		var posted, sent, delivered uint64
		for range 1000 {
			switch rnd.IntN(3) {
			case 0:
				if err := post(p.queues[0], nil, make([]byte, 1), posted); (err == nil) != (posted-delivered < uint64(depth)) {
					t.Fatalf("depth %d, %d posted, %d delivered: Post = %v", depth, posted, delivered, err)
				} else if err == nil {
					posted++
				}
			case 1:
				if sent < posted {
					p.send(send([]byte{byte(sent)}), 128)
					sent++
				}
			case 2:
				if delivered < sent {
					m := p.wantMessage("next")
					if m.ID != delivered || m.Buffer[0] != byte(delivered) || uint64(m.MSN) != delivered+1 {
						t.Fatalf("message %+v, want number %d", m, delivered)
					}
					delivered++
				}
			}
		}
		p.wantRest(depth, posted, delivered)
	}
}

// Wherever the ring has wrapped around when it grows, it loses no buffer and keeps their order.
func TestQueueGrows(t *testing.T) {
	const depth = 40
	for first := range 10 {
		for taken := range first + 1 {
			p := newPairWith(t, func(c *ReceiverConfig) { c.Queues[0] = NewQueue(depth, 0) })
			p.queues = p.r.config.Queues
			var posted, delivered uint64
			more := func(n int) {
				for range n {
					p.post(0, 1, posted)
					posted++
				}
			}
			deliver := func(n int) {
				for range n {
					p.send(send([]byte{byte(delivered)}), 128)
					if m := p.wantMessage("next"); m.ID != delivered || m.Buffer[0] != byte(delivered) {
						t.Fatalf("%d posted, %d taken: message %+v, want number %d", first, taken, m, delivered)
					}
					delivered++
				}
			}
			more(first)
			deliver(taken)
			more(depth - first + taken)
			deliver(depth / 2)
			p.wantRest(depth, posted, delivered)
		}
	}
}

func (p *pair) wantRest(depth int, posted, delivered uint64) {
	p.Helper()
	ids := p.queues[0].Flush()
	if uint64(len(ids)) != posted-delivered || len(ids) > 0 && ids[0] != delivered {
		p.Errorf("depth %d: Flush = %v, want %d from %d on", depth, ids, posted-delivered, delivered)
	}
}

// Each posted buffer comes back once, by delivery or by Flush, and is not written afterwards (the
// race detector checks this), in whatever order the two run.
func TestQueueFlushRacesReceiver(t *testing.T) {
	for range 200 {
		const n = 8
		p := newPair(t)
		var back [n]int
		buffers := make([][]byte, n)
		for id := range buffers {
			buffers[id] = make([]byte, 1000)
			if err := post(p.queues[0], nil, buffers[id], uint64(id)); err != nil {
				t.Fatal(err)
			}
		}
		var flushed []uint64
		var wg sync.WaitGroup
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rand.IntN(100) {
				runtime.Gosched()
			}
			flushed = p.queues[0].Flush()
			for _, id := range flushed {
				clear(buffers[id])
			}
		}()
		for range n {
			p.send(send(make([]byte, 1000)), 300)
			if rand.IntN(2) == 0 {
				continue
			}
			for p.r.Deliver(p.off) {
				back[p.r.Message().ID]++
				clear(p.r.Message().Buffer)
			}
		}
		for p.r.Deliver(p.off) {
			back[p.r.Message().ID]++
		}
		wg.Wait()
		for _, id := range flushed {
			back[id]++
		}
		for id, times := range back {
			if times != 1 {
				t.Fatalf("buffer %d came back %d times", id, times)
			}
		}
	}
}

// A Queue with buffers of its own has all of them at first, takes no memory before the first
// message, and has each again after Post, with the contents of the next message.
func TestQueueOwnBuffers(t *testing.T) {
	const depth, size = 3, 28
	q := NewQueue(depth, size)
	p := newPairWith(t, func(c *ReceiverConfig) { c.Queues[1] = q })
	if q.Len() != depth || q.own != nil { // +checklocksignore: no other goroutine has q
		t.Fatalf("%d buffers, with memory %t, at first", q.Len(), q.own != nil) // +checklocksignore: the same
	}
	msn, seen := uint32(1), map[*byte]bool{}
	place := func() {
		p.place(untagged(UntaggedHeader{Last: true, RsvdULP: 0x41, QN: 1, MSN: msn}, size))
		msn++
	}
	deliver := func() {
		t.Helper()
		m := p.wantMessage("one")
		if len(m.Buffer) != size || cap(m.Buffer) != size {
			t.Fatalf("buffer of %d octets, capacity %d", len(m.Buffer), cap(m.Buffer))
		}
		seen[&m.Buffer[0]] = true
	}
	for range 2 * depth { // one after the other
		place()
		deliver()
		q.Post(nil, nil, 0)
	}
	if len(seen) != depth {
		t.Errorf("%d different buffers, want %d", len(seen), depth)
	}
	for range depth {
		place()
	}
	if q.Len() != 0 {
		t.Errorf("%d buffers left", q.Len())
	}
	for range depth {
		deliver()
	}
	over := untagged(UntaggedHeader{Last: true, RsvdULP: 0x41, QN: 1, MSN: msn}, size)
	p.place(over)
	p.wantFailure(over, CodeNoBuffer)
	if ids := q.Flush(); len(ids) != 0 || q.Post(nil, nil, 0) {
		t.Errorf("Flush returns %v, and Post takes another", ids)
	}
}

// A Queue of depth 0 has no buffer, whatever their size.
func TestQueueOwnOfNoDepth(t *testing.T) {
	q := NewQueue(0, 28)
	p := newPairWith(t, func(c *ReceiverConfig) { c.Queues[1] = q })
	bad := untagged(UntaggedHeader{Last: true, RsvdULP: 0x41, QN: 1, MSN: 1}, 28)
	p.place(bad)
	p.wantFailure(bad, CodeNoBuffer)
	q.Flush()
}
