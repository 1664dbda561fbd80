package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// lastSegments counts the messages in segments: those with the L bit.
func lastSegments(segments [][]byte) (n int) {
	for _, u := range segments {
		if u[0]&0x40 != 0 {
			n++
		}
	}
	return n
}

// "RDMAP provides seven data transfer operations. Except for the RDMA Read operation, each
// operation generates exactly one RDMA Message." Six can be posted; the seventh, Terminate, is the
// layer's own.
//
// RDMAP-5040-1.2-1, RDMAP-5040-1.2-2
func TestRFC5040_1_2_MessagesOfEachOperation(t *testing.T) {
	for _, tt := range []struct {
		op          kind
		there, back string // the bytes of the two sides
	}{
		{kind{WorkSend, false}, "Send", ""},
		{kind{WorkSendInvalidate, false}, "Send with Invalidate", ""},
		{kind{WorkSend, true}, "Send with Solicited Event", ""},
		{kind{WorkSendInvalidate, true}, "Send with Solicited Event and Invalidate", ""},
		{kind{WorkWrite, false}, "RDMA Write", ""},
		{kind{WorkRead, false}, "RDMA Read Request", "RDMA Read Response"},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 60, noExtensions: true})
			r, _ := x.b.register(300, allAccess)
			x.b.recv(1, 300)
			x.a.post(WorkRequest{ID: 1, Op: tt.op.WorkOp, Solicited: tt.op.solicited, Data: make([]byte, 300), Remote: handle(r), Invalidate: r.STag()})
			x.a.transmit()
			n := lastSegments(x.a.wire)
			x.b.receive()
			x.b.transmit()
			n += lastSegments(x.b.wire)
			x.run()
			x.a.wantOut(tt.there)
			want := 1
			if tt.back == "" {
				x.b.wantOut()
			} else {
				x.b.wantOut(tt.back)
				want = 2
			}
			if n != want {
				t.Errorf("%d messages end, want %d", n, want)
			}
			wantDone(t, "requests", x.a.sendCQ, "1 success")
		})
	}
	t.Run("Terminate", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.qp.Fail(errTest)
		x.run()
		x.a.wantOut("Terminate")
		x.b.wantOut()
	})
	t.Run("no others", func(t *testing.T) {
		var ops []kind
		for op := range math.MaxUint8 + 1 {
			for _, solicited := range []bool{false, true} {
				x := newPair(t, params{noExtensions: true})
				if err := x.a.qp.PostSend(&WorkRequest{Op: WorkOp(op), Solicited: solicited, Invalidate: 1}); err == nil {
					ops = append(ops, kind{WorkOp(op), solicited})
				}
			}
		}
		want := append(slices.Clone(allSends), kind{WorkWrite, false}, kind{WorkRead, false})
		if !slices.Equal(ops, want) {
			t.Errorf("operations that can be posted: %v, want %v", ops, want)
		}
	})
}

// "the Data Source STag associated with the Tagged Buffer remains valid until the ULP at the Data
// Source invalidates it or the ULP at the Data Sink invalidates it through a Send with Invalidate";
// the Data Sink's "remains valid until the ULP at the Data Sink invalidates it": the peer can't,
// and the memory can be used again.
//
// RDMAP-5040-1.2-5, RDMAP-5040-1.2-6
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_1_2_STagsOfAReadStayValid(t *testing.T) {
	for _, end := range []string{"the source's ULP", "the sink's ULP", "nobody"} {
		t.Run("the source STag is ended by "+end, func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, ddp.RemoteRead)
			x.b.recv(1, 0)
			sink := make([]byte, 8)
			for id := range uint64(3) {
				clear(sink)
				x.a.post(WorkRequest{ID: id, Op: WorkRead, Data: sink, Remote: handle(r)})
				x.run()
				wantDone(t, "reader", x.a.sendCQ, fmt.Sprintf("%d success", id))
				if !bytes.Equal(sink, b) {
					t.Errorf("Read %d returns %x, want %x", id, sink, b)
				}
			}
			switch end {
			case "the source's ULP":
				r.Deregister()
			case "the sink's ULP":
				x.a.post(WorkRequest{ID: 8, Op: WorkSendInvalidate, Invalidate: r.STag()})
				x.run()
				wantDone(t, "Send", x.a.sendCQ, "8 success")
			}
			x.a.post(WorkRequest{ID: 9, Op: WorkRead, Data: sink, Remote: handle(r)})
			x.run()
			want := "9 remote access error"
			if end == "nobody" {
				want = "9 success"
			}
			wantDone(t, "the last Read", x.a.sendCQ, want)
		})
	}
	t.Run("the sink STag", func(t *testing.T) {
		x := newPair(t, params{mulpdu: 100})
		r, b := x.b.register(640, ddp.RemoteRead)
		sink := make([]byte, 640)
		x.a.recv(1, 0)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
		x.run() // each segment of the response finds it
		wantDone(t, "reader", x.a.sendCQ, "1 success")
		if !bytes.Equal(sink, b) {
			t.Error("octets differ")
		}
		x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
		stag := x.a.qp.sq.at(1).sinkSTag // +checklocksignore: no other goroutine is at work
		x.a.transmit()
		x.a.inject(ddp.UntaggedHeader{
			Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(stag), MSN: 1,
		}.AppendTo(nil))
		x.a.wantTerminate("0209 c000")
	})
}

