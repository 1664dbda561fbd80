package driver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A chopped is a script that delivers its bytes in pieces of lengths that the test chooses.
type chopped struct {
	script
	pieces []int // lengths of the next reads; after the last of them, a read gets all that is left
}

func (s *chopped) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	l.TakeBack()
	p := l.Lend()
	if len(s.pieces) > 0 {
		n, s.pieces = s.pieces[0], s.pieces[1:]
		p = p[:min(n, len(p))]
	}
	return s.give(p)
}

const (
	sessionGuard = 32
	sessionSize  = 2048 // bytes of the Region
	sessionRecv  = 1600 // bytes of each receive buffer
	sessionRecvs = 8
	sessionIRD   = 4 // Reads and atomics in flight
)

// A session is everything that a stream of bytes causes on a whole connection that receives the
// stream.
type session struct {
	memory []byte // guard bytes, the Region, guard bytes
	recvs  [][]byte
	log    []string // Completions, in order
	out    []byte   // what the connection has sent back
	err    error
}

// runSession makes a connection that receives in to its end, cut into these pieces. The driver is
// the real one, without goroutines.
func runSession(t testing.TB, in []byte, pieces []int) session {
	s := &chopped{script: script{in: in}, pieces: pieces}
	var x session
	x.memory = bytes.Repeat([]byte{0xaa}, sessionGuard+sessionSize+sessionGuard)
	domain, _, _ := sessionRegions(t, x.memory[sessionGuard:][:sessionSize:sessionSize])
	cq := rdmap.NewCompletionQueue(sessionRecvs)
	qp := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1, IRD: sessionIRD, ORD: 2, RecvDepth: sessionRecvs, RecvCQ: cq})
	for i := range sessionRecvs {
		b := bytes.Repeat([]byte{0xbb}, sessionRecv+2*sessionGuard)
		x.recvs = append(x.recvs, b)
		if err := qp.PostRecv(rdmap.RecvRequest{ID: uint64(i), Buf: b[sessionGuard:][:sessionRecv:sessionRecv]}); err != nil {
			t.Fatal(err)
		}
	}
	p := New(Config{Stream: s, QP: qp, Start: rdmap.StartParams{IRD: sessionIRD, ORD: 2, Extensions: true}, Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout})
	p.Receive()
	x.err = qp.Err()
	p.Close()
	var one [1]rdmap.Completion
	for cq.Poll(one[:]) == 1 {
		c := one[0]
		if c.Status != rdmap.StatusOK {
			continue // a receive that was flushed at the end
		}
		x.log = append(x.log, fmt.Sprintf("%d: %d octets, immediate %t %x, solicited %t, %.8x", c.ID, c.Len, c.HasImmediate, c.Immediate, c.Solicited,
			crc32.ChecksumIEEE(x.recvs[c.ID][sessionGuard:][:c.Len])))
	}
	x.out = s.out.Bytes()
	return x
}

// intact reports whether the guard bytes are unchanged.
func (x *session) intact() bool {
	ok := bytes.Count(x.memory[:sessionGuard], []byte{0xaa}) == sessionGuard &&
		bytes.Count(x.memory[sessionGuard+sessionSize:], []byte{0xaa}) == sessionGuard
	for _, b := range x.recvs {
		ok = ok && bytes.Count(b[:sessionGuard], []byte{0xbb}) == sessionGuard &&
			bytes.Count(b[sessionGuard+sessionRecv:], []byte{0xbb}) == sessionGuard
	}
	return ok
}

// answers is the buffer of terminate's Receiver.
var answers [mpa.MinBuffer]byte

// terminate returns the codes of the Terminate that the connection has sent back, and ok = false if
// there is none. A Terminate must be the last message.
func (x *session) terminate(t testing.TB) (codes [3]uint8, ok bool) {
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(answers[:])
	for off := 0; off < len(x.out); {
		n := copy(rx.Free(), x.out[off:])
		rx.Fill(uint64(off), n)
		off += n
		for rx.Next() {
			if ok {
				t.Error("an FPDU behind the Terminate")
			}
			h, rest, err := ddp.ParseUntagged(rx.ULPDU().Data)
			if ok = err == nil && h.QN == ddp.QNTerminate; ok {
				term, err := rdmap.ParseTerminate(rest)
				if err != nil {
					t.Error(err)
				}
				codes = [3]uint8{uint8(term.Code >> 12), uint8(term.Code>>8) & 0xF, uint8(term.Code)}
			}
		}
	}
	if rx.Err() != nil || rx.Edge() != uint64(len(x.out)) {
		t.Errorf("what was sent back is not whole FPDUs: %d of %d octets, %v", rx.Edge(), len(x.out), rx.Err())
	}
	return codes, ok
}

