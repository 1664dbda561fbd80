package driver

import (
	"bytes"
	"math"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A passing is a script that passes payload from least bytes on in parcels. It takes nothing while
// it is full.
type passing struct {
	script
	full    bool
	least   int
	parcels []*parcelHere
	spare   []*parcelHere
	passed  int // buffers that were parcels
}

const leastPassed = 8 << 10

type parcelHere struct {
	s    *passing
	b    []byte
	uses int
}

func (p *parcelHere) Memory() (b []byte, at int) { return p.b, 8 }

func (p *parcelHere) Release() {
	p.uses--
	p.s.spare = append(p.s.spare, p)
}

func (s *passing) NewParcel(n int) toe.Parcel {
	if n < s.least {
		return nil
	}
	if len(s.spare) == 0 {
		p := &parcelHere{s: s, b: make([]byte, 70_000)}
		s.parcels, s.spare = append(s.parcels, p), append(s.spare, p)
	}
	p := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	p.uses++
	return p
}

func (s *passing) TryWriteBatch(bufs [][]byte) (n int, err error) {
	if s.full {
		return 0, nil
	}
	for _, b := range bufs {
		for _, p := range s.parcels {
			if &b[0] == &p.b[8] {
				s.passed++
			}
		}
	}
	return s.script.TryWriteBatch(bufs)
}

// inUse returns the number of parcels that nobody has released.
func (s *passing) inUse() (n int) {
	for _, p := range s.parcels {
		n += p.uses
	}
	return n
}

// A far is far memory in this process.
type far []byte

func (m far) ReadAt(p []byte, off int64) (int, error)  { return copy(p, m[off:]), nil }
func (m far) WriteAt(p []byte, off int64) (int, error) { return copy(m[off:], p), nil }

// asks returns the FPDU of a Read Request, the number msn, for n bytes of r. tx makes all of them.
func asks(tx *ddp.Sender, out *mpa.Sender, r *ddp.Region, n int) []byte {
	b := mpa.NewBatch(mpa.MinBuffer)
	request := rdmap.ReadRequest{SinkSTag: 5, SinkTO: 100, Size: uint32(n), SourceSTag: r.STag(), SourceTO: r.TO()}.AppendTo(nil)
	tx.Start(&ddp.Message{
		RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, Len: rdmap.ReadRequestLen, Payload: [][]byte{request},
	})
	for tx.Next(1442) {
		out.Append(b, true, tx.Segment().Header, tx.Segment().Payload...)
	}
	return bytes.Join(b.Bufs(), nil)
}

// answering returns a driver that answers Reads of far memory over s.
func answering(t testing.TB, s *passing, crc bool) (p *Driver, m far, ask func(n int)) {
	t.Helper()
	cq, domain := rdmap.NewCompletionQueue(256), new(ddp.Domain)
	qp := rdmap.NewQP(rdmap.Config{QPNum: 1, Domain: domain, IRD: 16, ORD: 2, SendCQ: cq, RecvCQ: cq})
	p = New(Config{
		Stream: s, QP: qp, Start: rdmap.StartParams{IRD: 16, ORD: 2}, Agreement: mpa.Agreement{CRC: crc}, LargeFPDU: true, Taps: &observe.Taps{},
	})
	m = make(far, 200_000)
	for i := range m {
		m[i] = byte(i * 7 / 3)
	}
	r, err := domain.RegisterMemory(m, 0, 4096, uint64(len(m)), ddp.RemoteRead, 0)
	if err != nil {
		t.Fatal(err)
	}
	tx, out := new(ddp.Sender), mpa.NewSender(mpa.Agreement{CRC: crc})
	return p, m, func(n int) {
		t.Helper()
		s.in = append(s.in, asks(tx, out, r, n)...)
		got, off, err := p.rx.readSegment(forHome)
		if err != nil {
			t.Fatal(err)
		}
		p.rx.filled(off, got)
		if !p.rx.place() {
			t.Fatal(p.end.life.why())
		}
		p.rx.giveBack()
	}
}

// payload returns what the Read Responses of a stream bring.
func payload(t *testing.T, b []byte, crc bool) (all []byte) {
	t.Helper()
	rx := mpa.NewReceiver(mpa.Agreement{CRC: crc})
	rx.SetBuffer(make([]byte, max(len(b), mpa.MinBuffer)))
	rx.Fill(0, copy(rx.Free(), b))
	for rx.Next() {
		_, part, err := ddp.ParseTagged(rx.ULPDU().Data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
	}
	if err := rx.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestParcelsOfResponses: Read Responses from far memory go to the stream in its parcels, or in the
// batch if the stream has none for them. No parcel is kept once the stream has the bytes.
func TestParcelsOfResponses(t *testing.T) {
	for _, crc := range []bool{false, true} {
		s := &passing{least: leastPassed}
		p, m, ask := answering(t, s, crc)
		var want []byte
		for _, n := range []int{leastPassed - 1, leastPassed, 50_000, 200_000, 1} {
			ask(n)
			want = append(want, m[:n]...)
		}
		for p.tx.wanted() {
			p.transmit()
		}
		if !bytes.Equal(payload(t, s.out.Bytes(), crc), want) {
			t.Errorf("other bytes, CRC %t", crc)
		}
		if s.passed != 5 || s.inUse() != 0 {
			t.Errorf("%d payloads in parcels, want 5, and %d parcels in use", s.passed, s.inUse())
		}
		if len(s.parcels) > maxParcels {
			t.Errorf("%d parcels at the same time, want %d", len(s.parcels), maxParcels)
		}
	}
}

// TestParcelsGivenUp: a batch that the stream does not take gives its parcels back at the end.
func TestParcelsGivenUp(t *testing.T) {
	s := &passing{full: true, least: leastPassed}
	p, _, ask := answering(t, s, false)
	ask(leastPassed)
	if !p.tx.token.tryTake() {
		t.Fatal("no token")
	}
	defer p.tx.token.free()
	p.tx.beginBatch()
	if !p.tx.fill() || s.inUse() != 1 {
		t.Fatalf("%d parcels in use, want 1", s.inUse())
	}
	if _, whole, err := p.tx.tryWrite(); whole || err != nil || s.inUse() != 1 {
		t.Fatalf("%d parcels in use while the stream is full, want 1: %v", s.inUse(), err)
	}
	if p.tx.abandon(); s.inUse() != 0 {
		t.Errorf("%d parcels in use at the end", s.inUse())
	}
}

// TestNoParcelsForTap: a batch that a Tap sees has all bytes in its own memory.
func TestNoParcelsForTap(t *testing.T) {
	s := &passing{least: leastPassed}
	p, m, ask := answering(t, s, true)
	ask(50_000)
	p.tx.beginBatch()
	if !p.tx.cut(p.tx.mulpdu(), true) || len(s.parcels) != 0 {
		t.Errorf("%d parcels", len(s.parcels))
	}
	if got := bytes.Join(p.tx.batch.Bufs(), nil); !bytes.Equal(payload(t, got, true), m[:50_000]) {
		t.Error("other bytes")
	}
}

// TestAllocResponses: nothing is allocated for a Read Response from far memory.
func TestAllocResponses(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, tt := range []struct{ perBatch, least int }{{maxParcels, leastPassed}, {8, responseLen + 1}} {
		// What other goroutines allocate counts, too, so the least of several rounds does.
		got := math.Inf(1)
		for range 5 {
			got = min(got, allocsOfResponses(t, tt.perBatch, tt.least))
		}
		if got != 0 {
			t.Errorf("%v allocations for a batch of %d responses", got, tt.perBatch)
		}
	}
}

// responseLen is the length in bytes of the responses of allocsOfResponses.
const responseLen = 60_000

// allocsOfResponses returns the number of allocations for a batch of responses.
func allocsOfResponses(t *testing.T, perBatch, least int) float64 {
	const responses = 16
	s := &passing{least: least}
	p, _, ask := answering(t, s, false)
	for range responses {
		ask(responseLen)
	}
	s.out.Grow(responses * 70_000)
	if !p.tx.token.tryTake() {
		t.Fatal("no token")
	}
	defer p.tx.token.free()
	p.tx.beginBatch()
	sent := 0
	got := testing.AllocsPerRun(responses/perBatch-1, func() { // AllocsPerRun calls it once more to warm up
		if p.tx.fill() {
			sent++
		}
		if _, whole, err := p.tx.tryWrite(); !whole || err != nil {
			t.Error(err)
		}
		p.tx.batchSent()
	})
	if sent != responses/perBatch {
		t.Errorf("%d batches of %d responses", sent, perBatch)
	}
	return got
}