// "Queue Number 0 (used by RDMAP for Send, Send with Invalidate, Send with Solicited Event, and
// Send with Solicited Event and Invalidate operations)", "Queue Number 1 (used by RDMAP for RDMA
// Read operations)", "Queue Number 2 (used by RDMAP for Terminate operations)": each message is
// sent on its queue, and refused on any other.
//
// RDMAP-5040-2.4-1, RDMAP-5040-3.1-2 to RDMAP-5040-3.1-4
func TestRFC5040_3_1_QueueNumbers(t *testing.T) {
	queues := map[Opcode]uint32{
		OpSend: 0, OpSendInvalidate: 0, OpSendSE: 0, OpSendSEInvalidate: 0, OpReadRequest: 1, OpTerminate: 2,
	}
	x := newPair(t, params{noExtensions: true})
	for _, op := range append(slices.Clone(allSends), kind{WorkRead, false}) {
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: 9})
	}
	x.a.transmit()
	x.a.qp.Fail(errTest)
	x.a.transmit()
	if len(x.a.wire) != len(queues) {
		t.Fatalf("%d messages, want %d", len(x.a.wire), len(queues))
	}
	for _, u := range x.a.wire {
		op := Opcode(u[1] & 0x0F)
		if got := binary.BigEndian.Uint32(u[6:]); got != queues[op] {
			t.Errorf("%v on queue %d, want %d", op, got, queues[op])
		}
	}
	for op, right := range queues {
		for qn := range ddp.QN(3) {
			x := newPair(t, params{noExtensions: true})
			r, _ := x.b.register(8, allAccess)
			x.b.recv(1, 100)
			h := ddp.UntaggedHeader{Last: true, RsvdULP: Control(op), RsvdULP32: uint32(r.STag()), QN: qn, MSN: 1}
			x.b.inject(append(h.AppendTo(nil), make([]byte, ReadRequestLen)...)) // a Terminate may be that long
			var own *TerminateError
			refused := errors.As(x.b.qp.Err(), &own) && !own.Remote
			if refused == (uint32(qn) == right) {
				t.Errorf("%v on queue %d is refused: %t", op, qn, refused)
			}
		}
	}
}

