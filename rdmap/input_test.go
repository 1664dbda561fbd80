package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "The Data Sink MAY validate that the STag, Tagged Offset, and length of the RDMA Read Response
// Message are the same as … in the corresponding RDMA Read Request Message": an invalid one
// surfaces an error, and makes no Read succeed.
//
// RDMAP-5040-5.2.2-6, RDMAP-5040-5.2.2-9, RDMAP-5040-7.1-2, RDMAP-5040-7.1-4
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_5_2_2_HostileResponses(t *testing.T) {
	type sinks struct{ first, second *sendEntry }
	const n = 64
	for _, tt := range []struct {
		desc  string
		write func(s sinks) [][]byte
		want  string
		done  string
	}{
		{"another STag that exists: the second Read's", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.second.sinkSTag, s.second.sinkTO, make([]byte, n))}
		}, "1100 c000 004e", "1 local protection error, 2 flushed, 3 flushed"},
		{"an STag that does not exist", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, 0xDEADBE00, s.first.sinkTO, make([]byte, n))}
		}, "1100 c000 004e", "1 local protection error, 2 flushed, 3 flushed"},
		{"too short", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n-1))}
		}, "1101 c000 004d", "1 local protection error, 2 flushed, 3 flushed"},
		{"empty", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, nil)}
		}, "1101 c000 000e", "1 local protection error, 2 flushed, 3 flushed"},
		{"too long", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n+1))}
		}, "1101 c000 004f", "1 local protection error, 2 flushed, 3 flushed"},
		{"TO too high, still inside", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO+1, make([]byte, n-1))}
		}, "1101 c000", "1 local protection error, 2 flushed, 3 flushed"},
		{"TO before the sink", func(s sinks) [][]byte {
			return [][]byte{tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO-1, make([]byte, n))}
		}, "1101 c000", "1 local protection error, 2 flushed, 3 flushed"},
		{"right length, but with a hole", func(s sinks) [][]byte {
			a := tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n/2))
			a[0] &^= 0x40 // not the last segment
			return [][]byte{a, tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n/2))}
		}, "1101 c000", "1 local protection error, 2 flushed, 3 flushed"},
		{"half in the second Read's sink", func(s sinks) [][]byte {
			a := tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n/2))
			a[0] &^= 0x40
			return [][]byte{a, tagged(OpReadResponse, s.second.sinkSTag, s.second.sinkTO, make([]byte, n/2))}
		}, "1101 c000", "1 local protection error, 2 flushed, 3 flushed"},
		{"a Write into the sink", func(s sinks) [][]byte {
			return [][]byte{tagged(OpWrite, s.first.sinkSTag, s.first.sinkTO, make([]byte, n))}
		}, "1100 c000", "1 flushed, 2 flushed, 3 flushed"},
		{"twice", func(s sinks) [][]byte {
			a := tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n))
			return [][]byte{a, a}
		}, "1100 c000", "1 success, 2 local protection error, 3 flushed"},
		{"to an atomic", func(s sinks) [][]byte {
			return [][]byte{
				tagged(OpReadResponse, s.first.sinkSTag, s.first.sinkTO, make([]byte, n)),
				tagged(OpReadResponse, s.second.sinkSTag, s.second.sinkTO, make([]byte, n)),
				tagged(OpReadResponse, 0, 0, nil),
			}
		}, "0206 c000 000e", "1 success, 2 success, 3 flushed"},
		{"an Atomic Response to a Read", func(s sinks) [][]byte {
			return [][]byte{untagged(OpAtomicResponse, 3, 1, AtomicResponse{ID: 1}.AppendTo(nil))}
		}, "0206 c000 001e", "1 flushed, 2 flushed, 3 flushed"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			guarded := bytes.Repeat([]byte{0xEE}, 3*n)
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: guarded[n : 2*n]})
			x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, n)})
			x.a.post(WorkRequest{ID: 3, Op: WorkFetchAdd})
			s := sinks{x.a.qp.sq.at(0), x.a.qp.sq.at(1)} // +checklocksignore: no other goroutine is at work
			x.a.transmit()
			for _, u := range tt.write(s) {
				x.a.inject(u)
			}
			x.a.wantTerminate(tt.want)
			wantDone(t, "requests", x.a.sendCQ, tt.done)
			if !bytes.Equal(guarded[:n], guarded[2*n:]) || guarded[0] != 0xEE {
				t.Error("octets beside the sink were changed")
			}
			if got := regions(x.a.domain); got != 0 {
				t.Errorf("%d sinks are still registered", got)
			}
		})
	}
	t.Run("nobody asked", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.injectHex(vZeroResponse)
		x.a.wantTerminate("0206 c000 000e c142 00000000 0000000000000000")
	})
	t.Run("while an atomic is the oldest", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd})
		x.a.transmit()
		x.a.injectHex(vReadResponse)
		x.a.wantTerminate("1100 c000 0016")
		wantDone(t, "requests", x.a.sendCQ, "1 flushed")
	})
	t.Run("another TO, without octets", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkRead})
		x.a.transmit()
		x.a.inject(tagged(OpReadResponse, 0, 1, nil))
		x.a.wantTerminate("1101 c000 000e")
		wantDone(t, "requests", x.a.sendCQ, "1 local protection error")
	})
	t.Run("before the request went out", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
		e := x.a.qp.sq.at(0) // +checklocksignore: no other goroutine is at work
		x.a.inject(tagged(OpReadResponse, e.sinkSTag, e.sinkTO, make([]byte, 8)))
		x.a.wantTerminate("0206 c000")
		wantDone(t, "requests", x.a.sendCQ, "1 flushed")
	})
}

