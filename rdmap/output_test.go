package rdmap

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// TestMessageVectors compares the messages of a QP octet by octet.
func TestMessageVectors(t *testing.T) {
	x := newPair(t, params{})
	a := x.a
	// Queue numbers have their own message numbers: two Sends before the vectors with MSN 2 and 3.
	h := Handle{STag: 0x12345601, TO: 0x1000}
	a.post(WorkRequest{Op: WorkWrite, Remote: h, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}})
	a.post(WorkRequest{Op: WorkSend, Data: []byte("hello")})
	a.post(WorkRequest{Op: WorkImmediate, Immediate: 0x1122334455667788})
	a.post(WorkRequest{Op: WorkImmediate, Solicited: true, Immediate: 0x1122334455667788})
	a.post(WorkRequest{Op: WorkWrite})
	a.post(WorkRequest{Op: WorkRead})
	a.transmit()
	for i, want := range []string{vWrite, vSend, vImmediate, vImmediateSE, vZeroWrite, vZeroRead} {
		if got := a.wire[i]; !bytes.Equal(got, unhex(want)) {
			t.Errorf("message %d is %x, want %s", i, got, want)
		}
	}
	x = newPair(t, params{})
	x.a.post(WorkRequest{Op: WorkSend})
	x.a.post(WorkRequest{Op: WorkSendInvalidate, Invalidate: 0x12345601, Data: []byte("hello")})
	x.a.transmit()
	for i, want := range []string{vZeroSend, vSendInvalidate} {
		if got := x.a.wire[i]; !bytes.Equal(got, unhex(want)) {
			t.Errorf("message %d is %x, want %s", i, got, want)
		}
	}
}

// "the Invalidate STag field MUST be set to zero on transmit" for all but the two Sends with
// Invalidate, which carry the STag in every segment. The opcode tells T and QN (figure 4).
//
// RDMAP-5040-3.1-1, RDMAP-5040-4.1-1, RDMAP-5040-4.1-3, RDMAP-5040-4.1-20, RDMAP-5040-5.1-1,
// RDMAP-5040-5.1-2, RDMAP-5040-5.2.1-1, RDMAP-5040-5.2.1-2, RDMAP-5040-5.2.1-7, RDMAP-5040-5.2.1-8,
// RDMAP-5040-5.2.2-2, RDMAP-5040-5.2.2-3, RDMAP-5040-5.3-1, RDMAP-5040-5.3-2, RDMAP-5040-5.3-10,
// RDMAP-5040-5.3-14, RDMAP-5040-5.3-15, RDMAP-5040-5.4-1, RDMAP-5040-5.4-2, RDMAP-5040-5.4-3,
// RDMAPX-7306-4.1-7, RDMAPX-7306-5-7, RDMAPX-7306-5.2-1, RDMAPX-7306-5.2-3, RDMAPX-7306-5.2.1-17,
// RDMAPX-7306-5.2.1-18, RDMAPX-7306-5.2.1-23, RDMAPX-7306-5.2.1-24, RDMAPX-7306-5.2.2-5,
// RDMAPX-7306-5.2.2-6, RDMAPX-7306-5.2.2-7, RDMAPX-7306-6.3-1, RDMAPX-7306-6.3-2,
// RDMAPX-7306-6.3-6, RDMAPX-7306-6.3-7
func TestRFC5040_4_1_HeaderFieldsOfEveryMessage(t *testing.T) {
	x := newPair(t, params{mulpdu: 40})
	r, _ := x.b.register(256, allAccess)
	victims := map[bool]ddp.STag{}
	for _, op := range []kind{{WorkSendInvalidate, false}, {WorkSendInvalidate, true}} {
		victim, _ := x.b.register(8, allAccess)
		victims[op.solicited] = victim.STag()
		if err := x.a.qp.PostSend(&WorkRequest{Op: op.WorkOp, Solicited: op.solicited}); !errors.Is(err, ErrBadRequest) {
			t.Errorf("%v without an STag: %v, want ErrBadRequest", op, err)
		}
	}
	for range 8 {
		x.b.recv(0, 100)
	}
	data := pattern(60, 1)
	for _, wr := range []WorkRequest{
		{Op: WorkWrite, Data: data, Remote: handle(r)},
		{Op: WorkSend, Data: data},
		{Op: WorkSendInvalidate, Data: data, Invalidate: victims[false]},
		{Op: WorkSend, Solicited: true, Data: data},
		{Op: WorkSendInvalidate, Solicited: true, Data: data, Invalidate: victims[true]},
		{Op: WorkWrite},
		{Op: WorkRead},
		{Op: WorkImmediate},
		{Op: WorkImmediate, Solicited: true},
		{Op: WorkRead, Data: make([]byte, 60), Remote: handle(r)},
		{Op: WorkFetchAdd, Remote: handle(r)},
		{Op: WorkCmpSwap, Remote: handle(r)},
		{Op: WorkSwap, Remote: handle(r)},
	} {
		x.a.post(wr)
	}
	var all [][]byte
	for x.a.qp.HasOutput() || x.b.qp.HasOutput() {
		x.a.transmit()
		all = append(all, x.a.wire...)
		x.b.receive()
		x.b.transmit()
		all = append(all, x.b.wire...)
		x.a.receive()
	}
	x.a.qp.Fail(errTest)
	x.a.transmit()
	all = append(all, x.a.wire...)
	seen := make(map[Opcode]int)
	lens := map[Opcode]int{OpImmediate: 26, OpImmediateSE: 26, OpAtomicResponse: 30}
	for _, u := range all {
		op, rv := ParseControl(u[1])
		seen[op]++
		row := opcodeTable[op]
		if rv != 1 || u[1]&0x30 != 0 || u[0]&0x3C != 0 || u[0]&3 != 1 {
			t.Errorf("%v: control octets %x", op, u[:2])
		}
		if ddp.IsTagged(u) != row.tagged {
			t.Errorf("%v: tagged %t", op, ddp.IsTagged(u))
			continue
		}
		if n := lens[op]; n != 0 && len(u) != n {
			t.Errorf("%v: segment of %d octets, want %d", op, len(u), n)
		}
		if row.tagged {
			continue
		}
		h, _, err := ddp.ParseUntagged(u)
		invalidate := map[Opcode]uint32{
			OpSendInvalidate: uint32(victims[false]), OpSendSEInvalidate: uint32(victims[true]),
		}[op]
		if err != nil || h.QN != row.qn || h.RsvdULP32 != invalidate {
			t.Errorf("%v: QN %d, Invalidate STag %#x (%v), want %d, %#x", op, h.QN, h.RsvdULP32, err, row.qn, invalidate)
		}
	}
	for op := range OpAtomicResponse + 1 {
		if seen[op] == 0 {
			t.Errorf("no %v was sent", op)
		}
	}
	if seen[OpWrite] < 2 || seen[OpSendInvalidate] < 2 || seen[OpSendSEInvalidate] < 2 || seen[OpReadResponse] < 2 {
		t.Errorf("messages are not segmented: %v", seen)
	}
}

