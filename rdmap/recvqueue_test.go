package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "One Send Message Type MUST consume one Untagged Buffer." "the Send Message Type MUST be
// Delivered to the Remote Peer's ULP in the order they were sent", "after they are Delivered to
// RDMAP by DDP and in the order that they were Delivered to RDMAP". Immediate Data shares queue and
// order (RFC 7306 §6.3).
//
// RDMAP-5040-5.3-3, RDMAP-5040-5.3-7, RDMAP-5040-5.5-9, RDMAPX-7306-6.3-3, RDMAPX-7306-6.3-5
func TestRFC5040_5_3_SendsInOrder(t *testing.T) {
	x := newPair(t, params{mulpdu: 30})
	victims := []*ddp.Region{}
	ops := []kind{
		{WorkSend, false}, {WorkImmediate, false}, {WorkSend, true}, {WorkSendInvalidate, false},
		{WorkSendInvalidate, true}, {WorkImmediate, true}, {WorkSend, false},
	}
	for i, op := range ops {
		x.b.recv(uint64(100+i), 64)
		v, _ := x.b.register(8, allAccess)
		victims = append(victims, v)
		wr := WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: v.STag(), Immediate: uint64(i)}
		if !op.isImmediate() {
			wr.Data = pattern(20+i, i)
		}
		x.a.post(wr)
	}
	x.run()
	all := done(x.b.recvCQ)
	if len(all) != len(ops) {
		t.Fatalf("%d receives complete, want %d", len(all), len(ops))
	}
	for i, c := range all {
		op := ops[i]
		want := Completion{ID: uint64(100 + i), QPNum: x.b.qp.cfg.QPNum, Op: WorkRecv, Len: uint32(20 + i)}
		if op.isImmediate() {
			want.Len, want.HasImmediate, want.Immediate = 0, true, uint64(i)
		}
		want.Solicited = op.solicited
		if op.WorkOp == WorkSendInvalidate {
			want.HasInvalidated, want.Invalidated = true, victims[i].STag()
		}
		if c != want {
			t.Errorf("%v: completion %+v, want %+v", op, c, want)
		}
	}
}

// "A zero-length Send Message Type MUST consume an Untagged Buffer at the Data Sink."
// RDMAP-5040-5.3-13
func TestRFC5040_5_3_ZeroLengthSendConsumesBuffer(t *testing.T) {
	for _, op := range allSends {
		t.Run(op.String(), func(t *testing.T) {
			x := newPair(t, params{})
			victim, _ := x.b.register(8, allAccess)
			x.b.recv(1, 10)
			x.b.recv(2, 10)
			x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: victim.STag()})
			x.run()
			if all := wantDone(t, "receiver", x.b.recvCQ, "1 success"); len(all) == 1 && all[0].Len != 0 {
				t.Errorf("length %d, want 0", all[0].Len)
			}
			x.a.post(WorkRequest{Op: WorkSend, Data: []byte("x")})
			x.run()
			wantDone(t, "receiver", x.b.recvCQ, "2 success")
		})
	}
}

// "an incoming Send Message MUST be Delivered to the ULP only after the DDP Message has been
// Delivered to the RDMAP layer by the DDP layer"
//
// RDMAP-5040-5.5-18
func TestRFC5040_5_5_SendDeliveredWithItsLastSegment(t *testing.T) {
	x := newPair(t, params{mulpdu: 28})
	x.b.recv(1, 30)
	x.a.post(WorkRequest{Op: WorkSend, Data: pattern(30, 0)})
	x.a.transmit()
	for i, u := range x.a.wire {
		wantDone(t, fmt.Sprintf("before segment %d of %d", i, len(x.a.wire)), x.b.recvCQ, "")
		x.b.inject(u)
	}
	wantDone(t, "after the last", x.b.recvCQ, "1 success")
}

