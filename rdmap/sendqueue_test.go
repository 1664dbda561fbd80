package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// regions returns how many regions a domain has, by asking how many STags it has not forgotten.
func regions(d *ddp.Domain) int {
	return reflect.ValueOf(d).Elem().FieldByName("regions").Len()
}

// The messages of a QP, octet for octet.
func TestMessageVectors(t *testing.T) {
	x := newPair(t, params{})
	a := x.a
	// Queue numbers have their own message numbers: two Sends before the vectors with MSN 2 and 3.
	h := Handle{STag: 0x12345601, TO: 0x1000}
	a.post(WorkRequest{Op: WorkWrite, Remote: h, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}})
	a.post(WorkRequest{Op: WorkSend, Data: []byte("hello")})
	a.post(WorkRequest{Op: WorkImmediate, Immediate: 0x1122334455667788})
	a.post(WorkRequest{Op: WorkImmediateSE, Immediate: 0x1122334455667788})
	a.post(WorkRequest{Op: WorkWrite})
	a.post(WorkRequest{Op: WorkRead})
	a.transmit()
	for i, want := range []string{vWrite, vSend, vImmediate, vImmediateSE, vZeroWrite, vZeroRead} {
		if got := a.wire[i]; !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("message %d is %x, want %s", i, got, want)
		}
	}
	x = newPair(t, params{})
	x.a.post(WorkRequest{Op: WorkSend})
	x.a.post(WorkRequest{Op: WorkSendInvalidate, Invalidate: 0x12345601, Data: []byte("hello")})
	x.a.transmit()
	for i, want := range []string{vZeroSend, vSendInvalidate} {
		if got := x.a.wire[i]; !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("message %d is %x, want %s", i, got, want)
		}
	}
}

// "The Invalidate STag field MUST be set to zero" for all but the two Sends with Invalidate, which carry
// the STag "most significant octet first", in every segment. The opcode tells T and QN (figure 4).
//
// RDMAP-5040-3.1-1, RDMAP-5040-4.1-1, RDMAP-5040-4.1-3, RDMAP-5040-4.1-20, RDMAP-5040-5.1-1,
// RDMAP-5040-5.1-2, RDMAP-5040-5.2.1-1, RDMAP-5040-5.2.1-2, RDMAP-5040-5.2.1-7, RDMAP-5040-5.2.1-8,
// RDMAP-5040-5.2.2-2, RDMAP-5040-5.2.2-3, RDMAP-5040-5.3-1, RDMAP-5040-5.3-2, RDMAP-5040-5.3-10,
// RDMAP-5040-5.3-14, RDMAP-5040-5.3-15, RDMAP-5040-5.4-1, RDMAP-5040-5.4-2, RDMAP-5040-5.4-3,
// RDMAPX-7306-4.1-7, RDMAPX-7306-5-7, RDMAPX-7306-5.2-1, RDMAPX-7306-5.2-3, RDMAPX-7306-5.2.1-17,
// RDMAPX-7306-5.2.1-18, RDMAPX-7306-5.2.1-23, RDMAPX-7306-5.2.1-24, RDMAPX-7306-5.2.2-5,
// RDMAPX-7306-5.2.2-6, RDMAPX-7306-5.2.2-7, RDMAPX-7306-6.3-1, RDMAPX-7306-6.3-2, RDMAPX-7306-6.3-6,
// RDMAPX-7306-6.3-7
func TestRFC5040_4_1_HeaderFieldsOfEveryMessage(t *testing.T) {
	x := newPair(t, params{mulpdu: 40})
	r, _ := x.b.register(256, allAccess)
	victim, _ := x.b.register(8, allAccess)
	for range 8 {
		x.b.recv(0, 100)
	}
	data := pattern(60, 1)
	for _, wr := range []WorkRequest{
		{Op: WorkWrite, Data: data, Remote: handle(r)},
		{Op: WorkSend, Data: data},
		{Op: WorkSendInvalidate, Data: data, Invalidate: victim.STag()},
		{Op: WorkSendSE, Data: data},
		{Op: WorkImmediate},
		{Op: WorkImmediateSE},
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
		var invalidate uint32
		if op.invalidates() {
			invalidate = uint32(victim.STag())
		}
		if err != nil || h.QN != row.qn || h.RsvdULP32 != invalidate {
			t.Errorf("%v: QN %d, Invalidate STag %#x (%v), want %d, %#x", op, h.QN, h.RsvdULP32, err, row.qn, invalidate)
		}
	}
	for op := range OpAtomicResponse + 1 {
		if seen[op] == 0 && op != OpSendSEInvalidate {
			t.Errorf("no %v was sent", op)
		}
	}
	if seen[OpWrite] < 2 || seen[OpSendInvalidate] < 2 || seen[OpReadResponse] < 2 {
		t.Errorf("messages are not segmented: %v", seen)
	}
}

