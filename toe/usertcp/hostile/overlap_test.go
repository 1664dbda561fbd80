package hostile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp"
)

// The tests of this file give MPA and DDP overlapping segments whose bytes differ, early and in
// order. A model with one entry for each FPDU, and so for each sequence number, says what may be in
// memory and what may be delivered.

const (
	overlapVariants = 3    // of the stream; variant 0 is the peer's
	untouched       = 0xEE // the content of memory before anything is placed
)

// An overlapScript is a stream of RDMA Writes and Sends, in several variants. The FPDUs of all
// variants are valid and at the same places, but their payloads differ.
type overlapScript struct {
	streams  [overlapVariants][]byte
	payloads [overlapVariants][]byte // in the order of memory
	fpdus    []overlapFPDU
	messages []overlapMessage
	domain   *ddp.Domain
	region   *ddp.Region
	memory   []byte // of the Region; the buffers of Sends are parts of it
}

// An overlapFPDU is the place of an FPDU in the stream, and the place of its payload in memory.
type overlapFPDU struct{ start, end, from, to int }

type overlapMessage struct {
	tagged   bool
	from, to int // in memory
	fpdus    []int
}

func newOverlapScript(t testing.TB, random *rand.Rand) *overlapScript {
	t.Helper()
	s := &overlapScript{domain: new(ddp.Domain)}
	for range 4 + random.IntN(5) {
		from := 0
		if n := len(s.messages); n > 0 {
			from = s.messages[n-1].to
		}
		s.messages = append(s.messages, overlapMessage{tagged: random.IntN(3) > 0, from: from, to: from + 20 + random.IntN(400)})
	}
	s.memory = make([]byte, s.messages[len(s.messages)-1].to)
	var err error
	if s.region, err = s.domain.Register(s.memory, ddp.RemoteWrite, 1); err != nil {
		t.Fatal(err)
	}
	mulpdu := 60 + random.IntN(200)
	for v := range s.streams {
		s.payloads[v] = make([]byte, len(s.memory))
		for i := range s.payloads[v] {
			s.payloads[v][i] = byte(random.Uint32())
		}
		s.build(v, mulpdu)
	}
	return s
}

// build makes the stream of variant v.
func (s *overlapScript) build(v, mulpdu int) {
	tx := mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: true})
	batch := mpa.NewBatch(mpa.MinBuffer)
	var sender ddp.Sender
	for k := range s.messages {
		m := &s.messages[k]
		out := ddp.Message{Tagged: m.tagged, STag: s.region.STag(), TO: s.region.TO() + uint64(m.from), Len: uint32(m.to - m.from)}
		out.Payload = [][]byte{s.payloads[v][m.from:m.to]}
		at := m.from
		for sender.Start(&out); sender.Next(mulpdu); sender.Release() {
			seg := sender.Segment()
			start := int(tx.Off())
			tx.Append(batch, true, seg.Header, seg.Payload...)
			s.streams[v] = append(s.streams[v], bytes.Join(batch.Bufs(), nil)...)
			batch.Reset()
			if v > 0 {
				continue
			}
			n := len(bytes.Join(seg.Payload, nil))
			m.fpdus = append(m.fpdus, len(s.fpdus))
			s.fpdus = append(s.fpdus, overlapFPDU{start: start, end: int(tx.Off()), from: at, to: at + n})
			at += n
		}
	}
}

// variantOf returns the variant whose FPDU i is b, or -1 if b is not a valid FPDU.
func (s *overlapScript) variantOf(i int, b []byte) int {
	for v := range s.streams {
		if bytes.Equal(s.streams[v][s.fpdus[i].start:s.fpdus[i].end], b) {
			return v
		}
	}
	return -1
}

// at returns the FPDU that begins at stream offset off, or -1.
func (s *overlapScript) at(off uint64) int {
	for i := range s.fpdus {
		if s.fpdus[i].start == int(off) {
			return i
		}
	}
	return -1
}

// An overlapEnd is MPA and DDP as the driver uses them, and the model.
type overlapEnd struct {
	*overlapScript
	random    *rand.Rand
	mpa       *mpa.Receiver
	ddp       *ddp.Receiver
	tcp       []byte // what TCP's stream says
	placed    []int  // for each FPDU the variant that was placed first, or -1
	early     []bool // for each FPDU whether it was placed before its turn
	want      []byte // the expected content of memory
	delivered int    // messages
}