// "A valid RDMA Write Message MUST NOT be delivered to the Data Sink's ULP"; its octets are there
// when a later Send is Delivered. One Write goes to one buffer.
//
// RDMAP-5040-5.1-3, RDMAP-5040-5.1-10, RDMAP-5040-5.5-10
func TestRFC5040_5_1_WriteIsNotDelivered(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	r1, b1 := x.b.register(300, ddp.RemoteWrite)
	r2, b2 := x.b.register(300, ddp.RemoteWrite)
	x.b.recv(1, 1)
	want1, want2 := pattern(300, 1), pattern(300, 2)
	x.a.post(WorkRequest{Op: WorkWrite, Data: want1, Remote: handle(r1)})
	x.a.post(WorkRequest{Op: WorkWrite, Data: want2, Remote: handle(r2)})
	x.a.post(WorkRequest{Op: WorkWrite})
	x.run()
	wantDone(t, "receives after the Writes", x.b.recvCQ, "")
	wantDone(t, "sends of the other side", x.b.sendCQ, "")
	x.a.post(WorkRequest{Op: WorkSend})
	x.run()
	wantDone(t, "after the Send", x.b.recvCQ, "1 success")
	if !bytes.Equal(b1, want1) || !bytes.Equal(b2, want2) {
		t.Error("the Send is Delivered and the Writes are not placed")
	}
	if x.a.out[0] != "RDMA Write" || x.a.out[1] != "RDMA Write" {
		t.Errorf("messages %v, want one Write for each buffer", x.a.out)
	}
}

// "Invalidate the STag if it is associated with the RDMAP Stream": on Delivery, so that earlier
// Writes still land, and before the Completion is seen. "The Invalidate STag MUST be valid." "The
// STag MUST be associated to this RDMAP Stream." A Terminate says "STag Cannot be Invalidated"
// otherwise.
//
// RDMAP-5040-5.3-16, RDMAP-5040-5.3-17, RDMAP-5040-5.3-18, RDMAP-5040-7.1-2, RDMAP-5040-7.2-4,
// RDMAP-5040-7.2-5, RDMAP-5040-8.1.1-8, RDMAP-5040-1.2-3
func TestRFC5040_5_3_Invalidate(t *testing.T) {
	for _, op := range []kind{{WorkSendInvalidate, false}, {WorkSendInvalidate, true}} {
		t.Run(op.String(), func(t *testing.T) { invalidateWith(t, op) })
	}
}

// invalidateWith is TestRFC5040_5_3_Invalidate with one of the two Sends with Invalidate.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func invalidateWith(t *testing.T, op kind) {
	t.Run("associated", func(t *testing.T) {
		x := newPair(t, params{})
		r, b := x.b.register(8, allAccess)
		x.b.recv(1, 8)
		x.a.post(WorkRequest{Op: WorkWrite, Data: []byte("before"), Remote: handle(r)})
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: r.STag()})
		x.run()
		wantDone(t, "receiver", x.b.recvCQ, "1 success")
		if string(b[:6]) != "before" {
			t.Errorf("the earlier Write left %q", b)
		}
		x.a.post(WorkRequest{Op: WorkWrite, Data: []byte("after!"), Remote: handle(r)})
		x.a.transmit()
		x.b.receive()
		x.b.wantTerminate("1100 c000")
		if string(b[:6]) != "before" {
			t.Errorf("a Write to the invalidated STag left %q", b)
		}
	})
	shared := new(ddp.Domain)
	register := func(stream uint64) ddp.STag {
		r, err := shared.Register(make([]byte, 8), allAccess, stream)
		if err != nil {
			t.Fatal(err)
		}
		return r.STag()
	}
	old, err := shared.Register(make([]byte, 8), allAccess, 2)
	if err != nil {
		t.Fatal(err)
	}
	old.Deregister()
	for i, tt := range []struct {
		desc string
		stag ddp.STag
		want string
	}{
		{"unknown", 0xDEADBE00, "0209 c000 0017"},
		{"no longer valid", old.STag(), "0209 c000 0017"},
		{"another stream's", register(1), "0109 c000 0017"},
		{"shared by all streams", register(0), "0209 c000 0017"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{domain: shared})
			x.b.recv(1, 8)
			x.b.recv(2, 8)
			x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: tt.stag, Data: []byte("hello")})
			x.a.transmit()
			x.b.receive()
			h := x.b.wantTerminate(tt.want)
			if got := ddp.STag(uint32(h[8])<<24 | uint32(h[9])<<16 | uint32(h[10])<<8 | uint32(h[11])); got != tt.stag {
				t.Errorf("the Terminate returns STag %v, want %v", got, tt.stag)
			}
			wantDone(t, "receiver", x.b.recvCQ, "1 general error, 2 flushed")
			var access *ddp.AccessError
			_, err := shared.Check(tt.stag, 0, 0, 0, 1)
			if gone := errors.As(err, &access) && access.Code == ddp.CodeInvalidSTag; gone != (i < 2) {
				t.Errorf("afterwards the STag is invalid: %t", gone)
			}
		})
	}
	t.Run("the sink of a Read", func(t *testing.T) {
		x := newPair(t, params{})
		x.b.recv(1, 8)
		x.b.post(WorkRequest{ID: 9, Op: WorkRead, Data: make([]byte, 8)})
		sink := x.b.qp.sq.at(0).sinkSTag // +checklocksignore: no other goroutine is at work
		opcode, _ := op.opcode()
		x.b.inject(ddp.UntaggedHeader{
			Last: true, RsvdULP: Control(opcode), RsvdULP32: uint32(sink), MSN: 1,
		}.AppendTo(nil))
		x.b.wantTerminate("0209 c000")
	})
}

