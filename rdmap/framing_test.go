package rdmap

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

var seeded = prototest.Seeded

const (
	targetRoom = 256 // octets of a target's Region and of its receive buffer
	targetTO   = 1 << 62
	guardOctet = 0xA5
)

// targetMemory is the memory that all targets expose: a Region that can be read and written, and a
// receive buffer, both with guard octets around them.
type targetMemory struct {
	domain *ddp.Domain
	region *ddp.Region
	all    []byte // of the Region: 64 guard octets on each side
	buf    []byte // the same of the receive buffer
	stream uint64
}

func newTargetMemory(t testing.TB) *targetMemory {
	m := &targetMemory{domain: new(ddp.Domain)}
	m.all = aligned(targetRoom + 128)
	m.buf = make([]byte, targetRoom+128)
	m.clear()
	var err error
	if m.region, err = m.domain.Register(m.all[64:64+targetRoom:64+targetRoom], allAccess, 0); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *targetMemory) clear() {
	for i := range m.all {
		m.all[i] = guardOctet
	}
	for i := range m.buf {
		m.buf[i] = guardOctet
	}
}

// intact reports whether the guard octets are unchanged.
func (m *targetMemory) intact() bool {
	for _, b := range [][]byte{m.all[:64], m.all[64+targetRoom:], m.buf[:64], m.buf[64+targetRoom:]} {
		for _, o := range b {
			if o != guardOctet {
				return false
			}
		}
	}
	return true
}

// A target is one stream that receives segments, as cheap as possible.
type target struct {
	*targetMemory
	qp  *QP
	rx  *ddp.Receiver
	off uint64
}

// newTarget makes a stream with one receive buffer for each of recvs messages.
func (m *targetMemory) newTarget(extensions bool, recvs int) *target {
	m.stream++
	x := &target{targetMemory: m}
	x.qp = NewQP(Config{SendDepth: 1, RecvDepth: recvs, Domain: m.domain, QPNum: m.stream})
	for i := range recvs {
		if err := x.qp.PostRecv(RecvRequest{ID: uint64(i), Buf: m.buf[64 : 64+targetRoom : 64+targetRoom]}); err != nil {
			panic(err)
		}
	}
	x.rx = ddp.NewReceiver(x.qp.Start(StartParams{IRD: 1, ORD: 1, Extensions: extensions}))
	return x
}

// hit lets a segment arrive.
func (x *target) hit(ulpdu []byte) {
	x.rx.Place(x.off, ulpdu)
	x.off += uint64(len(ulpdu)) + 6
	for x.rx.Deliver(x.off) {
		x.qp.Handle(x.rx.Message())
	}
	if err := x.rx.Err(); err != nil {
		x.qp.Fail(err)
	}
}

// A verdict is the effect of a segment.
type verdict struct {
	refused  bool // with a Terminate of this code
	code     TerminateCode
	received bool // a receive completes
	answered bool // a response goes out
	ended    bool // the stream is over without a Terminate of ours
}

func refused(layer, etype, code uint8) verdict {
	return verdict{refused: true, code: makeCode(layer, etype, code)}
}

// see returns the state of the stream. Nothing goes out after a Terminate.
func (x *target) see() (v verdict, err error) {
	for n := 0; x.qp.NextMessage(); n++ {
		m := x.qp.Message()
		op, _ := ParseControl(m.RsvdULP)
		if v.refused || n > 1 {
			return v, fmt.Errorf("%v goes out after a Terminate, or too many messages", op)
		}
		switch op {
		case OpTerminate:
			t, err := ParseTerminate(m.Payload[0])
			if err != nil {
				return v, err
			}
			v.refused, v.code = true, t.Code
		default:
			v.answered = true
		}
		x.qp.Sent(1)
	}
	v.ended = x.qp.now() != stateRTS && !v.refused
	var one [1]Completion
	for x.qp.cfg.RecvCQ.Poll(one[:]) == 1 {
		if one[0].Status == StatusOK {
			v.received = true
		}
	}
	return v, nil
}