// twoKeys is a random source with a fixed output: every Domain gives its first two Regions the same
// STags and TOs.
type twoKeys struct{}

func (twoKeys) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i%12) + byte(i/12)*16 + 1
	}
	return len(p), nil
}

// sessionRegions makes a Domain with the two Regions of every session: mem, and a Region that the
// peer invalidates.
func sessionRegions(t testing.TB, mem []byte) (d *ddp.Domain, whole, other *ddp.Region) {
	d = &ddp.Domain{Random: twoKeys{}}
	whole, err := d.Register(mem, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic, 1)
	if err != nil {
		t.Fatal(err)
	}
	if other, err = d.Register(make([]byte, 8), ddp.RemoteWrite, 1); err != nil {
		t.Fatal(err)
	}
	return d, whole, other
}

// sessionKey returns STag and TO of the Region of every session, and the STag of the other Region.
func sessionKey(t testing.TB) (stag ddp.STag, to uint64, other ddp.STag) {
	_, r, o := sessionRegions(t, make([]byte, sessionSize))
	return r.STag(), r.TO(), o.STag()
}

// canonical returns a session of all operations that a peer can begin, with every length of pad and
// with messages of several segments: its bytes, and where each FPDU begins.
func canonical(t testing.TB) (stream []byte, begins []int) {
	stag, to, other := sessionKey(t)
	var ulpdus [][]byte
	add := func(m ddp.Message, s *ddp.Sender, mulpdu int) {
		s.Start(&m)
		for s.Next(mulpdu) {
			seg := s.Segment()
			ulpdus = append(ulpdus, append(bytes.Clone(seg.Header), bytes.Join(seg.Payload, nil)...))
			s.Release()
		}
	}
	message := func(op rdmap.Opcode, payload []byte) ddp.Message {
		m := ddp.Message{RsvdULP: rdmap.Control(op), Payload: [][]byte{payload}, Len: uint32(len(payload))}
		switch op {
		case rdmap.OpReadRequest, rdmap.OpAtomicRequest:
			m.QN = ddp.QNReadRequest
		case rdmap.OpWrite:
			m.Tagged, m.STag, m.TO = true, stag, to
		}
		return m
	}
	octets := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i*7 + n)
		}
		return b
	}
	var s ddp.Sender
	for n := range 4 { // every pad
		add(message(rdmap.OpWrite, octets(40+n)), &s, 1000)
		add(message(rdmap.OpSend, octets(9+n)), &s, 1000)
	}
	add(message(rdmap.OpWrite, octets(1480)), &s, 1494) // an FPDU of 1500 bytes
	add(message(rdmap.OpWrite, nil), &s, 1000)
	add(message(rdmap.OpSendSE, octets(300)), &s, 128) // three segments
	add(message(rdmap.OpReadRequest, rdmap.ReadRequest{SinkSTag: 9, SinkTO: 77, Size: 333, SourceSTag: stag, SourceTO: to + 3}.AppendTo(nil)), &s, 1000)
	add(message(rdmap.OpImmediate, octets(8)), &s, 1000)
	add(message(rdmap.OpAtomicRequest, rdmap.AtomicRequest{ID: 4, STag: stag, TO: to, Data: 3, CompareMask: 1<<64 - 1}.AppendTo(nil)), &s, 1000)
	add(message(rdmap.OpImmediateSE, octets(8)), &s, 1000)
	add(message(rdmap.OpReadRequest, rdmap.ReadRequest{SinkSTag: 9}.AppendTo(nil)), &s, 1000)
	invalidate := message(rdmap.OpSendInvalidate, octets(5))
	invalidate.RsvdULP32 = uint32(other)
	add(invalidate, &s, 1000)
	for _, u := range ulpdus {
		begins = append(begins, len(stream))
		stream = appendFPDU(stream, u)
	}
	return stream, begins
}