// "The RDMAP layer MUST submit RDMA Messages to the DDP layer in the order the RDMA Operations are
// submitted to the RDMAP layer by the ULP"; for each type see §5.1, §5.2.1, §5.3 and RFC 7306
// §5.2.1, §6.3.
//
// RDMAP-5040-5.1-8, RDMAP-5040-5.2.1-9, RDMAP-5040-5.3-11, RDMAP-5040-5.5-15, RDMAPX-7306-5.2.1-25,
// RDMAPX-7306-6.3-8
func TestRFC5040_5_5_MessagesInPostingOrder(t *testing.T) {
	x := newPair(t, params{})
	ops := []kind{
		{WorkRead, false}, {WorkSend, false}, {WorkWrite, false}, {WorkFetchAdd, false},
		{WorkImmediate, false}, {WorkRead, false}, {WorkWrite, false}, {WorkSwap, false},
		{WorkSend, true}, {WorkCmpSwap, false}, {WorkImmediate, true}, {WorkRead, false},
		{WorkSend, false},
	}
	var want []string
	for i, op := range ops {
		// The STag identifies a Write or Read.
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Remote: Handle{STag: ddp.STag(i + 1)}})
		opcode, _ := op.opcode()
		want = append(want, opcode.String())
	}
	x.a.transmit()
	x.a.wantOut(want...)
	msn := map[ddp.QN]uint32{}
	for i, u := range x.a.wire {
		switch op, _ := ParseControl(u[1]); {
		case op == OpWrite:
			if h, _, _ := ddp.ParseTagged(u); h.STag != ddp.STag(i+1) {
				t.Errorf("message %d is a Write to %v", i, h.STag)
			}
		case op == OpReadRequest:
			h, p, _ := ddp.ParseUntagged(u)
			if r, _, _ := ParseReadRequest(p); r.SourceSTag != ddp.STag(i+1) {
				t.Errorf("message %d is a Read from %v", i, r.SourceSTag)
			}
			msn[h.QN]++
			if h.MSN != msn[h.QN] {
				t.Errorf("message %d has MSN %d, want %d", i, h.MSN, msn[h.QN])
			}
		case op == OpAtomicRequest:
			h, p, _ := ddp.ParseUntagged(u)
			if r, _, _ := ParseAtomicRequest(p); r.STag != ddp.STag(i+1) {
				t.Errorf("message %d is an atomic at %v", i, r.STag)
			}
			msn[h.QN]++
			if h.MSN != msn[h.QN] { // Reads and atomics share the sequence
				t.Errorf("message %d has MSN %d, want %d", i, h.MSN, msn[h.QN])
			}
		default:
			h, _, _ := ddp.ParseUntagged(u)
			msn[h.QN]++
			if h.MSN != msn[h.QN] {
				t.Errorf("message %d has MSN %d, want %d", i, h.MSN, msn[h.QN])
			}
		}
	}
}

// The peer's requests and our own do not block each other.
func TestAnswersAndRequestsTakeTurns(t *testing.T) {
	x := newPair(t, params{})
	for msn := range uint32(4) {
		x.b.inject(untagged(OpReadRequest, 1, msn+1, ReadRequest{}.AppendTo(nil)))
		x.b.post(WorkRequest{Op: WorkWrite})
	}
	x.b.transmit()
	r, w := "RDMA Read Response", "RDMA Write"
	x.b.wantOut(r, w, r, w, r, w, r, w)
}
