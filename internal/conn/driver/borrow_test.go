package driver

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A parcelScript is a script that delivers its bytes in pieces, and offers each in a parcel.
type parcelScript struct {
	script
	pieces   [][]byte
	inUse    atomic.Int32 // parcels
	borrowed int
}

// A lentPiece is a parcel, whose memory the peer changes as soon as it is released.
type lentPiece struct {
	s *parcelScript
	b []byte
}

func (*lentPiece) Memory() []byte { panic("only the writer needs it") }

func (p *lentPiece) Release() {
	p.s.inUse.Add(-1)
	for i := range p.b {
		p.b[i] = 0xEE
	}
}

func (s *parcelScript) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	if len(s.in) == 0 && len(s.pieces) > 0 {
		s.in, s.pieces = s.pieces[0], s.pieces[1:]
		s.inUse.Add(1)
		p := &lentPiece{s, bytes.Clone(s.in)}
		if l.(toe.Borrower).Borrow(p.b, p) {
			n, off = len(s.in), s.off
			s.in, s.off = nil, off+uint64(n)
			s.borrowed++
			return n, off, nil
		}
		s.inUse.Add(-1)
	}
	if l.TakeBack(); len(s.in) == 0 {
		return 0, s.off, io.EOF
	}
	return s.give(l.Lend())
}

// lending is what a peer sends in TestBorrow: Writes to memory, and messages.
type lending struct {
	memory   []byte
	messages [][]byte
	fpdus    [][]byte
	headers  []int // the lengths of their headers
}

// add adds the FPDUs of a message.
func (x *lending) add(tx *ddp.Sender, m *ddp.Message, mulpdu int) {
	for tx.Start(m); tx.Next(mulpdu); tx.Release() {
		s := tx.Segment()
		ulpdu := append([]byte(nil), s.Header...)
		for _, p := range s.Payload {
			ulpdu = append(ulpdu, p...)
		}
		b := mpa.NewBatch(mpa.MinBuffer)
		mpa.NewSender(mpa.Agreement{}).Append(b, true, ulpdu)
		x.fpdus = append(x.fpdus, bytes.Join(b.Bufs(), nil))
		x.headers = append(x.headers, 2+len(s.Header))
	}
}

// newLending returns random Writes to r and random messages.
func newLending(rnd *rand.Rand, r *ddp.Region) *lending {
	x, tx := &lending{memory: make([]byte, r.Len())}, new(ddp.Sender)
	for i := range 40 {
		b := make([]byte, 1+rnd.IntN(30_000))
		for k := range b {
			b[k] = byte(k*i/3 + i)
		}
		mulpdu := 100 + rnd.IntN(mpa.MaxULPDU-100)
		if rnd.IntN(2) == 0 {
			at := rnd.IntN(len(x.memory) - len(b))
			copy(x.memory[at:], b)
			x.add(tx, &ddp.Message{
				Tagged: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: r.STag(), TO: r.TO() + uint64(at), Payload: [][]byte{b}, Len: uint32(len(b)),
			}, mulpdu)
			continue
		}
		x.messages = append(x.messages, b)
		x.add(tx, &ddp.Message{RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, Payload: [][]byte{b}, Len: uint32(len(b))}, mulpdu)
	}
	return x
}

// pieces cuts the stream behind the headers, and in front of the padding, of some FPDUs, and
// anywhere else.
func (x *lending) pieces(rnd *rand.Rand) (pieces [][]byte, payloads int) {
	var rest []byte
	for i, f := range x.fpdus {
		n := int(f[0])<<8 + int(f[1]) + 2
		if rnd.IntN(2) == 0 && n > x.headers[i] {
			pieces = append(pieces, append(rest, f[:x.headers[i]]...), f[x.headers[i]:n:n])
			rest = bytes.Clone(f[n:])
			payloads++
			continue
		}
		rest = append(rest, f...)
		if n := rnd.IntN(len(rest)); n > 0 && rnd.IntN(3) == 0 {
			pieces = append(pieces, bytes.Clone(rest[:n]))
			rest = bytes.Clone(rest[n:])
		}
	}
	return append(pieces, rest), payloads
}

// receiving returns a driver for s, which has memory that the peer may write to.
func receiving(t *testing.T, s toe.Stream, taps *observe.Taps, crc bool) (d *Driver, memory []byte, r *ddp.Region) {
	t.Helper()
	domain := new(ddp.Domain)
	memory = make([]byte, 200_000)
	r, err := domain.Register(memory, ddp.RemoteWrite, 1)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Stream: s, QP: rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1}), Agreement: mpa.Agreement{CRC: crc}, CloseTimeout: pairCloseTimeout,
		Receive: &ReceiveConfig{Depth: 4, Size: 40_000}, Taps: taps,
	}), memory, r
}