// expected returns the verdict of RFC 5040, 5041 and 7306 about a segment of n octets that is the
// first, or the next in order, of its queue: with valid STag and TO, or MSN and offset, and with a
// payload of zeros. Nothing is outstanding.
func expected(control, rdmapControl byte, qn ddp.QN, n int, extensions bool) verdict {
	tagged, last := control&0x80 != 0 && n > 0, control&0x40 != 0
	headerLen := 18
	if tagged {
		headerLen = 14
	}
	op, p := Opcode(rdmapControl&0x0F), n-headerLen
	switch { // DDP first: RFC 5041 §7.2
	case p < 0:
		return refused(1, 0, 0)
	case control&3 != 1 && tagged:
		return refused(1, 1, 4)
	case control&3 != 1:
		return refused(1, 2, 6)
	}
	switch { // then the RDMAP Control Field: RFC 5040 §7.2
	case rdmapControl>>6 != 1:
		return refused(0, 2, 5)
	case op > OpAtomicResponse || op >= OpImmediate && !extensions:
		return refused(0, 2, 6)
	case tagged != (op == OpWrite || op == OpReadResponse):
		return refused(0, 2, 6)
	}
	if tagged {
		switch {
		case op == OpReadResponse && p > 0:
			return refused(1, 1, 0) // the Region is not the sink of a Read
		case op == OpReadResponse && last:
			return refused(0, 2, 6) // answers nothing
		case p > targetRoom:
			return refused(1, 1, 1)
		}
		return verdict{}
	}
	if qn >= 4 || qn == 3 && !extensions {
		return refused(1, 2, 1)
	}
	want := map[Opcode]ddp.QN{OpReadRequest: 1, OpAtomicRequest: 1, OpTerminate: 2, OpAtomicResponse: 3}[op]
	if qn != want {
		return refused(0, 2, 6)
	}
	exact, room := -1, targetRoom // octets that the header must have, and octets of the buffer
	switch op {
	case OpReadRequest:
		exact, room = 28, 28
		if extensions {
			room = 52
		}
	case OpAtomicRequest:
		exact, room = 52, 52
	case OpAtomicResponse:
		exact, room = 12, 12
	case OpImmediate, OpImmediateSE:
		exact, room = 8, 8
	case OpTerminate:
		room = terminateBufferLen
	}
	switch {
	case p > room:
		return refused(1, 2, 5)
	case !last:
		return verdict{}
	case exact >= 0 && p != exact, op == OpTerminate && p < 4:
		return refused(0, 2, 0xFF)
	}
	switch op {
	case OpReadRequest:
		return verdict{answered: true} // of length 0
	case OpAtomicRequest:
		return refused(0, 1, 0) // of STag 0
	case OpAtomicResponse:
		return refused(0, 2, 6) // answers nothing
	case OpTerminate:
		return verdict{ended: true}
	case OpSendInvalidate, OpSendSEInvalidate:
		return refused(0, 2, 9) // STag 0
	}
	return verdict{received: true}
}

// shape puts a DDP header at the front of b: valid except for the two control octets.
func (m *targetMemory) shape(b []byte, control, rdmapControl byte, qn ddp.QN, msn uint32) {
	if control&0x80 != 0 {
		copy(b, ddp.TaggedHeader{RsvdULP: rdmapControl, STag: m.region.STag(), TO: m.region.TO()}.AppendTo(nil))
	} else {
		copy(b, ddp.UntaggedHeader{RsvdULP: rdmapControl, QN: qn, MSN: msn}.AppendTo(nil))
	}
	b[0] = control
}

// TestULPDULength sends segments of every length to a stream, with each opcode, with and without
// the T and the L bit. The stream must send the right Terminate, or none if the RFC and the room
// allow the segment, and must write nothing outside the exposed memory.
//
// DDP-5041-7.1-16, DDP-5041-7.1-20, RDMAP-5040-7.2-1, RDMAP-5040-7.2-6
func TestULPDULength(t *testing.T) {
	m := newTargetMemory(t)
	b := make([]byte, 65535+18)
	cases, refusals := 0, 0
	for op := range byte(16) {
		for _, control := range []byte{0x01, 0x41, 0x81, 0xC1} {
			qn := Opcode(op).Queue()
			clear(b[:18])
			m.shape(b, control, 0x40|op, qn, 1)
			for n := 0; n <= 65535; n++ {
				if !testmode.Full && n > 400 {
					n += 4001
				}
				x := m.newTarget(true, 1)
				x.hit(b[:min(n, 65535)])
				got, err := x.see()
				want := expected(control, 0x40|op, qn, min(n, 65535), true)
				if got != want || err != nil {
					t.Fatalf("%v, control %#02x, %d octets: %+v, %v, want %+v", Opcode(op), control, n, got, err, want)
				}
				cases++
				if got.refused {
					refusals++
				}
				if cases%4096 == 0 && !m.intact() {
					t.Fatalf("%v, control %#02x, up to %d octets: guard octets have changed", Opcode(op), control, n)
				}
			}
		}
	}
	if !m.intact() {
		t.Error("guard octets have changed")
	}
	t.Logf("%d segments: 16 opcodes, T and L, lengths 0 to 65535; %d ended in the right Terminate; 0 octets outside", cases, refusals)
}