// "DDP maps a single RDMA Message to a single DDP Message": one opcode, one STag or MSN, contiguous
// offsets, and one L bit at the end. The other end delivers it once.
//
// RDMAP-5040-3.1-5
func TestRFC5040_3_1_OneMessageIsOneDDPMessage(t *testing.T) {
	const n = 1000
	x := newPair(t, params{mulpdu: 90})
	r, _ := x.b.register(n, allAccess)
	for _, op := range []kind{
		{WorkSend, false}, {WorkWrite, false}, {WorkSend, true}, {WorkSend, false},
		{WorkWrite, false}, {WorkRead, false},
	} {
		if op.WorkOp == WorkSend {
			x.b.recv(uint64(op.WorkOp), n)
		}
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: make([]byte, n), Remote: handle(r)})
	}
	x.a.transmit()
	segments := x.a.wire
	x.b.receive()
	x.b.transmit()
	segments = append(segments, x.b.wire...)
	x.a.receive()
	messages := 0
	for len(segments) > 0 {
		first, sum := segments[0], uint64(0)
		for i := 0; ; i++ {
			u := segments[0]
			segments = segments[1:]
			if u[1] != first[1] {
				t.Fatalf("message %d: control field %#x after %#x", messages, u[1], first[1])
			}
			payload := 0
			if ddp.IsTagged(u) {
				if !bytes.Equal(u[2:6], first[2:6]) || binary.BigEndian.Uint64(u[6:])-binary.BigEndian.Uint64(first[6:]) != sum {
					t.Fatalf("message %d, segment %d: header %x after %x", messages, i, u[:14], first[:14])
				}
				payload = len(u) - 14
			} else {
				if !bytes.Equal(u[2:14], first[2:14]) || uint64(binary.BigEndian.Uint32(u[14:])) != sum {
					t.Fatalf("message %d, segment %d: header %x after %x", messages, i, u[:18], first[:18])
				}
				payload = len(u) - 18
			}
			sum += uint64(payload)
			if u[0]&0x40 != 0 {
				break
			}
		}
		if want := uint64(n); sum != want && sum != ReadRequestLen {
			t.Errorf("message %d has %d octets, want %d", messages, sum, want)
		}
		messages++
	}
	if messages != 7 {
		t.Errorf("%d messages, want 7", messages)
	}
	if got := len(done(x.b.recvCQ)); got != 3 {
		t.Errorf("%d deliveries of 3 Sends", got)
	}
}

// "The RsvdULP field must be 1 octet for DDP Tagged Messages and 5 octets for DDP Untagged
// Messages." The field that RDMAP gives DDP is in every segment, and "When the DDP layer Delivers a
// DDP Message to the RDMAP layer, DDP provides the RsvdULP field", and of an Untagged one the
// length, which no RDMAP header carries.
//
// RDMAP-5040-3.1-6, RDMAP-5040-3.1-7
func TestRFC5040_3_1_RsvdULP(t *testing.T) {
	x := newPair(t, params{mulpdu: 30})
	r, _ := x.b.register(100, allAccess)
	victim, _ := x.b.register(8, allAccess)
	x.b.recv(1, 100)
	x.a.post(WorkRequest{Op: WorkWrite, Data: make([]byte, 50), Remote: handle(r)})
	x.a.post(WorkRequest{Op: WorkSendInvalidate, Solicited: true, Data: make([]byte, 37), Invalidate: victim.STag()})
	x.a.transmit()
	tagged, untagged := 0, 0
	for _, u := range x.a.wire {
		if ddp.IsTagged(u) { // octet 1, then the STag, the TO and the payload
			tagged += len(u) - (1 + 1 + 4 + 8)
			if u[1] != 0x40 || binary.BigEndian.Uint32(u[2:]) != uint32(r.STag()) {
				t.Errorf("tagged segment %x", u)
			}
		} else { // octets 1 to 5, then QN, MSN, MO and the payload
			untagged += len(u) - (1 + 5 + 4 + 4 + 4)
			if u[1] != 0x46 || binary.BigEndian.Uint32(u[2:]) != uint32(victim.STag()) {
				t.Errorf("untagged segment %x", u)
			}
		}
	}
	if tagged != 50 || untagged != 37 {
		t.Errorf("payloads of %d and %d octets, want 50 and 37", tagged, untagged)
	}
	x.run()
	all := wantDone(t, "receiver", x.b.recvCQ, "1 success")
	if len(all) == 1 && (all[0].Len != 37 || !all[0].Solicited || all[0].Invalidated != victim.STag()) {
		t.Errorf("delivered %+v, want 37 octets, solicited, STag %v", all[0], victim.STag())
	}
}

// "DDP propagates to RDMAP all operation or protection errors (used by RDMAP Terminate) and, when
// appropriate, the DDP Header fields of the DDP Segment that encountered the error."
//
// RDMAP-5040-3.1-8
func TestRFC5040_3_1_DDPErrorsHaveTheHeader(t *testing.T) {
	for _, tt := range []struct {
		desc, segment, control string
		n                      int // of the DDP header
	}{
		{"tagged", vWrite, "1100", 14},
		{"tagged, version", "c240 12345601 0000000000001000", "1104", 14},
		{"untagged, no buffer", vSend, "1202", 18},
		{"untagged, queue", "4143 00000000 00000009 00000001 00000000", "1201", 18},
		{"too short for a header", "4143", "1000", 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.injectHex(tt.segment)
			var e *ddp.Error
			if err := x.b.qp.Err(); !errors.As(err, &e) || len(e.Header) != tt.n {
				t.Errorf("RDMAP has %+v of DDP, want a header of %d octets", err, tt.n)
			}
			got := x.b.wantTerminate(tt.control)
			if bad := unhex(tt.segment)[:tt.n]; !bytes.HasSuffix(got, bad) || len(got) != 4 && len(got) != 6+tt.n {
				t.Errorf("the Terminate Header is %x, want %x in it", got, bad)
			}
		})
	}
}