// An invalid Atomic Response surfaces an error. RDMAPX-7306-5.2.2-11, RDMAPX-7306-5.2.1-12
func TestRFC7306_5_2_2_HostileResponses(t *testing.T) {
	for _, tt := range []struct {
		desc string
		id   uint32
		n    int
		want string
		done string
	}{
		{"right", 1, 12, "", "1 success"},
		{"another identifier", 2, 12, "02ff c000 001e", "1 general error, 2 flushed"},
		{"too short", 1, 11, "02ff c000 001d", "1 general error, 2 flushed"},
		{"empty", 1, 0, "02ff c000 0012", "1 general error, 2 flushed"},
		{"too long", 1, 13, "1205 c000 001f", "1 flushed, 2 flushed"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd})
			x.a.post(WorkRequest{ID: 2, Op: WorkFetchAdd})
			x.a.transmit()
			payload := append(AtomicResponse{ID: tt.id, Original: 9}.AppendTo(nil), 0)
			x.a.inject(untagged(OpAtomicResponse, 3, 1, payload[:tt.n]))
			if tt.want != "" {
				x.a.wantTerminate(tt.want)
			}
			wantDone(t, "requests", x.a.sendCQ, tt.done)
		})
	}
	t.Run("nobody asked", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.injectHex(vAtomicResponse)
		x.a.wantTerminate("0206 c000 001e 414b")
	})
	t.Run("a Read was asked for", func(t *testing.T) {
		x := newPair(t, params{})
		sink := make([]byte, 8)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink})
		x.a.transmit()
		x.a.inject(untagged(OpAtomicResponse, 3, 1, AtomicResponse{}.AppendTo(nil))) // identifier 0, which no atomic has
		x.a.wantTerminate("0206 c000 001e 414b")
		wantDone(t, "the Read", x.a.sendCQ, "1 flushed")
	})
}