// newEnd makes an end of the stream. buf is the memory that it reads into.
func (s *overlapScript) newEnd(random *rand.Rand, buf []byte) *overlapEnd {
	e := &overlapEnd{overlapScript: s, random: random, placed: make([]int, len(s.fpdus)), early: make([]bool, len(s.fpdus))}
	for i := range e.placed {
		e.placed[i] = -1
	}
	for i := range s.memory {
		s.memory[i] = untouched
	}
	e.want = bytes.Clone(s.memory)
	q := ddp.NewQueue(len(s.messages), 0)
	for k, m := range s.messages {
		if !m.tagged {
			q.Post(nil, s.memory[m.from:m.to:m.to], uint64(k))
		}
	}
	config := ddp.ReceiverConfig{Stream: ddp.NewStream(s.domain, 1)}
	config.Queues[ddp.QNSend] = q
	e.ddp = ddp.NewReceiver(config)
	e.mpa = mpa.NewReceiver(mpa.Agreement{CRC: true, RxMarkers: true})
	e.mpa.SetBuffer(buf)
	return e
}

// input gives the end a run of the stream, in order or early, and checks the effect.
func (e *overlapEnd) input(off uint64, run []byte) error {
	if int(off) == len(e.tcp) {
		e.tcp = append(e.tcp, run...)
	}
	e.mpa.Fill(off, copy(e.mpa.Free(), run))
	for e.mpa.Next() {
		u := e.mpa.ULPDU()
		i := e.at(u.Off)
		if i < 0 {
			return fmt.Errorf("MPA shows an FPDU at %d", u.Off)
		}
		f := e.fpdus[i]
		if u.Early {
			if e.random.IntN(8) == 0 || !e.ddp.TryPlace(u.Off, u.Data) {
				e.mpa.Unread()
				continue
			}
			e.early[i] = true
			if err := e.place(i, run[f.start-int(off):f.end-int(off)]); err != nil {
				return err
			}
			continue
		}
		if err := e.deliver(u.Off); err != nil {
			return err
		}
		e.ddp.Place(u.Off, u.Data)
		if err := e.place(i, e.tcp[f.start:f.end]); err != nil {
			return err
		}
	}
	if err := e.deliver(e.mpa.Edge()); err != nil {
		return err
	}
	if !bytes.Equal(e.memory, e.want) {
		return fmt.Errorf("after %d bytes at %d, memory differs from the first valid bytes", len(run), off)
	}
	return nil
}

// place records that FPDU i has been placed from b.
func (e *overlapEnd) place(i int, b []byte) error {
	v, f := e.variantOf(i, b), e.fpdus[i]
	switch {
	case v < 0:
		return fmt.Errorf("FPDU %d is placed, though it is not valid", i)
	case e.placed[i] >= 0:
		return fmt.Errorf("FPDU %d is placed twice", i)
	}
	e.placed[i] = v
	copy(e.want[f.from:f.to], e.payloads[v][f.from:f.to])
	return nil
}

// deliver checks the messages that are delivered below edge. Everything in them must have been
// placed, and no byte may differ from a valid FPDU in TCP's stream.
func (e *overlapEnd) deliver(edge uint64) error {
	for e.ddp.Deliver(edge) {
		m, want := e.ddp.Message(), &e.messages[e.delivered]
		if m.Tagged != want.tagged || int(m.Len) != want.to-want.from || !m.Tagged && m.ID != uint64(e.delivered) {
			return fmt.Errorf("message %d is delivered as %+v", e.delivered, m)
		}
		for _, i := range want.fpdus {
			f := e.fpdus[i]
			if e.placed[i] < 0 || f.end > len(e.tcp) {
				return fmt.Errorf("message %d is delivered without FPDU %d", e.delivered, i)
			}
			if v := e.variantOf(i, e.tcp[f.start:f.end]); v >= 0 && v != e.placed[i] {
				return fmt.Errorf("message %d is delivered with variant %d of FPDU %d, TCP's stream has %d", e.delivered, e.placed[i], i, v)
			}
		}
		e.delivered++
	}
	return e.ddp.Err()
}

// placedEarly returns the number of FPDUs that were placed before their turn.
func (e *overlapEnd) placedEarly() (n int) {
	for _, is := range e.early {
		if is {
			n++
		}
	}
	return n
}