// "The RDMAP layer MUST submit RDMA Messages to the DDP layer in the order the RDMA Operations are
// submitted to the RDMAP layer by the ULP"; for each type see §5.1, §5.2.1, §5.3 and RFC 7306 §5.2.1, §6.3.
//
// RDMAP-5040-5.1-8, RDMAP-5040-5.2.1-9, RDMAP-5040-5.3-11, RDMAP-5040-5.5-15, RDMAPX-7306-5.2.1-25,
// RDMAPX-7306-6.3-8
func TestRFC5040_5_5_MessagesInPostingOrder(t *testing.T) {
	x := newPair(t, params{})
	ops := []WorkOp{
		WorkRead, WorkSend, WorkWrite, WorkFetchAdd, WorkImmediate, WorkRead, WorkWrite, WorkSwap,
		WorkSendSE, WorkCmpSwap, WorkImmediateSE, WorkRead, WorkSend,
	}
	var want []string
	for i, op := range ops {
		// The STag of a Write or Read tells which one it is.
		x.a.post(WorkRequest{Op: op, Remote: Handle{STag: ddp.STag(i + 1)}})
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

// "A Send or RDMA Write Message MUST NOT be considered Complete at the Local Peer (Data Source) until it
// has been successfully completed at the DDP layer."
//
// RDMAP-5040-5.5-16
func TestRFC5040_5_5_SendCompletesWhenSent(t *testing.T) {
	x := newPair(t, params{})
	x.a.slow = true
	for id, op := range []WorkOp{WorkSend, WorkWrite, WorkImmediate} {
		x.a.post(WorkRequest{ID: uint64(id), Op: op})
	}
	x.a.transmit()
	wantDone(t, "given out, not sent", x.a.sendCQ, "")
	x.a.qp.Sent(1)
	wantDone(t, "first one sent", x.a.sendCQ, "0 success")
	x.a.qp.Sent(0)
	wantDone(t, "nothing sent", x.a.sendCQ, "")
	x.a.qp.Sent(2)
	wantDone(t, "all sent", x.a.sendCQ, "1 success, 2 success")
}

// "RDMA Operations MUST be Completed at the Local Peer in the order that they were submitted by the ULP."
// "An RDMA Read operation MUST NOT be Completed at the Local Peer until the DDP layer Delivers the
// associated incoming RDMA Read Response Message." The same holds for atomics (RFC 7306 §5.4).
//
// RDMAP-5040-5.5-17, RDMAP-5040-5.5-21, RDMAPX-7306-5.4-1, RDMAPX-7306-5.4-8
func TestRFC5040_5_5_CompletionsInPostingOrder(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	r, _ := x.b.register(256, allAccess)
	for range 2 {
		x.b.recv(0, 16)
	}
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: []byte{1}, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 256), Remote: handle(r)})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend, Data: []byte{1}})
	x.a.post(WorkRequest{ID: 4, Op: WorkFetchAdd, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 5, Op: WorkSend, Data: []byte{1}})
	x.a.transmit()
	wantDone(t, "all sent, nothing answered", x.a.sendCQ, "1 success")
	x.b.receive()
	x.b.transmit()
	if len(x.b.wire) != 4 {
		t.Fatalf("%d segments come back, want 3 of the Read Response and 1 Atomic Response", len(x.b.wire))
	}
	for i := range 2 {
		x.a.inject(x.b.wire[i])
	}
	wantDone(t, "response without its last segment", x.a.sendCQ, "")
	x.a.inject(x.b.wire[2])
	wantDone(t, "Read answered", x.a.sendCQ, "2 success, 3 success")
	x.a.inject(x.b.wire[3])
	all := wantDone(t, "atomic answered", x.a.sendCQ, "4 success, 5 success")
	if len(all) > 0 && all[0].Original != binary.NativeEndian.Uint64(r.Bytes()) {
		t.Errorf("original value %#x, want %x", all[0].Original, r.Bytes()[:8])
	}
}

// A response that is faster than Sent: the request is still the transmitter's, so it is not complete.
func TestReadCompletesWhenAnsweredAndSent(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, allAccess)
	x.a.slow = true
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
	x.run()
	wantDone(t, "answered, not reported sent", x.a.sendCQ, "")
	x.a.sent()
	wantDone(t, "reported", x.a.sendCQ, "1 success")
}

