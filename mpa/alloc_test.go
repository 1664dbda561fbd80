package mpa

import (
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// noAllocs fails the test if f allocates. It does nothing under the race detector, which allocates
// itself.
func noAllocs(t *testing.T, desc string, f func()) {
	t.Helper()
	if testmode.Race {
		t.Skip("allocations are not counted under the race detector")
	}
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: %v allocations, want 0", desc, n)
	}
}

// A pipe sends a batch of the same ULPDU and receives it, again and again.
type pipe struct {
	s       *Sender
	r       *Receiver
	b       *Batch
	header  []byte
	payload [][]byte
	in      uint64
}

func newPipe(crc, markers bool, n int) *pipe {
	p := &pipe{s: NewSender(Agreement{CRC: crc, TxMarkers: markers}), r: NewReceiver(Agreement{CRC: crc, RxMarkers: markers}), b: NewBatch(scratchLen)}
	p.r.SetBuffer(make([]byte, 256<<10))
	p.header = counting(0, min(n, 14))
	p.payload = [][]byte{counting(14, n-len(p.header))}
	return p
}

// fill fills the batch with count FPDUs.
func (p *pipe) fill(count int) {
	p.b.Reset()
	for range count {
		p.s.Append(p.b, false, p.header, p.payload...)
	}
}

// receive receives the batch and returns the number of ULPDUs.
func (p *pipe) receive() (count int) {
	for _, piece := range p.b.Bufs() {
		for len(piece) > 0 {
			n := copy(p.r.Free(), piece)
			p.r.Fill(p.in, n)
			p.in += uint64(n)
			piece = piece[n:]
			for p.r.Next() {
				if len(p.r.ULPDU().Data) > 0 {
					count++
				}
			}
		}
	}
	return count
}

func TestAllocsPerFPDU(t *testing.T) {
	for _, crc := range []bool{false, true} {
		bothWays(t, func(t *testing.T, markers bool) {
			for _, n := range []int{64, 1442, 9000, MaxULPDU} {
				p := newPipe(crc, markers, n)
				noAllocs(t, "Append, Bufs, Reset", func() { p.fill(5) })
				p = newPipe(crc, markers, n)
				noAllocs(t, "Append, Free, Fill, Next", func() {
					p.fill(5)
					if got := p.receive(); got != 5 {
						t.Fatalf("%d ULPDUs, want 5; Err %v", got, p.r.Err())
					}
					if b := p.r.SetBuffer(nil); b != nil {
						p.r.SetBuffer(b)
					}
				})
			}
		})
	}
}

// TestAllocsEarly checks that early FPDUs cost no allocation, except for the first early FPDU of a
// Receiver.
func TestAllocsEarly(t *testing.T) {
	p := newPipe(true, true, 1442)
	early := 0
	round := func() {
		p.fill(20)
		run := p.b.Bufs()[0]
		p.r.Fill(p.in+3000, copy(p.r.Free(), run[3000:]))
		for p.r.Next() {
			if early++; early%2 == 0 {
				p.r.Unread()
			}
		}
		p.receive()
		if p.r.Edge() != p.s.Off() {
			t.Fatalf("Edge %d, want %d; Err %v", p.r.Edge(), p.s.Off(), p.r.Err())
		}
	}
	round()
	noAllocs(t, "early runs", round)
	if early < 1000 {
		t.Errorf("only %d ULPDUs were early", early)
	}
}
