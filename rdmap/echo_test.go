package rdmap

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// An echo is two sides that send each other messages in turn, like the drivers of two connections
// whose programs call Write and Read. It allocates nothing itself.
type echo struct {
	*pair
	ulpdu   []byte
	memory  [100]byte
	posts   bool             // receives are posted, as before there was Bind
	waiter  *CompletionQueue // of the blocking call that sends
	request WorkRequest
	id      uint64
}

func newEcho(t testing.TB, posts bool, waiterDepth int) *echo {
	return &echo{pair: newPair(t, params{}), posts: posts, waiter: NewCompletionQueue(waiterDepth)}
}

// carry sends data from s to d, and returns the Completion of its receive and the message's
// payload.
func (e *echo) carry(s, d *side, data []byte) (Completion, []byte) {
	e.id++
	e.request = WorkRequest{ID: e.id, Op: WorkSend, Data: data, CQ: e.waiter}
	e.send(s)
	c, payload := e.receive(d)
	s.qp.Sent(1)
	var sent [1]Completion
	if e.waiter.Poll(sent[:]) != 1 || sent[0].ID != e.id || sent[0].Err != nil {
		s.t.Errorf("Completion of the Send: %v", sent[0])
	}
	return c, payload
}

// send gives out the request's message as one segment.
func (e *echo) send(s *side) {
	if e.posts {
		if err := s.qp.PostSend(&e.request); err != nil || !s.qp.NextMessage() {
			s.t.Fatalf("PostSend = %v, and no message", err)
		}
	} else if next, err := s.qp.PostNext(&e.request); err != nil || !next {
		s.t.Fatalf("PostNext = %t, %v", next, err)
	}
	s.tx.Start(s.qp.Message())
	for s.tx.Next(s.mulpdu) {
		g := s.tx.Segment()
		e.ulpdu = append(e.ulpdu[:0], g.Header...)
		for _, p := range g.Payload {
			e.ulpdu = append(e.ulpdu, p...)
		}
		s.tx.Release()
	}
	if s.qp.NextMessage() {
		s.t.Error("there is another message")
	}
}

// receive finds memory for the segment's message, places it and handles the message.
func (e *echo) receive(d *side) (Completion, []byte) {
	if e.posts {
		if d.qp.queues[ddp.QNSend].Len() != 0 {
			d.t.Error("there is a buffer")
		}
		if err := d.qp.PostRecv(RecvRequest{Buf: e.memory[:]}); err != nil {
			d.t.Fatal(err)
		}
	} else if !d.rx.Bind(ddp.QNSend, nil, e.memory[:]) {
		d.t.Fatal("Bind = false")
	}
	d.rx.Place(d.off, e.ulpdu)
	d.off += uint64(len(e.ulpdu))
	if !d.rx.Deliver(d.off) {
		d.t.Fatalf("no message: %v", d.rx.Err())
	}
	m := d.rx.Message()
	payload := m.Buffer
	if m.Bound {
		c, ok := d.qp.Receive(m)
		if !ok {
			d.t.Fatalf("Receive = false: %v", d.qp.Err())
		}
		return c, payload
	}
	d.qp.Handle(m)
	var one [1]Completion
	if d.recvCQ.Poll(one[:]) != 1 {
		d.t.Fatalf("no Completion: %v", d.qp.Err())
	}
	return one[0], payload
}

var echoData = bytes.Repeat([]byte("echo "), 13)[:64]

func TestEcho(t *testing.T) {
	for _, posts := range []bool{false, true} {
		e := newEcho(t, posts, 1)
		for range 10 {
			for _, ends := range [][2]*side{{e.a, e.b}, {e.b, e.a}} {
				want := Completion{QPNum: ends[1].qp.cfg.QPNum, Op: WorkRecv, Len: 64}
				c, payload := e.carry(ends[0], ends[1], echoData)
				if c != want || !bytes.Equal(payload, echoData) {
					t.Errorf("posts=%t: received %q with %+v, want %+v", posts, payload, c, want)
				}
			}
		}
		if e.a.recvCQ.Len()+e.b.recvCQ.Len()+e.a.sendCQ.Len()+e.b.sendCQ.Len() != 0 {
			t.Error("a queue of the QPs has a Completion")
		}
	}
}

func TestAllocsOfEcho(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	e := newEcho(t, false, 1)
	if n := testing.AllocsPerRun(200, func() {
		e.carry(e.a, e.b, echoData)
		e.carry(e.b, e.a, echoData)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkEcho(b *testing.B) {
	for _, posts := range []bool{true, false} {
		name := "bound"
		if posts {
			name = "posted"
		}
		b.Run(name, func(b *testing.B) {
			e := newEcho(b, posts, 1)
			b.ReportAllocs()
			for b.Loop() {
				e.carry(e.a, e.b, echoData)
				e.carry(e.b, e.a, echoData)
			}
		})
	}
}