// "the RDMAP layer MUST NOT exceed the maximum number of outstanding, outbound RDMA Read Requests"; "MUST
// provide the maximum number": it is honoured and told. Atomics count too (RFC 7306 §5.2).
//
// RDMAP-5040-6.1-6, RDMAP-5040-6.1-8, RDMAPX-7306-5.2-2
func TestRFC5040_6_1_ORD(t *testing.T) {
	x := newPair(t, params{ord: 2})
	if got := x.a.qp.ORD(); got != 2 {
		t.Errorf("ORD() = %d, want 2", got)
	}
	r, _ := x.b.register(8, allAccess)
	for id := range uint64(5) {
		op := WorkRead
		if id%2 == 1 {
			op = WorkFetchAdd
		}
		x.a.post(WorkRequest{ID: id, Op: op, Remote: handle(r)})
	}
	x.a.post(WorkRequest{ID: 5, Op: WorkSend})
	x.a.transmit()
	x.a.wantOut("RDMA Read Request", "Atomic Request")
	x.a.wantNothing()
	x.b.recv(0, 0)
	x.b.receive()
	x.b.transmitOne()
	x.a.receive()
	x.a.transmit() // one answered, one more goes out; the Send waits its turn
	x.a.wantOut("RDMA Read Request")
	x.run()
	x.a.wantOut("Atomic Request", "RDMA Read Request", "Send")
	wantDone(t, "all", x.a.sendCQ, "0 success, 1 success, 2 success, 3 success, 4 success, 5 success")
}

// "the Local Peer ULP must Fence the later RDMA write (or Send) by withholding the RDMA Write Message until
// all outstanding RDMA Read Responses have been Delivered."
//
// RDMAP-5040-5.5-14
func TestRFC5040_5_5_Fence(t *testing.T) {
	for _, op := range []WorkOp{WorkSend, WorkWrite, WorkImmediate, WorkRead, WorkFetchAdd} {
		t.Run(op.String(), func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(64, allAccess)
			old := bytes.Clone(b)
			x.b.recv(0, 8)
			sink := make([]byte, 64)
			x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd, Remote: handle(r)})
			x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
			wr := WorkRequest{ID: 3, Op: op, Remote: handle(r), Operand: 1, Fence: true}
			if op == WorkSend || op == WorkWrite {
				wr.Data = []byte{0xAA}
			}
			x.a.post(wr)
			x.a.transmit()
			x.a.wantOut("Atomic Request", "RDMA Read Request")
			x.b.receive()
			x.b.transmitOne()
			x.a.receive() // the atomic is answered, the Read is not
			x.a.wantNothing()
			x.run()
			opcode, _ := op.opcode()
			x.a.wantOut(opcode.String())
			wantDone(t, "all", x.a.sendCQ, "1 success, 2 success, 3 success")
			if !bytes.Equal(sink, old) {
				t.Error("the Read saw what the fenced operation did")
			}
		})
	}
	t.Run("nothing outstanding", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{Op: WorkSend, Fence: true})
		x.a.transmit()
		x.a.wantOut("Send")
	})
}

func TestInline(t *testing.T) {
	x := newPair(t, params{})
	for _, n := range []int{0, 1, 100, 100_000} {
		got := x.b.recv(1, n)
		want := pattern(n, 3)
		data := bytes.Clone(want)
		x.a.post(WorkRequest{Op: WorkSend, Data: data, Inline: true})
		clear(data) // the caller's again
		x.run()
		if !bytes.Equal(got, want) {
			t.Errorf("%d octets inline arrive changed", n)
		}
	}
	got := x.b.recv(2, 6)
	gather := [][]byte{[]byte("ab"), nil, []byte("cdef")}
	x.a.post(WorkRequest{Op: WorkSend, Gather: gather, Inline: true})
	copy(gather[2], "xxxx")
	x.run()
	if string(got) != "abcdef" {
		t.Errorf("gathered inline: %q", got)
	}
}

// "the data blocks would be combined by the Data Source and sent as a single RDMA Write Message"
// RDMAP-5040-5.1-7
func TestRFC5040_5_1_Gather(t *testing.T) {
	for _, op := range []WorkOp{WorkSend, WorkWrite} {
		t.Run(op.String(), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 50})
			r, target := x.b.register(200, allAccess)
			buf := x.b.recv(1, 200)
			want := pattern(200, 9)
			x.a.post(WorkRequest{Op: op, Remote: handle(r), Gather: [][]byte{want[:1], {}, want[1:130], nil, want[130:]}})
			x.run()
			got := target
			if op == WorkSend {
				got = buf
			}
			if !bytes.Equal(got, want) {
				t.Error("the pieces arrive changed")
			}
			if len(x.a.out) != 1 {
				t.Errorf("%d messages, want 1", len(x.a.out))
			}
		})
	}
}