// "The Remote Peer MUST check that Immediate Data and Immediate Data
// with SE Messages include exactly 8 bytes of data from the DDP layer."
//
// RDMAPX-7306-6.3-9
func TestRFC7306_6_3_ImmediateLength(t *testing.T) {
	for _, op := range []Opcode{OpImmediate, OpImmediateSE} {
		for _, tt := range []struct {
			n    int
			want string // the Terminate; empty: accepted
			done string
		}{
			{0, "02ff c000 0012", "1 general error"},
			{7, "02ff c000 0019", "1 general error"},
			{8, "", "1 success"},
			{9, "1205 c000 001b", "1 local length error"},
			{16, "1205 c000 0022", "1 local length error"},
		} {
			t.Run(fmt.Sprintf("%v of %d octets", op, tt.n), func(t *testing.T) {
				x := newPair(t, params{})
				buf := x.b.recv(1, 3) // shorter than 8: the data arrive in the Completion
				x.b.inject(untagged(op, 0, 1, bytes.Repeat([]byte{0x5A}, tt.n)))
				if tt.want != "" {
					x.b.wantTerminate(tt.want)
				} else {
					x.b.wantNothing()
				}
				all := wantDone(t, "receiver", x.b.recvCQ, tt.done)
				if tt.n == 8 && (len(all) != 1 || all[0].Immediate != 0x5A5A5A5A5A5A5A5A) {
					t.Errorf("completions %v", all)
				}
				if !bytes.Equal(buf, make([]byte, 3)) {
					t.Errorf("the buffer was changed: %x", buf)
				}
			})
		}
	}
}