// "The DDP layer MUST validate all DDP Segment fields." "The RDMA OpCode MUST be valid." "The RDMA
// Version MUST be valid." This applies to every kind of message. "the Error Type, Error Code, ULP
// PDU Length, and Terminated DDP Header fields are included in the Terminate Message".
//
// RDMAP-5040-7.1-2, RDMAP-5040-7.1-4, RDMAP-5040-7.2-1 to RDMAP-5040-7.2-3, RDMAPX-7306-8.1-1,
// RDMAPX-7306-8.2-1 to RDMAPX-7306-8.2-4, RDMAP-5040-4.1-22, RDMAP-6580-3.4-1, RDMAPX-7306-5.2.1-22
func TestRFC5040_7_2_BadSegments(t *testing.T) {
	const qn, msn, mo = 9, 13, 17 // last octets of the fields
	change := func(vector string, at int, value byte) []byte {
		b := unhex(vector)
		b[at] = value
		return b
	}
	long := func(vector string, n int) []byte { return append(unhex(vector), make([]byte, n)...) }
	short := func(vector string, n int) []byte { b := unhex(vector); return b[:len(b)-n] }
	first := func(vector string) []byte { return change(vector, msn, 1) } // with MSN 1
	vFirstAdd := fmt.Sprintf("%x", first(vFetchAdd))
	vFirstImmediate := fmt.Sprintf("%x", first(vImmediate))
	const terminate = "4147 00000000 00000002 00000001 00000000 1100"
	for _, tt := range []struct {
		desc string
		u    []byte
		want string
	}{
		{"Write, DDP version 0", change(vWrite, 0, 0xC0), "1104 c000 0016"},
		{"Write, STag unknown", unhex(vWrite), "1100 c000 0016"},
		{"Send, DDP version 2", change(vSend, 0, 0x42), "1206 c000 0017"},
		{"Send, queue 4", change(vSend, qn, 4), "1201 c000 0017"},
		{"Send, wrong MSN", change(vSend, msn, 2), "1203 c000 0017"},
		{"Send, wrong MO", change(vSend, mo, 1), "1204 c000 0017"},
		{"Send, RV 0", change(vSend, 1, 0x03), "0205 c000 0017 4103"},
		{"Send, RV 2", change(vSend, 1, 0x83), "0205 c000 0017 4183"},
		{"Write, RV 3", change(vWrite, 1, 0xC0), "0205 c000 0016 c1c0"},
		{"opcode 0xC", change(vZeroSend, 1, 0x4C), "0206 c000 0012"},
		{"opcode 0xF", change(vSend, 1, 0x4F), "0206 c000 0017"},
		{"opcode 0xE, tagged", change(vWrite, 1, 0x4E), "0206 c000 0016"},
		{"Send with T=1", change(vWrite, 1, 0x43), "0206 c000 0016"},
		{"Write with T=0", change(vSend, 1, 0x40), "0206 c000 0017"},
		{"Send on queue 1", change(vSend, qn, 1), "0206 c000 0017"},
		{"Read Request on queue 0", change(vReadRequest, qn, 0), "0206 c000 002e"},
		{"Read Request, wrong MSN", change(vReadRequest, msn, 2), "1203 c000 002e"},
		{"Read Request, wrong MO", change(vReadRequest, mo, 2), "1204 c000 002e"},
		{"Read Request, queue 5", change(vReadRequest, qn, 5), "1201 c000 002e"},
		{"Read Request, RV 3", change(vReadRequest, 1, 0xC1), "0205 c000 002e"},
		{"another opcode on queue 1", change(vReadRequest, 1, 0x47), "0206 c000 002e"},
		{"Read Request, short", short(vReadRequest, 1), "02ff c000 002d"},
		{"Read Request, empty", short(vReadRequest, 28), "02ff c000 0012"},
		{"Read Request, long, fits an atomic's buffer", long(vReadRequest, 1), "02ff c000 002f"},
		{"Read Request, longer than any request", long(vReadRequest, 25), "1205 c000 0047"},
		{"Atomic Request, short", short(vFirstAdd, 1), "02ff c000 0045"},
		{"Atomic Request, long", long(vFirstAdd, 1), "1205 c000 0047"},
		{"Atomic Request on queue 0", change(vFirstAdd, qn, 0), "0206 c000 0046"},
		{"Atomic Request, RV 0", change(vFirstAdd, 1, 0x0A), "0205 c000 0046"},
		{"Atomic Request, wrong MSN", unhex(vFetchAdd), "1203 c000 0046"},
		{"Atomic Request, wrong MO", change(vFirstAdd, mo, 8), "1204 c000 0046"},
		{"Atomic Request, AOpCode 1", change(vFirstAdd, 21, 1), "0206 c000 0046 414a"},
		{"Atomic Request, AOpCode 15", change(vFirstAdd, 21, 15), "0206 c000 0046 414a"},
		{"Atomic Response on queue 1", change(vAtomicResponse, qn, 1), "0206 c000 001e"},
		{"Atomic Response, wrong MSN", change(vAtomicResponse, msn, 0), "1203 c000 001e"},
		{"Immediate Data with T=1", change(vWrite, 1, 0x48), "0206 c000 0016"},
		{"Immediate Data, RV 0", change(vFirstImmediate, 1, 0x08), "0205 c000 001a"},
		{"Immediate Data, queue 1", change(vFirstImmediate, qn, 1), "0206 c000 001a"},
		{"Immediate Data, wrong MO", change(vFirstImmediate, mo, 4), "1204 c000 001a"},
		{"Terminate, wrong MSN", change(terminate+"0000", msn, 2), "1203 c000 0016"},
		{"Terminate, wrong MO", change(terminate+"0000", mo, 2), "1204 c000 0016"},
		{"Terminate on queue 0", change(terminate+"0000", qn, 0), "0206 c000 0016"},
		{"Terminate, 3 octets", short(terminate+"0000", 1), "02ff c000 0015"},
		{"Terminate, empty", short(terminate+"0000", 4), "02ff c000 0012"},
		{"Terminate, D without a header", unhex(terminate + "c000 0016 c140"), "02ff c000 001a"},
		{"Terminate, longer than its buffer", long(terminate+"0000", 61), "1205 c000"},
		{"shorter than a tagged header", unhex(vWrite)[:13], "1000 0000"},
		{"shorter than an untagged header", unhex(vSend)[:17], "1000 0000"},
		{"empty", nil, "1000 0000"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 100)
			x.b.inject(tt.u)
			h := x.b.wantTerminate(tt.want)
			if h[2] == 0xC0 {
				n := 18
				if ddp.IsTagged(tt.u) {
					n = 14
				}
				if !bytes.Equal(h[6:], tt.u[:n]) {
					t.Errorf("returned DDP header %x, want %x", h[6:], tt.u[:n])
				}
				if got := int(h[4])<<8 | int(h[5]); got != len(tt.u) {
					t.Errorf("returned segment length %d, want %d", got, len(tt.u))
				}
			}
			if x.b.qp.Err() == nil {
				t.Error("no error is surfaced")
			}
			wantDone(t, "receives", x.b.recvCQ, "1 flushed")
			x.b.wantOut("Terminate")
		})
	}
}