func TestSelectiveSignalling(t *testing.T) {
	x := newPair(t, params{cqDepth: 3})
	r, _ := x.b.register(8, allAccess)
	for range 3 {
		x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Remote: handle(r), Data: []byte{1}, Unsignaled: true})
	}
	x.run()
	wantDone(t, "unsignaled, successful", x.a.sendCQ, "")
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Remote: handle(r), Unsignaled: true})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend})
	x.a.transmit()
	x.a.post(WorkRequest{ID: 4, Op: WorkWrite, Data: []byte{1}, Unsignaled: true}) // the entries are free again
	wantDone(t, "Read not answered", x.a.sendCQ, "")
	x.a.qp.Abort(errTest)
	wantDone(t, "unsignaled, failed", x.a.sendCQ, "2 flushed, 3 success, 4 flushed")
}

// Blocking callers use a completion queue of their own; order holds in the QP, not between queues.
func TestPrivateCompletionQueue(t *testing.T) {
	x := newPair(t, params{})
	own := NewCompletionQueue(1)
	x.b.recv(0, 0)
	x.b.recv(0, 0)
	x.a.post(WorkRequest{ID: 1, Op: WorkSend})
	x.a.post(WorkRequest{ID: 2, Op: WorkSend, CQ: own})
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkSend, CQ: own}); !errors.Is(err, ErrCompletionQueueFull) {
		t.Errorf("2nd request on a queue of 1: %v", err)
	}
	x.run()
	wantDone(t, "QP's queue", x.a.sendCQ, "1 success")
	wantDone(t, "own queue", own, "2 success")
}

func TestCancel(t *testing.T) {
	x := newPair(t, params{ord: 1})
	r, _ := x.b.register(8, allAccess)
	sink, abandoned := make([]byte, 8), make([]byte, 8)
	copy(r.Bytes(), "response")
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: abandoned, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend, Data: []byte("x"), Inline: true})
	x.a.post(WorkRequest{ID: 4, Op: WorkSend})
	x.a.transmit()
	x.a.wantOut("RDMA Read Request")
	other := NewCompletionQueue(1)
	for _, tt := range []struct {
		desc string
		cq   *CompletionQueue
		id   uint64
		want bool
		done string
	}{
		{"Read under way", x.a.sendCQ, 1, true, "1 flushed"},
		{"queued Read", x.a.sendCQ, 2, true, "2 flushed"},
		{"queued Send", x.a.sendCQ, 3, true, "3 flushed"},
		{"cancelled before", x.a.sendCQ, 3, true, ""},
		{"another queue's", other, 4, true, ""},
		{"unknown", x.a.sendCQ, 9, true, ""},
	} {
		if got := x.a.qp.Cancel(tt.cq, tt.id); got != tt.want {
			t.Errorf("Cancel, %s: %t, want %t", tt.desc, got, tt.want)
		}
		for _, c := range wantDone(t, tt.desc, x.a.sendCQ, tt.done) {
			if !errors.Is(c.Err, ErrCancelled) {
				t.Errorf("%s: reason %v", tt.desc, c.Err)
			}
		}
	}
	if n := regions(x.a.domain); n != 1 {
		t.Errorf("%d sinks are registered, want that of the Read under way", n)
	}
	x.b.recv(0, 8)
	x.run()
	x.a.wantOut("Send")
	wantDone(t, "the rest", x.a.sendCQ, "4 success")
	if !bytes.Equal(abandoned, make([]byte, 8)) {
		t.Errorf("the response to the cancelled Read was placed: %q", abandoned)
	}
	if n := regions(x.a.domain); n != 0 {
		t.Errorf("%d sinks are left after the response", n)
	}
	x.a.post(WorkRequest{ID: 5, Op: WorkSend})
	x.a.transmit()
	if !x.a.qp.Cancel(x.a.sendCQ, 5) {
		t.Error("Cancel of a completed request: false")
	}
	x.a.post(WorkRequest{ID: 6, Op: WorkSend})
	if !x.a.qp.NextMessage() || x.a.qp.Cancel(x.a.sendCQ, 6) {
		t.Error("Cancel of a Send that was given out: true")
	}
}