// An overlapOutcome is how a stream ended.
type overlapOutcome int

const (
	overlapComplete     overlapOutcome = iota
	overlapDamaged                     // TCP's stream has an FPDU that is not valid and was not placed early
	overlapContradicted                // TCP's stream has a valid FPDU that differs from the one placed early
)

// finish checks the end when TCP's stream is complete: the end must have processed as much as the
// model says.
func (e *overlapEnd) finish() (overlapOutcome, error) {
	outcome, edge := overlapComplete, uint64(len(e.streams[0]))
	for i, f := range e.fpdus {
		v := -1
		if f.end <= len(e.tcp) {
			v = e.variantOf(i, e.tcp[f.start:f.end])
		}
		switch {
		case !e.early[i] && v < 0:
			outcome = overlapDamaged
		case e.early[i] && v >= 0 && v != e.placed[i]:
			outcome = overlapContradicted
		default:
			continue
		}
		edge = uint64(f.start)
		break
	}
	if got := e.mpa.Edge(); got != edge {
		return outcome, fmt.Errorf("Edge = %d, want %d (Err: %v)", got, edge, e.mpa.Err())
	}
	var err *mpa.Error
	switch isError := errors.As(e.mpa.Err(), &err); {
	case outcome == overlapComplete && (isError || e.delivered != len(e.messages)):
		return outcome, fmt.Errorf("%d messages of %d are delivered, Err: %v", e.delivered, len(e.messages), e.mpa.Err())
	case outcome == overlapContradicted && (!isError || err.Code != mpa.CodeCRC):
		return outcome, fmt.Errorf("Err = %v, want a CRC error", e.mpa.Err())
	case outcome == overlapDamaged && !isError: // the length may be damaged
		if errors.As(e.mpa.EOF(), &err); err.Graceful {
			return outcome, errors.New("an FPDU is not valid, and the stream ends in order")
		}
	}
	return outcome, nil
}

// An overlapSegment is a segment at stream offset off.
type overlapSegment struct {
	off     int
	payload []byte
}

// segments draws segments that repeat, enclose and overlap one another. Most have the peer's bytes,
// some those of another variant, and some are damaged.
func (s *overlapScript) segments(random *rand.Rand, n int) (segments []overlapSegment) {
	size := len(s.streams[0])
	for range n {
		a, b := random.IntN(size), random.IntN(size)
		if k := len(segments); k > 0 && random.IntN(2) == 0 {
			r := segments[random.IntN(k)]
			switch end := r.off + len(r.payload); random.IntN(4) {
			case 0: // the same
				a, b = r.off, end-1
			case 1: // enclosing
				a, b = min(a, r.off), max(b, end-1)
			case 2: // inside
				a, b = r.off+a%len(r.payload), r.off+b%len(r.payload)
			case 3: // over its end
				a, b = r.off+len(r.payload)/2, min(size-1, end+b/4)
			}
		}
		if random.IntN(3) == 0 { // aligned to FPDUs
			f, g := s.fpdus[random.IntN(len(s.fpdus))], s.fpdus[random.IntN(len(s.fpdus))]
			a, b = min(f.start, g.start), max(f.end, g.end)-1
		}
		a, b = min(a, b), max(a, b)+1
		v := max(0, random.IntN(2*overlapVariants)-overlapVariants)
		p := bytes.Clone(s.streams[v][a:b])
		if random.IntN(6) == 0 {
			for range 1 + random.IntN(3) {
				p[random.IntN(len(p))] ^= byte(1 + random.IntN(255))
			}
		}
		segments = append(segments, overlapSegment{a, p})
	}
	return segments
}

// An overlapTCP is a TCP that keeps, for each sequence number behind the gap, the bytes that came
// first or those that came last.
type overlapTCP struct {
	*overlapEnd
	newest  bool
	content []byte
	present []bool
}

// arrive gives the end the result of a segment in TCP.
func (c *overlapTCP) arrive(s overlapSegment) error {
	edge := len(c.tcp)
	if s.off > edge && c.random.IntN(10) > 0 {
		if err := c.input(uint64(s.off), s.payload); err != nil {
			return err
		}
	}
	for i, b := range s.payload {
		if at := s.off + i; at >= edge && (c.newest || !c.present[at]) {
			c.content[at], c.present[at] = b, true
		}
	}
	for edge < len(c.content) && c.present[edge] {
		n := 1
		for edge+n < len(c.content) && c.present[edge+n] {
			n++
		}
		n -= c.random.IntN(n) / 2 // the reader may be slow
		if err := c.input(uint64(edge), c.content[edge:edge+n]); err != nil {
			return err
		}
		edge += n
	}
	return nil
}