// Send: "The ULP passes to the RDMAP layer … ULP Message Length, ULP Message, An indication of the
// Send Operation Type … An Invalidate STag", and gets "an indication of the Completion results". At
// the Data Sink "the RDMAP layer passes … ULP Message Length, ULP Message, An Event, if the Data
// Sink is configured …, An Invalidated STag".
//
// RDMAP-5040-3.2-1 to RDMAP-5040-3.2-3
func TestRFC5040_3_2_SendOperations(t *testing.T) {
	for _, tt := range []struct {
		op                    kind
		solicits, invalidates bool
	}{
		{kind{WorkSend, false}, false, false},
		{kind{WorkSend, true}, true, false},
		{kind{WorkSendInvalidate, false}, false, true},
		{kind{WorkSendInvalidate, true}, true, true},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 40})
			r, _ := x.b.register(8, allAccess)
			buf := x.b.recv(7, 100)
			want := pattern(77, 5)
			wr := WorkRequest{ID: 1, Op: tt.op.WorkOp, Solicited: tt.op.solicited, Data: want}
			if tt.invalidates {
				if err := x.a.qp.PostSend(&wr); !errors.Is(err, ErrBadRequest) {
					t.Errorf("PostSend without an STag: %v, want ErrBadRequest", err)
				}
				wr.Invalidate = r.STag()
			}
			x.a.post(wr)
			x.run()
			for _, c := range wantDone(t, "source", x.a.sendCQ, "1 success") {
				if c.Op != tt.op.WorkOp || c.Len != 77 {
					t.Errorf("source: completion %+v", c)
				}
			}
			for _, c := range wantDone(t, "sink", x.b.recvCQ, "7 success") {
				want := Completion{ID: 7, QPNum: x.b.qp.cfg.QPNum, Op: WorkRecv, Len: 77, Solicited: tt.solicits, HasInvalidated: tt.invalidates}
				if tt.invalidates {
					want.Invalidated = r.STag()
				}
				if c != want {
					t.Errorf("sink: completion %+v, want %+v", c, want)
				}
			}
			if !bytes.Equal(buf[:77], want) || !bytes.Equal(buf[77:], make([]byte, 23)) {
				t.Errorf("the message arrives as %x", buf)
			}
		})
	}
}

// RDMA Write: "The ULP passes to the RDMAP layer … ULP Message Length, ULP Message, Data Sink STag,
// Data Sink Tagged Offset". At the Data Sink "the RDMAP layer does not Deliver the RDMA Write to
// the ULP. It does Place the ULP Message".
//
// RDMAP-5040-3.2-6, RDMAP-5040-3.2-7
func TestRFC5040_3_2_WriteOperation(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(100, ddp.RemoteWrite)
	buf := x.b.recv(7, 100)
	data := pattern(33, 9)
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: data, Remote: Handle{STag: r.STag(), TO: r.TO() + 5}})
	x.a.transmit()
	h, payload, err := ddp.ParseTagged(x.a.wire[0])
	if err != nil || h.STag != r.STag() || h.TO != r.TO()+5 || !bytes.Equal(payload, data) {
		t.Errorf("the message is %+v, %x (%v)", h, payload, err)
	}
	x.b.receive()
	x.b.wantNothing()
	wantDone(t, "source", x.a.sendCQ, "1 success")
	wantDone(t, "sink", x.b.recvCQ, "")
	wantDone(t, "sink", x.b.sendCQ, "")
	if !bytes.Equal(b[5:38], data) || !bytes.Equal(buf, make([]byte, 100)) {
		t.Errorf("the memory is %x, the receive buffer %x", b, buf)
	}
	x.a.post(WorkRequest{Op: WorkSend})
	x.run()
	wantDone(t, "the receive buffer is still there", x.b.recvCQ, "7 success")
}