func TestRTR(t *testing.T) {
	for _, tt := range []struct {
		op   WorkOp
		want string
	}{
		{WorkSend, "4143 00000000 00000000 00000001 00000000"},
		{WorkWrite, "c140 00000001 0000000000000000"},
		{WorkRead, "4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000000 00000001 0000000000000000"},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			// Neither a full queue nor ORD 0 stops it.
			x := newPair(t, params{
				depth: 2, ord: -1, startA: StartParams{SendRTR: tt.op},
				startB: StartParams{ExpectRTRSend: tt.op == WorkSend},
			})
			x.b.recv(7, 8)
			x.b.recv(8, 8)
			if err := x.b.qp.PostRecv(RecvRequest{}); (err == nil) != (tt.op == WorkSend) && !errors.Is(err, ErrQueueFull) {
				t.Errorf("PostRecv: %v", err)
			}
			x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: []byte("hi")})
			x.a.post(WorkRequest{ID: 2, Op: WorkSend, Data: []byte("ho")})
			x.a.transmit()
			if got := x.a.wire[0]; !bytes.Equal(got, unhex(t, tt.want)) {
				t.Errorf("first message %x, want %s", got, tt.want)
			}
			x.run()
			wantDone(t, "sender", x.a.sendCQ, "1 success, 2 success")
			wantDone(t, "receiver", x.b.recvCQ, "7 success, 8 success")
			wantState(t, x.a.qp, StateRTS)
			wantState(t, x.b.qp, StateRTS)
		})
	}
	t.Run("receives posted before Start stay behind the RTR's", func(t *testing.T) {
		q := NewQP(Config{RecvDepth: 2})
		for id := range uint64(2) {
			if err := q.PostRecv(RecvRequest{ID: id + 1, Buf: make([]byte, 4)}); err != nil {
				t.Fatal(err)
			}
		}
		q.Start(StartParams{ExpectRTRSend: true})
		rx := ddp.NewReceiver(q.ReceiverConfig())
		for msn := range uint32(3) {
			rx.Place(uint64(msn), untagged(OpSend, 0, msn+1, pattern(int(msn), 0)))
		}
		for rx.Deliver(3) {
			q.Handle(rx.Message())
		}
		if err := rx.Err(); err != nil {
			t.Fatal(err)
		}
		all := wantDone(t, "receives", q.RecvCQ(), "1 success, 2 success")
		if len(all) == 2 && (all[0].Len != 1 || all[1].Len != 2) {
			t.Errorf("lengths %d, %d, want 1, 2", all[0].Len, all[1].Len)
		}
	})
	t.Run("an RTR with a payload is too long", func(t *testing.T) {
		x := newPair(t, params{startB: StartParams{ExpectRTRSend: true}})
		x.b.recv(1, 100)
		x.b.inject(untagged(OpSend, 0, 1, []byte{1}))
		x.b.wantTerminate("1205 c000 0013")
		wantDone(t, "the user's receive", x.b.recvCQ, "1 flushed")
	})
}

func TestEveryOperationEverySize(t *testing.T) {
	for _, mulpdu := range []int{64, 1000} {
		for _, n := range []int{0, 1, 7, 45, 46, 47, 50, 986, 1000, 4096, 100_001} {
			t.Run(fmt.Sprintf("%d octets, MULPDU %d", n, mulpdu), func(t *testing.T) {
				x := newPair(t, params{mulpdu: mulpdu})
				r, target := x.b.register(n+3, allAccess)
				data := pattern(n, n)
				buf := x.b.recv(1, n)
				h, err := handle(r).Slice(3, n) // an odd offset
				if err != nil {
					t.Fatal(err)
				}
				sink := make([]byte, n)
				x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: data})
				x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Data: data, Remote: h})
				x.a.post(WorkRequest{ID: 3, Op: WorkRead, Data: sink, Remote: h})
				x.run()
				all := wantDone(t, "sender", x.a.sendCQ, "1 success, 2 success, 3 success")
				for _, c := range all {
					if c.Len != uint32(n) || c.QP != x.a.qp {
						t.Errorf("%v: length %d", c, c.Len)
					}
				}
				all = wantDone(t, "receiver", x.b.recvCQ, "1 success")
				if len(all) == 1 && all[0].Len != uint32(n) {
					t.Errorf("received length %d, want %d", all[0].Len, n)
				}
				if !bytes.Equal(buf, data) || !bytes.Equal(target[3:], data) || !bytes.Equal(sink, data) {
					t.Error("octets differ")
				}
				if got := regions(x.a.domain); got != 0 {
					t.Errorf("%d sinks are still registered", got)
				}
			})
		}
	}
}
