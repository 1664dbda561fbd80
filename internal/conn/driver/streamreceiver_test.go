package driver

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A listeningScript is a script that delivers its bytes in pieces, and records the last SetQuiet
// before each piece.
type listeningScript struct {
	script
	pieces [][]byte
	quiet  bool
	told   []bool
}

func (s *listeningScript) SetQuiet(quiet bool) { s.quiet = quiet }

func (s *listeningScript) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	s.told = append(s.told, s.quiet)
	if len(s.pieces) > 0 {
		s.in, s.pieces = s.pieces[0], s.pieces[1:]
	}
	return s.give(l.Lend())
}

// programMemory is memory of RegisterMemory.
type programMemory struct{}

func (programMemory) ReadAt(p []byte, _ int64) (int, error)  { return len(p), nil }
func (programMemory) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

type noTap struct{}

func (noTap) Sent([]byte)     {}
func (noTap) Received([]byte) {}
func (noTap) Closed()         {}

// TestQuiet: the stream is set quiet while everything it has read is requests for Reads and
// atomics, which concern the peer alone, until a message ends that may have woken the program.
func TestQuiet(t *testing.T) {
	untagged := func(op rdmap.Opcode, msn uint32, payload []byte) []byte {
		h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(op), QN: op.Queue(), MSN: msn}
		return appendFPDU(nil, append(h.AppendTo(nil), payload...))
	}
	domain := new(ddp.Domain)
	region, err := domain.Register(make([]byte, 64), ddp.RemoteRead|ddp.RemoteAtomic, 1)
	if err != nil {
		t.Fatal(err)
	}
	source := rdmap.ReadRequest{SinkSTag: 9, Size: 8, SourceSTag: region.STag(), SourceTO: region.TO()}
	read := func(msn uint32) []byte { return untagged(rdmap.OpReadRequest, msn, source.AppendTo(nil)) }
	send := func(msn uint32) []byte { return untagged(rdmap.OpSend, msn, []byte("hello")) }
	add := rdmap.AtomicRequest{Op: rdmap.AtomicFetchAdd, STag: region.STag(), TO: region.TO()}
	wrong := read(5)
	wrong[20] ^= 1 // in the CRC's range
	calls := new(ddp.Domain)
	if _, err := calls.RegisterMemory(programMemory{}, region.STag(), region.TO(), 64, ddp.RemoteRead, 0); err != nil {
		t.Fatal(err)
	}
	tapped := new(observe.Taps)
	tapped.Init(noTap{})
	for _, tt := range []struct {
		desc   string
		pieces [][]byte
		want   []bool // whether the stream is quiet before each piece, and before its end
		domain *ddp.Domain
		taps   *observe.Taps
	}{
		{"messages", [][]byte{send(1), send(2)}, []bool{false, false, false}, domain, nil},
		{"requests", [][]byte{read(1), untagged(rdmap.OpAtomicRequest, 2, add.AppendTo(nil))}, []bool{false, true, true}, domain, nil},
		{"both at once", [][]byte{read(1), slices.Concat(read(2), send(1)), slices.Concat(send(2), read(3))}, []bool{false, true, false, false}, domain, nil},
		{"pieces of them", [][]byte{read(1)[:20], read(1)[20:], send(1)[:20], send(1)[20:]}, []bool{false, false, true, true, false}, domain, nil},
		{"a wrong request", [][]byte{read(1), wrong}, []bool{false, true}, domain, nil},
		{"a panic", [][]byte{send(1), send(2), read(1), send(3)}, []bool{false, false, false, true}, domain, nil},
		{"requests that a Tap sees", [][]byte{read(1), read(2)}, []bool{false, false, false}, domain, tapped},
		{"requests that call the program's memory", [][]byte{read(1), read(2)}, []bool{false, false, false}, calls, nil},
	} {
		s := &listeningScript{pieces: tt.pieces}
		longest := func(before uint32, _ bool) int {
			if before == 2 {
				panic("the third message")
			}
			return 512
		}
		d := New(Config{
			Stream: s, QP: rdmap.NewQP(rdmap.Config{Domain: tt.domain, QPNum: 1, Extensions: true}), Start: rdmap.StartParams{IRD: 8},
			Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout, Receive: &ReceiveConfig{Depth: 8, Size: 512, Longest: longest},
			Recover: true, Taps: tt.taps,
		})
		d.Receive()
		if told := s.told[:min(len(tt.want), len(s.told))]; !slices.Equal(told, tt.want) || s.quiet {
			t.Errorf("%s: quiet %v, want %v; after the end: %t", tt.desc, told, tt.want, s.quiet)
		}
		d.Kill(net.ErrClosed)
	}
}

// TestOctetsBeyond2GiB: the count of octets does not depend on the size of an int, however the
// stream reports its offsets.
func TestOctetsBeyond2GiB(t *testing.T) {
	var d Driver
	d.rx.count = &d.count
	for edge := uint64(1000); edge < 1<<40; edge *= 7 {
		d.rx.countArrived(0, edge)
		if n := d.count.Load(counters.Received + counters.Octets); n != edge {
			t.Fatalf("%d octets of %d", n, edge)
		}
		d.rx.countArrived(edge, edge+500)
		if n := d.count.Load(counters.Received + counters.Octets); n != edge+500 {
			t.Fatalf("%d octets of %d", n, edge+500)
		}
		d.rx.countArrived(edge+1000, edge+1700) // behind a gap
		if n := d.count.Load(counters.Received + counters.Octets); n != edge+500 || d.rx.waiting != 700 {
			t.Fatalf("%d octets of %d, %d wait", n, edge+500, d.rx.waiting)
		}
	}
}