// RDMA Read: "The ULP passes to the RDMAP layer … ULP Message Length, Data Source STag, Data Sink
// STag, Data Source Tagged Offset, Data Sink Tagged Offset". The ULP passes the sink as memory, and
// the layer draws STag and TO for it, because the ULP must not choose STags (§8.1.1). "If no error
// occurred while processing the RDMA Read Request, the Data Source will not pass up any information
// to the ULP."
//
// RDMAP-5040-3.2-9, RDMAP-5040-3.2-10
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_3_2_ReadOperation(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(100, ddp.RemoteRead)
	x.b.recv(7, 100)
	sink := make([]byte, 33)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: Handle{STag: r.STag(), TO: r.TO() + 5}})
	e := x.a.qp.sq.at(0)
	region, err := x.a.domain.Check(e.sinkSTag, e.sinkTO, 33, ddp.ReadSink, x.a.stream())
	if err != nil || region.Len() != len(sink) {
		t.Fatalf("STag %v and TO %#x are not the sink's: %v", e.sinkSTag, e.sinkTO, err)
	}
	if err := region.Store(0, pattern(33, 5)); err != nil || !bytes.Equal(sink, pattern(33, 5)) {
		t.Errorf("the memory at STag %v and TO %#x is not the sink: %v", e.sinkSTag, e.sinkTO, err)
	}
	x.a.transmit()
	got, _, err := ParseReadRequest(x.a.wire[0][18:])
	want := ReadRequest{SinkSTag: e.sinkSTag, SinkTO: e.sinkTO, Size: 33, SourceSTag: r.STag(), SourceTO: r.TO() + 5}
	if err != nil || got != want {
		t.Errorf("the request is %+v (%v), want %+v", got, err, want)
	}
	x.run()
	wantDone(t, "sink", x.a.sendCQ, "1 success")
	wantDone(t, "source", x.b.recvCQ, "")
	wantDone(t, "source", x.b.sendCQ, "")
	if x.b.qp.Err() != nil || !bytes.Equal(sink, b[5:38]) {
		t.Errorf("read %x, want %x; the source's error is %v", sink, b[5:38], x.b.qp.Err())
	}
}

// "If the ULP enables an STag, the ULP passes … STag; range of Tagged Offsets …; remote access
// rights (read, write, or read and write) …; and association between a given STag and a given RDMAP
// Stream. If the ULP disables an STag, the ULP passes to the RDMAP layer the STag." Each of these
// limits a peer's access. (The STag itself is drawn, §8.1.1.)
//
// RDMAP-5040-3.2-12, RDMAP-5040-3.2-13
func TestRFC5040_3_2_STagsEnabledAndDisabled(t *testing.T) {
	for _, tt := range []struct {
		desc        string
		access      ddp.Access
		other       bool // for another stream
		disabled    bool
		off         int64 // of the 8 octets, in a range of 16
		write, read string
	}{
		{"read and write", ddp.RemoteRead | ddp.RemoteWrite, false, false, 8, "", ""},
		{"read", ddp.RemoteRead, false, false, 0, "1100", ""},
		{"write", ddp.RemoteWrite, false, false, 0, "", "0102"},
		{"beyond the range", ddp.RemoteRead | ddp.RemoteWrite, false, false, 9, "1101", "0101"},
		{"before the range", ddp.RemoteRead | ddp.RemoteWrite, false, false, -1, "1101", "0101"},
		{"another stream", ddp.RemoteRead | ddp.RemoteWrite, true, false, 0, "1102", "0103"},
		{"disabled", ddp.RemoteRead | ddp.RemoteWrite, false, true, 0, "1100", "0100"},
	} {
		for op, want := range map[WorkOp]string{WorkWrite: tt.write, WorkRead: tt.read} {
			t.Run(tt.desc+", "+op.String(), func(t *testing.T) {
				x := newPair(t, params{})
				stream := x.b.stream()
				if tt.other {
					stream++
				}
				r, err := x.b.domain.Register(make([]byte, 16), tt.access, stream)
				if err != nil {
					t.Fatal(err)
				}
				if tt.disabled {
					r.Deregister()
				}
				x.a.post(WorkRequest{Op: op, Data: make([]byte, 8), Remote: Handle{STag: r.STag(), TO: r.TO() + uint64(tt.off)}})
				x.a.transmit()
				x.b.receive()
				if want != "" {
					x.b.wantTerminate(want)
					return
				}
				x.run()
				wantState(t, x.b.qp, stateRTS)
				wantDone(t, "requests", x.a.sendCQ, "0 success")
			})
		}
	}
}