// appendFPDU appends the FPDU of a ULPDU of up to 65535 bytes.
func appendFPDU(stream, ulpdu []byte) []byte {
	begin := len(stream)
	stream = binary.BigEndian.AppendUint16(stream, uint16(len(ulpdu)))
	stream = append(stream, ulpdu...)
	for (len(stream)-begin)%4 != 0 {
		stream = append(stream, 0)
	}
	return binary.LittleEndian.AppendUint32(stream, crc32.Checksum(stream[begin:], crc32.MakeTable(crc32.Castagnoli)))
}

func (x *session) equal(y *session) bool {
	return bytes.Equal(x.memory, y.memory) && slices.Equal(x.log, y.log) && bytes.Equal(x.out, y.out) &&
		slices.EqualFunc(x.recvs, y.recvs, bytes.Equal)
}

// TestSessionAnySplit delivers the canonical session cut at every offset, byte by byte, and in
// random pieces. The Completions, the memory and the answers must be the same as for the session in
// one piece.
//
// MPA-5044-6-5, MPA-5044-1.2-3, MPA-5044-3-9, MPA-5044-5.1-6, MPA-5044-5.2-1, MPA-5044-A.4-1
func TestSessionAnySplit(t *testing.T) {
	stream, begins := canonical(t)
	whole := runSession(t, stream, nil)
	if len(whole.log) != 8 || len(whole.out) < 333 || !whole.intact() {
		t.Fatalf("the whole session: %d Completions, %d octets back, error %v", len(whole.log), len(whole.out), whole.err)
	}
	runs := 0
	check := func(desc string, pieces []int) {
		if x := runSession(t, stream, pieces); !x.equal(&whole) {
			t.Fatalf("%s: %d Completions %q, %d octets back, error %v; want %q, %d", desc, len(x.log), x.log, len(x.out), x.err, whole.log, len(whole.out))
		}
		runs++
	}
	check("octet by octet", slices.Repeat([]int{1}, len(stream)))
	step := 1
	if !testmode.Full {
		step = 17
	}
	for cut := 1; cut < len(stream); cut += step {
		check(fmt.Sprintf("cut at %d", cut), []int{cut})
	}
	for _, begin := range begins[1:] { // around every FPDU, in three pieces
		for d := range 12 {
			check(fmt.Sprintf("cut at %d", begin-d), []int{begin - d, min(d+1, 4)})
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		var pieces []int
		for range 400 {
			pieces = append(pieces, 1+rnd.IntN(60))
		}
		check(fmt.Sprintf("pieces %v", pieces), pieces)
	}
	t.Logf("%d octets, %d FPDUs, %d splits: the same Completions, memory and answers", len(stream), len(begins), runs)
}

// TestSessionCorruption flips each bit of the canonical session, on a whole connection. The
// messages before the bad FPDU are delivered. No byte of the bad FPDU is placed, nothing behind it
// is delivered, and the Terminate says CRC.
//
// MPA-5044-8-2, MPA-5044-8-12, MPA-5044-6-1
func TestSessionCorruption(t *testing.T) {
	stream, begins := canonical(t)
	// until[k] is the session that ends after the first k FPDUs.
	until := make([]session, len(begins))
	for i, begin := range begins {
		until[i] = runSession(t, stream[:begin], nil)
	}
	tail := make([]byte, 66000) // so that an FPDU with a longer length is complete
	step := 1
	if !testmode.Full {
		step = 41
	}
	flips := 0
	for bit := 0; bit < 8*len(stream); bit += step {
		k, found := slices.BinarySearch(begins, bit/8)
		if !found {
			k--
		}
		bad := append(bytes.Clone(stream), tail...)
		bad[bit/8] ^= 1 << (bit % 8)
		var pieces []int
		if k > 0 {
			pieces = []int{begins[k]} // the good FPDUs are answered before the bad FPDU arrives
		}
		x := runSession(t, bad, pieces)
		if !bytes.Equal(x.memory, until[k].memory) || !slices.Equal(x.log, until[k].log) || !slices.EqualFunc(x.recvs, until[k].recvs, bytes.Equal) {
			t.Fatalf("bit %d of FPDU %d: octets placed or messages delivered: %q, want %q", bit, k, x.log, until[k].log)
		}
		codes, ok := x.terminate(t)
		// "MPA Responder mode implementations MUST receive and validate at least one FPDU before
		// sending any FPDUs" (RFC 5044 §7.1.2): the driver here is not fenced, so it reports an
		// error in the first FPDU, too.
		if !ok || codes != [3]uint8{2, 0, 2} {
			t.Fatalf("bit %d of FPDU %d: Terminate %v, %t, want an MPA CRC error", bit, k, codes, ok)
		}
		flips++
	}
	t.Logf("%d flips in %d octets, one for each session: a CRC error each, 0 octets of the bad FPDU placed", flips, len(stream))
}

// TestSessionULPDULength delivers a Write and a Send of every length with a good CRC, as the first
// FPDU and after another FPDU, on a whole connection.
//
// DDP-5041-7.1-16, DDP-5041-7.1-20
func TestSessionULPDULength(t *testing.T) {
	stag, to, _ := sessionKey(t)
	first := append(ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), MSN: 1}.AppendTo(nil), 1, 2, 3)
	body := bytes.Repeat([]byte{0x77}, 65536)
	step := 1
	if !testmode.Full {
		step = 173
	}
	cases := 0
	for n := 0; n <= 65535; n += step {
		if !testmode.Full && n > 20 && n < 60 {
			n -= step - 1
		}
		for way := range 4 {
			tagged, later := way&1 != 0, way&2 != 0
			if n > 2100 && n%4 != way {
				continue // the long ones take turns
			}
			var stream []byte
			msn := uint32(1)
			if later {
				stream, msn = appendFPDU(nil, first), 2
			}
			var h []byte
			room, tooLong := sessionRecv, [3]uint8{1, 2, 5}
			if tagged {
				room, tooLong = sessionSize, [3]uint8{1, 1, 1}
				h = ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: stag, TO: to}.AppendTo(nil)
			} else {
				h = ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), MSN: msn}.AppendTo(nil)
			}
			u := append(h, body[:max(n-len(h), 0)]...)[:n]
			x := runSession(t, appendFPDU(stream, u), nil)
			codes, ok := x.terminate(t)
			var want [3]uint8
			switch {
			case n < len(h):
				want = [3]uint8{1, 0, 0}
			case n-len(h) > room:
				want = tooLong
			}
			placed := bytes.Count(x.memory, []byte{0x77})
			for _, b := range x.recvs {
				placed += bytes.Count(b, []byte{0x77})
			}
			wantPlaced := n - len(h)
			if want != [3]uint8{} {
				wantPlaced = 0
			}
			if ok != (want != [3]uint8{}) || codes != want || placed != wantPlaced || !x.intact() {
				t.Fatalf("%d octets, tagged %t, behind another %t: Terminate %v %t, %d octets placed; want %v, %d", n, tagged, later, codes, ok, placed, want, wantPlaced)
			}
			cases++
		}
	}
	t.Logf("%d connections: the right Terminate each, 0 octets outside", cases)
}

// TestSessionManyTerminates delivers a hundred thousand Terminates, complete and cut short, on one
// connection. The connection ends with the first, and at most one Terminate goes back.
func TestSessionManyTerminates(t *testing.T) {
	storm := 1000
	if testmode.Full {
		storm = 100_000
	}
	for n := range 8 { // bytes of Terminate Header in the first of them
		var stream []byte
		for i := range storm {
			h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: uint32(i + 1)}
			stream = appendFPDU(stream, append(h.AppendTo(nil), make([]byte, n)...))
		}
		x := runSession(t, stream, nil)
		codes, ok := x.terminate(t)
		if malformed := n < 4; ok != malformed || ok && codes != [3]uint8{0, 2, 0xFF} || len(x.out) > 100 || len(x.log) > 0 || x.err == nil {
			t.Errorf("%d Terminates of %d octets: %d octets back, Terminate %v %t, error %v", storm, n, len(x.out), codes, ok, x.err)
		}
	}
	t.Logf("8 storms of %d Terminates: at most 1 back", storm)
}
