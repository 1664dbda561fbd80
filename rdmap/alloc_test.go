package rdmap

import (
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A loop carries messages between two sides like a pair does, but allocates nothing itself.
type loop struct {
	*pair
	u        []byte
	register *ddp.Region
}

// carry moves all messages between a and b.
func (l *loop) carry() {
	for l.step(l.a, l.b) || l.step(l.b, l.a) {
	}
}

// step moves one message from s to d, if there is one.
func (l *loop) step(s, d *side) bool {
	if !s.qp.NextMessage() {
		return false
	}
	s.tx.Start(s.qp.Message())
	for s.tx.Next(s.mulpdu) {
		g := s.tx.Segment()
		l.u = append(l.u[:0], g.Header...)
		for _, p := range g.Payload {
			l.u = append(l.u, p...)
		}
		s.tx.Release()
		d.rx.Place(d.off, l.u)
		d.off += uint64(len(l.u))
		for d.rx.Deliver(d.off) {
			d.qp.Handle(d.rx.Message())
		}
	}
	s.qp.Sent(1)
	return true
}

func newLoop(t testing.TB) *loop {
	l := &loop{pair: newPair(t, params{})}
	l.register, _ = l.b.register(64<<10, allAccess)
	return l
}

// Sends, Writes and Immediate Data cost no allocation, from the post to both Completions.
func TestAllocsPerMessage(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	buf, recv := make([]byte, 4096), make([]byte, 4096)
	gather := [][]byte{buf[:100], buf[100:]}
	for _, tt := range []struct {
		desc string
		wr   WorkRequest
		max  float64
	}{
		{"Send", WorkRequest{Op: WorkSend, Data: buf}, 0},
		{"Send, gathered", WorkRequest{Op: WorkSend, Gather: gather}, 0},
		{"Send, inline", WorkRequest{Op: WorkSend, Data: buf[:200], Inline: true}, 0},
		{"Send, unsignaled", WorkRequest{Op: WorkSend, Data: buf, Unsignaled: true}, 0},
		{"Write", WorkRequest{Op: WorkWrite, Data: buf}, 0},
		{"Immediate Data", WorkRequest{Op: WorkImmediate, Immediate: 1}, 0},
		{"Read of length 0", WorkRequest{Op: WorkRead}, 0},
		{"Read", WorkRequest{Op: WorkRead, Data: buf}, 1}, // the sink's Region
		{"FetchAdd", WorkRequest{Op: WorkFetchAdd}, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			l := newLoop(t)
			var one [1]Completion
			tt.wr.Remote = handle(l.register)
			n := testing.AllocsPerRun(200, func() {
				if err := l.b.qp.PostRecv(RecvRequest{Buf: recv}); err != nil && err != ErrQueueFull {
					t.Fatal(err)
				}
				if err := l.a.qp.PostSend(&tt.wr); err != nil {
					t.Fatal(err)
				}
				l.carry()
				if got := l.a.sendCQ.Poll(one[:]); (got == 1) == tt.wr.Unsignaled {
					t.Fatalf("%d completions", got)
				}
				l.b.recvCQ.Poll(one[:])
			})
			if n > tt.max {
				t.Errorf("%v allocations, want at most %v", n, tt.max)
			}
		})
	}
}

func TestAllocsOfCodecs(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	b := make([]byte, 0, 64)
	term := unhex(vTermReadSTag)[18:]
	if n := testing.AllocsPerRun(100, func() {
		read, _, _ := ParseReadRequest(ReadRequest{Size: 1}.AppendTo(b))
		atomic, _, _ := ParseAtomicRequest(AtomicRequest{ID: read.Size}.AppendTo(b))
		response, _, _ := ParseAtomicResponse(AtomicResponse{ID: atomic.ID}.AppendTo(b))
		ParseHandle(Handle{Len: response.ID}.AppendTo(b))
		if _, err := ParseTerminate(term); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