// TestBorrow checks that it makes no difference in what pieces the stream comes, and whether they
// are parcels, and that a parcel is not looked at once it is released.
func TestBorrow(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	borrowed := 0
	for range 30 {
		s := new(parcelScript)
		d, memory, r := receiving(t, s, nil, false)
		x := newLending(rnd, r)
		var payloads int
		s.pieces, payloads = x.pieces(rnd)
		over := make(chan struct{})
		go func() {
			defer close(over)
			d.Receive()
		}()
		var limit wait.Deadline
		for i, want := range x.messages {
			got := make([]byte, len(want))
			for n := 0; n < len(got); {
				m, err := d.ReadMessage(got[n:min(len(got), n+1+rnd.IntN(20_000))], &limit, nil)
				if err != nil {
					t.Fatal(i, err)
				}
				n += m
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("message %d has other bytes", i)
			}
		}
		<-over
		if !bytes.Equal(memory, x.memory) {
			t.Fatal("other bytes were written")
		}
		if n := s.inUse.Load(); n != 0 {
			t.Fatalf("%d parcels are in use at the end", n)
		}
		if s.borrowed > payloads {
			t.Fatalf("%d pieces were borrowed, and only %d are payloads", s.borrowed, payloads)
		}
		borrowed += s.borrowed
		d.Kill(net.ErrClosed)
	}
	if borrowed < 100 {
		t.Errorf("only %d payloads were borrowed", borrowed)
	}
}

// TestNotBorrowed checks parcels that are copied, and that one is released when the connection ends
// in the middle of an FPDU.
func TestNotBorrowed(t *testing.T) {
	tapped := new(observe.Taps)
	tapped.Init(noTap{})
	for _, tt := range []struct {
		desc string
		taps *observe.Taps
		crc  bool
		// the pieces of an FPDU of n bytes, whose payload begins at header and ends at end
		ends func(header, end, n int) []int
		want int
	}{
		{"the payload", nil, false, func(header, end, _ int) []int { return []int{header, end} }, 1},
		{"the payload, and the connection ends behind it", nil, false, func(header, end, _ int) []int { return []int{header, end, -1} }, 1},
		{"a Tap looks at it", tapped, false, func(header, end, _ int) []int { return []int{header, end} }, 0},
		{"with a CRC", nil, true, func(header, end, _ int) []int { return []int{header, end} }, 0},
		{"the last byte of the header, too", nil, false, func(header, end, _ int) []int { return []int{header - 1, end} }, 0},
		{"without its first byte", nil, false, func(header, end, _ int) []int { return []int{header + 1, end} }, 0},
		{"without its last byte", nil, false, func(header, end, _ int) []int { return []int{header, end - 1} }, 0},
		{"the CRC field, too", nil, false, func(header, _, n int) []int { return []int{header, n} }, 0},
		{"all but the length", nil, false, func(_, end, _ int) []int { return []int{2, end} }, 0},
	} {
		s := new(parcelScript)
		d, memory, r := receiving(t, s, tt.taps, tt.crc)
		want := bytes.Repeat([]byte{7}, 1001)
		x, tx := new(lending), new(ddp.Sender)
		x.add(tx, &ddp.Message{Tagged: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: r.STag(), TO: r.TO(), Payload: [][]byte{want}, Len: 1001}, 2000)
		f := x.fpdus[0]
		if tt.crc {
			f = appendFPDU(nil, f[2:x.headers[0]+1001])
		}
		from, whole := 0, true
		for _, to := range tt.ends(x.headers[0], x.headers[0]+1001, len(f)) {
			if whole = to > 0; whole {
				s.pieces = append(s.pieces, bytes.Clone(f[from:to]))
				from = to
			}
		}
		if whole && from < len(f) {
			s.pieces = append(s.pieces, f[from:])
		}
		d.Receive()
		if got := bytes.Equal(memory[:1001], want); got != whole || s.borrowed != tt.want || s.inUse.Load() != 0 {
			t.Errorf("%s: written %t, %d borrowed, want %d, and %d in use", tt.desc, got, s.borrowed, tt.want, s.inUse.Load())
		}
		d.Kill(net.ErrClosed)
	}
}