// The vectors of the Terminates that a segment alone can cause.
func TestTerminateVectorsFromSegments(t *testing.T) {
	for _, tt := range []struct {
		desc     string
		segments []string
		want     string
	}{
		{"bad STag Write", []string{"c140 deadbe00 0000000000001000 0102030405060708"}, vTermInvalidSTag},
		{"STag that can't be invalidated", []string{vZeroSend, "4144 deadbe00 00000000 00000002 00000000 68656c6c6f"}, vTermInvalidate},
		{"opcode 0xC", []string{"414c 00000000 00000000 00000001 00000000"}, vTermOpcode},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			x.b.recv(2, 8)
			for _, s := range tt.segments {
				x.b.injectHex(s)
			}
			x.b.transmit()
			if len(x.b.wire) != 1 || !bytes.Equal(x.b.wire[0], unhex(tt.want)) {
				t.Errorf("sent %x, want %s", x.b.wire, tt.want)
			}
		})
	}
}

// "A Remote Operation Error or Unexpected OpCode error will be reported by the remote peer if there
// is an Immediate Data or Atomic Operation that is not supported by the remote peer." Queue 3 does
// not exist then.
//
// RDMAPX-7306-1.1-3, RDMAPX-7306-1.1-5, RDMAPX-7306-10.2-1
func TestRFC7306_1_1_OpcodesOff(t *testing.T) {
	for _, tt := range []struct{ vector, want string }{
		{vImmediate, "0206 c000 001a"},
		{vImmediateSE, "0206 c000 001a"},
		{vFetchAdd, "0206 c000 0046"},
		{vAtomicResponse, "0206 c000 001e"},
		{"4143 00000000 00000003 00000001 00000000", "1201 c000 0012"},
		{vReadRequest + "00", "1205 c000 002f"}, // the request buffers have 28 octets
	} {
		x := newPair(t, params{noExtensions: true})
		x.b.injectHex(tt.vector)
		x.b.wantTerminate(tt.want)
	}
}