// The Invalidate STag field is "ignored on receive" where it has no meaning, as reserved bits are.
// RDMAP-5040-4.1-19, RDMAP-5040-4.1-21, RDMAPX-7306-4.1-8
func TestRFC5040_4_1_InvalidateFieldIgnored(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, allAccess)
	x.b.recv(1, 8)
	x.b.recv(2, 8)
	header := ddp.UntaggedHeader{Last: true, RsvdULP: 0x73, RsvdULP32: uint32(r.STag()), MSN: 1}
	x.b.inject(header.AppendTo(nil))
	header.RsvdULP, header.MSN = 0x78, 2
	x.b.inject(append(header.AppendTo(nil), make([]byte, 8)...))
	for i, c := range wantDone(t, "receiver", x.b.recvCQ, "1 success, 2 success") {
		if c.HasInvalidated {
			t.Errorf("message %d has invalidated %v", i, c.Invalidated)
		}
	}
	if _, err := x.b.domain.Check(r.STag(), r.TO(), 8, allAccess, x.b.stream()); err != nil {
		t.Errorf("the STag is not valid any more: %v", err)
	}
	read := ReadRequest{SinkSTag: 5, Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}
	header = ddp.UntaggedHeader{Last: true, RsvdULP: 0x41, RsvdULP32: uint32(r.STag()), QN: 1, MSN: 1}
	x.b.inject(read.AppendTo(header.AppendTo(nil)))
	x.b.transmit()
	x.b.wantOut("RDMA Read Response")
	// Every other message, with all ignored fields set, has the same effect as without them.
	for _, tt := range []struct {
		op    Opcode
		there func(x *pair) []byte // the segment that b gets
	}{
		{OpWrite, func(x *pair) []byte {
			r, _ := x.b.register(8, allAccess)
			return tagged(OpWrite, r.STag(), r.TO(), make([]byte, 8))
		}},
		{OpReadRequest, func(x *pair) []byte {
			return untagged(OpReadRequest, 1, 1, make([]byte, ReadRequestLen))
		}},
		{OpReadResponse, func(x *pair) []byte {
			x.b.post(WorkRequest{Op: WorkRead})
			return tagged(OpReadResponse, 0, 0, nil)
		}},
		{OpSend, func(x *pair) []byte { return untagged(OpSend, 0, 1, nil) }},
		{OpSendSE, func(x *pair) []byte { return untagged(OpSendSE, 0, 1, nil) }},
		{OpTerminate, func(x *pair) []byte { return untagged(OpTerminate, 2, 1, unhex("1101 0000")) }},
		{OpImmediate, func(x *pair) []byte { return untagged(OpImmediate, 0, 1, make([]byte, 8)) }},
		{OpImmediateSE, func(x *pair) []byte { return untagged(OpImmediateSE, 0, 1, make([]byte, 8)) }},
		{OpAtomicRequest, func(x *pair) []byte {
			r, _ := x.b.register(8, allAccess)
			return untagged(OpAtomicRequest, 1, 1, AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil))
		}},
		{OpAtomicResponse, func(x *pair) []byte {
			x.b.post(WorkRequest{Op: WorkFetchAdd})
			return untagged(OpAtomicResponse, 3, 1, AtomicResponse{ID: 1}.AppendTo(nil))
		}},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			u := tt.there(x)
			x.b.transmit()
			x.b.out = nil
			n := regions(x.b.domain)
			u[1] |= 0x30
			if !ddp.IsTagged(u) {
				victim, _ := x.b.register(8, allAccess)
				binary.BigEndian.PutUint32(u[2:], uint32(victim.STag()))
				n++
			}
			x.b.inject(u)
			x.b.transmit()
			var remote *TerminateError
			switch err := x.b.qp.Err(); {
			case tt.op == OpTerminate:
				if !errors.As(err, &remote) || !remote.Remote || remote.Terminate.Code.String() != "DDP tagged buffer error: base or bounds violation" {
					t.Errorf("taken as %v", err)
				}
			case err != nil:
				t.Errorf("refused: %v", err)
			}
			if got := regions(x.b.domain); got != n {
				t.Errorf("%d Regions are left of %d", got, n)
			}
			sent, received := "", ""
			switch tt.op {
			case OpReadRequest:
				x.b.wantOut("RDMA Read Response")
			case OpAtomicRequest:
				x.b.wantOut("Atomic Response")
			case OpReadResponse, OpAtomicResponse:
				sent = "0 success"
			case OpTerminate:
				received = "1 flushed"
			case OpSend, OpSendSE, OpImmediate, OpImmediateSE:
				received = "1 success"
			}
			wantDone(t, "requests", x.b.sendCQ, sent)
			wantDone(t, "receives", x.b.recvCQ, received)
			x.b.wantOut()
		})
	}
}

func TestSendTooLongOrWithoutBuffer(t *testing.T) {
	t.Run("too long", func(t *testing.T) {
		x := newPair(t, params{})
		x.b.recv(1, 8)
		x.b.recv(2, 8)
		x.b.injectHex("4143 00000000 00000000 00000001 00000000 010203040506070809")
		x.b.transmit()
		if got := x.b.wire[0]; !bytes.Equal(got, unhex(vTermTooLong)) {
			t.Errorf("sent %x, want %s", got, vTermTooLong)
		}
		wantDone(t, "receiver", x.b.recvCQ, "1 local length error, 2 flushed")
	})
	t.Run("no buffer", func(t *testing.T) {
		x := newPair(t, params{})
		x.b.injectHex(vSend)
		x.b.transmit()
		if got := x.b.wire[0]; !bytes.Equal(got, unhex(vTermNoBuffer)) {
			t.Errorf("sent %x, want %s", got, vTermNoBuffer)
		}
	})
}