// TestControlOctets sweeps both control octets, 2^16 combinations, as the first segment of a stream
// and behind a good one, with and without RFC 7306's operations; and the QN of each opcode.
//
// DDP-5041-7.1-2, DDP-5041-7.1-22, RDMAP-5040-7.2-2, RDMAP-5040-7.2-3, RDMAP-5040-7.2-7,
// RDMAP-5040-7.2-8
func TestControlOctets(t *testing.T) {
	m := newTargetMemory(t)
	good := ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpSend), MSN: 1}.AppendTo(nil)
	b := make([]byte, 18+28)
	cases, refusals := 0, 0
	judge := func(control, rdmapControl byte, qn ddp.QN, n int, later, extensions bool) {
		clear(b)
		msn := uint32(1)
		x := m.newTarget(extensions, 2)
		if later {
			x.hit(good)
			if v, err := x.see(); err != nil || !v.received {
				t.Fatalf("the good Send: %+v, %v", v, err)
			}
			if qn == 0 {
				msn = 2
			}
		}
		m.shape(b, control, rdmapControl, qn, msn)
		x.hit(b[:n])
		got, err := x.see()
		want := expected(control, rdmapControl, qn, n, extensions)
		if got != want || err != nil {
			t.Fatalf("control %#02x %#02x, QN %d, %d octets, behind another %t, extensions %t: %+v, %v, want %+v",
				control, rdmapControl, qn, n, later, extensions, got, err, want)
		}
		cases++
		if got.refused {
			refusals++
		}
		// After the end nothing has any effect, and nothing is sent.
		if got.refused {
			before := x.off
			x.hit(good)
			if v, err := x.see(); err != nil || v != (verdict{ended: true}) || x.off == before {
				t.Fatalf("after the Terminate: %+v, %v", v, err)
			}
		}
	}
	step := testmode.Count(1, testmode.Rounds(7, 31))
	for both := 0; both < 1<<16; both += step {
		control, rdmapControl := byte(both>>8), byte(both)
		qn := Opcode(rdmapControl & 0x0F).Queue()
		for way := range 4 {
			judge(control, rdmapControl, qn, 18+4, way&1 != 0, way&2 != 0)
		}
	}
	for op := range byte(16) {
		for _, qn := range []ddp.QN{0, 1, 2, 3, 4, 5, 255, 256, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			for _, n := range []int{18, 18 + 4, 18 + 8, 18 + 12, 18 + 28} {
				for way := range 4 {
					judge(0x41, 0x40|op, qn, n, way&1 != 0, way&2 != 0)
				}
			}
		}
	}
	if !m.intact() {
		t.Error("guard octets have changed")
	}
	t.Logf("%d segments, first and later, %d ended in the right Terminate; 0 octets outside", cases, refusals)
}

// TestAnyTerminate: whatever a Terminate says, well-formed or not, at most one Terminate goes out
// and nothing after it, and the stream is over. More of them, and other messages, change nothing.
//
// RDMAP-5040-5.4-9, RDMAP-5040-5.4-11
func TestAnyTerminate(t *testing.T) {
	m := newTargetMemory(t)
	cases, answered := 0, 0
	judge := func(payload []byte, malformed bool) {
		x := m.newTarget(true, 1)
		u := append(ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpTerminate), QN: ddp.QNTerminate, MSN: 1}.AppendTo(nil), payload...)
		x.hit(u)
		v, err := x.see()
		if err != nil || v.answered || v.received || v.refused == v.ended {
			t.Fatalf("Terminate %x: %+v, %v", payload, v, err)
		}
		if malformed != v.refused {
			t.Fatalf("Terminate %x: malformed %t, refused %t", payload, malformed, v.refused)
		}
		cases++
		if v.refused {
			answered++
		}
		u[13] = 2 // MSN
		x.hit(u)
		if v, err := x.see(); err != nil || v.refused || v.answered || v.received {
			t.Fatalf("a second Terminate: %+v, %v", v, err)
		}
	}
	step := 1
	if !testmode.Full {
		step = 61
	}
	for control := 0; control < 1<<16; control += step { // layer, type and code, alone
		judge([]byte{byte(control >> 8), byte(control), 0, 0}, false)
	}
	for flags := range 256 { // HdrCt, with every length
		for n := range terminateBufferLen + 1 {
			b := make([]byte, max(n, 6))
			b[0], b[1], b[2] = 0x01, 0x01, byte(flags) // RDMAP, remote protection error, bounds
			b = b[:n]
			_, err := ParseTerminate(b)
			if n < 4 && err == nil || n == terminateBufferLen && err != nil {
				t.Fatalf("Terminate of %d octets, flags %#02x: %v", n, flags, err)
			}
			judge(b, err != nil)
		}
	}
	// 10^5 Terminates, and good messages between them, on one stream.
	x := m.newTarget(true, 1)
	storm := testmode.Cases(100_000)
	for i := range storm {
		x.hit(append(ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpTerminate), QN: ddp.QNTerminate, MSN: uint32(i + 1)}.AppendTo(nil), 0, 0, 0, 0))
		x.hit(append(ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpReadRequest), QN: ddp.QNReadRequest, MSN: uint32(i + 1)}.AppendTo(nil), make([]byte, 28)...))
		if x.qp.HasOutput() || x.qp.NextMessage() {
			t.Fatalf("something goes out after %d Terminates", i+1)
		}
	}
	if !bytes.Equal(m.buf, bytes.Repeat([]byte{guardOctet}, len(m.buf))) {
		t.Error("a receive buffer has changed")
	}
	t.Logf("%d Terminates: %d malformed ones answered by one Terminate each, the others by none; a storm of %d by none", cases, answered, storm)
}