// "If more than one error is detected on incoming RDMA Messages, before the Terminate Message can
// be sent, then the first RDMA Message (and its associated DDP Segment) that experienced an error
// MUST be captured".
//
// RDMAP-5040-7.1-7
func TestRFC5040_7_1_FirstErrorCounts(t *testing.T) {
	x := newPair(t, params{})
	x.b.injectHex(vWrite)
	x.b.injectHex(vSend)
	x.b.qp.Fail(codedError{2, 0, 2})
	x.b.qp.Fail(errTest)
	x.b.wantTerminate("1100 c000 0016 c140 12345601")
}

// A message whose opcode changes between segments: the RFCs have no code for that.
func TestOpcodeChangesInsideMessage(t *testing.T) {
	x := newPair(t, params{})
	x.b.recv(1, 100)
	a := untagged(OpSend, 0, 1, []byte{1})
	a[0] &^= 0x40
	x.b.inject(a)
	b := untagged(OpSendSE, 0, 1, []byte{2})
	b[17] = 1
	x.b.inject(b)
	x.b.wantTerminate("0206 c000 0013 4145")
}

// A peer of one stream can't use the resources of another stream. An STag belongs to one stream,
// Domains do not share STags, and IRD slots and completion queues are shared only on request.
//
// RDMAP-5040-8.1.1-2, RDMAP-5040-8.1.1-3, RDMAP-5040-8.1.1-11, RDMAP-5040-8.1.2-3
func TestRFC5040_8_1_1_StreamsAreApart(t *testing.T) {
	shared := new(ddp.Domain)
	x := newPair(t, params{domain: shared}) // a is stream 1, b is stream 2
	r, b := x.a.register(8, allAccess)
	before := bytes.Clone(b)
	x.b.inject(tagged(OpWrite, r.STag(), r.TO(), []byte{9})) // stream 1's region through stream 2
	x.b.wantTerminate("1102 c000")
	if !bytes.Equal(b, before) {
		t.Error("memory of another stream was changed")
	}
	p, q := NewQP(Config{}), NewQP(Config{})
	if p.cfg.SendCQ == q.cfg.SendCQ || p.cfg.RecvCQ == q.cfg.RecvCQ || p.cfg.SendCQ == p.cfg.RecvCQ {
		t.Error("completion queues are shared without being asked")
	}
	if p.cfg.Domain == q.cfg.Domain {
		t.Error("a domain is shared without being asked")
	}
}

// An overflow of a completion queue must not harm streams that do not use it: here no queue can
// overflow, and a full queue stops only posts to itself.
//
// RDMAP-5040-8.1.1-12, RDMAP-5040-8.1.1-13, RDMAP-5040-8.1.2-5
func TestRFC5040_8_1_1_FullCompletionQueue(t *testing.T) {
	x, y := newPair(t, params{cqDepth: 1}), newPair(t, params{})
	x.a.post(WorkRequest{Op: WorkWrite})
	x.run()
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkWrite}); err == nil {
		t.Fatal("a full completion queue takes another request")
	}
	y.a.post(WorkRequest{Op: WorkWrite})
	y.run()
	wantDone(t, "the other stream", y.a.sendCQ, "0 success")
	wantState(t, x.a.qp, stateRTS)
	wantDone(t, "this stream", x.a.sendCQ, "0 success")
	x.a.post(WorkRequest{Op: WorkWrite})
	x.b.recv(1, 8) // and the same for receives
	if err := x.b.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrCompletionQueueFull) {
		t.Errorf("a second receive for a completion queue of one entry: %v, want ErrCompletionQueueFull", err)
	}
	y.b.recv(1, 8)
	y.b.recv(2, 8)
	x.a.transmit()
	done(x.a.sendCQ)
	x.a.post(WorkRequest{Op: WorkSend})
	x.run()
	if err := x.b.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrCompletionQueueFull) {
		t.Errorf("a receive while the one entry is taken: %v, want ErrCompletionQueueFull", err)
	}
	wantDone(t, "receives of this stream", x.b.recvCQ, "1 success")
	x.b.recv(2, 8)
}
