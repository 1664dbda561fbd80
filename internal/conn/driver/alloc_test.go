package driver

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// idleDriver returns a driver over s that is not started: the test calls its methods itself. cq is
// the completion queue of both.
func idleDriver(s *script) (p *Driver, qp *rdmap.QP, cq *rdmap.CompletionQueue) {
	cq = rdmap.NewCompletionQueue(256)
	qp = rdmap.NewQP(rdmap.Config{QPNum: 1, Domain: new(ddp.Domain), IRD: 2, ORD: 2, SendCQ: cq, RecvCQ: cq})
	// A connection with Taps can get a capture at any time.
	return New(Config{Stream: s, QP: qp, Start: rdmap.StartParams{IRD: 2, ORD: 2}, Agreement: mpa.Agreement{CRC: true}, Taps: &observe.Taps{}}), qp, cq
}

// TestAllocWayOut checks that nothing is allocated on the way from Post to the wire and the
// Completion, for a Write of 100 FPDUs.
func TestAllocWayOut(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	s := &script{}
	p, qp, cq := idleDriver(s)
	wr := rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 100*1400), Remote: rdmap.Handle{STag: 1}}
	var done [1]rdmap.Completion
	if n := testing.AllocsPerRun(100, func() {
		if err := qp.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		p.transmit()
		if cq.Poll(done[:]) != 1 || done[0].Status != rdmap.StatusOK {
			t.Fatalf("completion %v", done[0])
		}
		s.out.Reset()
	}); n != 0 {
		t.Errorf("%v allocations for a Write of 100 FPDUs", n)
	}
}

// TestAllocWayIn checks that nothing is allocated on the way from the wire to the posted buffer and
// its Completion.
func TestAllocWayIn(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	const messages = 200
	var stream []byte
	var tx ddp.Sender
	out, b := mpa.NewSender(mpa.Agreement{CRC: true}), mpa.NewBatch(512<<10)
	for range messages {
		tx.Start(&ddp.Message{RsvdULP: rdmap.Control(rdmap.OpSend), Len: 5000, Payload: [][]byte{make([]byte, 5000)}})
		for tx.Next(1442) {
			g := tx.Segment()
			out.Append(b, g.Snapshot, g.Header, g.Payload...)
		}
		stream = append(stream, bytes.Join(b.Bufs(), nil)...)
		b.Reset()
	}
	s := &script{}
	p, qp, cq := idleDriver(s)
	buf := make([]byte, 5000)
	one := len(stream) / messages
	var done [1]rdmap.Completion
	if n := testing.AllocsPerRun(messages-1, func() { // AllocsPerRun calls it once more to warm up
		if err := qp.PostRecv(rdmap.RecvRequest{Buf: buf}); err != nil {
			t.Fatal(err)
		}
		s.in, stream = stream[:one], stream[one:]
		n, off, err := p.rx.readSegment(forHome)
		if err != nil {
			t.Fatal(err)
		}
		p.rx.filled(off, n)
		if !p.rx.place() {
			t.Fatal(p.end.life.why())
		}
		p.rx.giveBack()
		if cq.Poll(done[:]) != 1 || done[0].Len != 5000 {
			t.Fatalf("completion %v", done[0])
		}
	}); n != 0 {
		t.Errorf("%v allocations for a Send of four FPDUs", n)
	}
}

// TestSizeOfADriver: a Driver with its parts, and the 8 bytes that the allocator adds, fits into a
// size class of Go's allocator, and the next one is an eighth larger. Each idle connection has one.
func TestSizeOfADriver(t *testing.T) {
	const header = 8
	for _, tt := range []struct {
		desc        string
		size, class uintptr
	}{
		{"in stream mode", unsafe.Sizeof(streamParts{}), 4096},
		{"in message mode", unsafe.Sizeof(messageParts{}), 3200},
	} {
		if tt.size+header > tt.class {
			t.Errorf("%s: %d bytes, more than %d", tt.desc, tt.size, tt.class-header)
		}
	}
}