// TestOverlapsPlaceFirstValid gives MPA and DDP random sets of overlapping segments with different
// bytes, early and in order: each byte in memory is the first valid one, a placed byte never
// changes, and delivered bytes have been placed and agree with TCP's stream.
func TestOverlapsPlaceFirstValid(t *testing.T) {
	cases := testmode.Cases(1_000_000)
	if testmode.Slow() {
		cases /= 10
	}
	random := seeded(t)
	buf := make([]byte, 2*mpa.MinBuffer)
	var outcomes [3]int
	early := 0
	var script *overlapScript
	for n := range cases {
		if n%50 == 0 {
			script = newOverlapScript(t, random)
		}
		size := len(script.streams[0])
		c := &overlapTCP{overlapEnd: script.newEnd(random, buf), newest: random.IntN(2) == 0, content: make([]byte, size), present: make([]bool, size)}
		segments := script.segments(random, 1+random.IntN(8))
		segments = append(segments, overlapSegment{0, script.streams[0]}) // the peer's retransmission
		for _, s := range segments {
			if err := c.arrive(s); err != nil {
				t.Fatalf("case %d: %v", n, err)
			}
		}
		outcome, err := c.finish()
		if err != nil {
			t.Fatalf("case %d: %v", n, err)
		}
		outcomes[outcome]++
		early += c.placedEarly()
	}
	t.Logf("%d cases, %d FPDUs placed early: %d streams complete, %d ended by a damaged FPDU, %d by another valid one",
		cases, early, outcomes[overlapComplete], outcomes[overlapDamaged], outcomes[overlapContradicted])
	for outcome, n := range outcomes {
		if n < cases/50 {
			t.Errorf("only %d cases have outcome %d", n, outcome)
		}
	}
}

// TestOverlapsOverTCP sends such segments to a Stack, whose TCP decides which bytes the stream has.
func TestOverlapsOverTCP(t *testing.T) {
	connections := testmode.Count(10_000, 200)
	random := seeded(t)
	p := newRawPeer(t)
	buf, segment := make([]byte, 2*mpa.MinBuffer), make([]byte, 64<<10)
	var outcomes [3]int
	early := 0
	var script *overlapScript
	for n := range connections {
		if n%20 == 0 {
			script = newOverlapScript(t, random)
		}
		c := p.connect()
		c.SetReadDeadline(prototest.Deadline(t))
		e := script.newEnd(rand.New(rand.NewPCG(random.Uint64(), 0)), buf)
		ended := make(chan error, 1)
		go func() { ended <- e.receive(c, segment) }()
		for _, s := range script.segments(random, 1+random.IntN(8)) {
			p.segment(s.off, s.payload)
			for range random.IntN(4) {
				runtime.Gosched() // the Stream may show the run, or the next one comes first
			}
		}
		p.segment(0, script.streams[0])
		p.finish(len(script.streams[0]))
		if err := <-ended; err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		outcome, err := e.finish()
		if err != nil {
			t.Fatalf("connection %d: %v", n, err)
		}
		outcomes[outcome]++
		early += e.placedEarly()
		c.(*usertcp.Stream).Abort()
	}
	t.Logf("%d connections, %d FPDUs placed early: %d streams complete, %d ended by a damaged FPDU, %d by another valid one",
		connections, early, outcomes[overlapComplete], outcomes[overlapDamaged], outcomes[overlapContradicted])
	if early < connections/10 || outcomes[overlapComplete] == 0 || outcomes[overlapDamaged] == 0 {
		t.Error("the cases test too little")
	}
}

// receive gives the end the runs that a Stream shows, until the FIN.
func (e *overlapEnd) receive(c toe.Stream, segment []byte) error {
	for {
		n, off, err := c.ReadSegment(lent(segment), 0)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if int(off) < len(e.tcp) {
			return fmt.Errorf("ReadSegment returns bytes at %d again, after %d", off, len(e.tcp))
		}
		if err := e.input(off, segment[:n]); err != nil {
			return err
		}
	}
}
