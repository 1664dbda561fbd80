package rdmap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// segmentsOf returns the segments that one request becomes on a new stream.
func segmentsOf(t *testing.T, mulpdu int, wr WorkRequest) [][]byte {
	t.Helper()
	x := newPair(t, params{mulpdu: mulpdu})
	x.a.post(wr)
	x.a.transmit()
	if lastSegments(x.a.wire) != 1 {
		t.Fatalf("%v is %d messages", wr.Op, lastSegments(x.a.wire))
	}
	return x.a.wire
}

// wantSegment compares the one segment of a request with hex.
func wantSegment(t *testing.T, wr WorkRequest, want string) {
	t.Helper()
	got := segmentsOf(t, 1000, wr)
	if len(got) != 1 || !bytes.Equal(got[0], unhex(want)) {
		t.Errorf("%v is sent as %x, want %s", wr.Op, got, want)
	}
}

// "The first octet reserved for ULP usage on all DDP Messages … is used by RDMAP to carry the RDMA
// Message Opcode and the RDMAP version." "For Send with Invalidate and Send with Solicited Event
// and Invalidate, RDMAP uses the second through fifth octets … to carry the STag that will be
// Invalidated": in every segment, the highest octet first.
//
// RDMAP-5040-4-1, RDMAP-5040-4-2, RDMAP-5040-4.1-3
func TestRFC5040_4_ControlFieldAndInvalidateSTag(t *testing.T) {
	for _, tt := range []struct {
		op   kind
		want string // the octets that DDP reserves, without a tagged message's STag
	}{
		{kind{WorkWrite, false}, "40"},
		{kind{WorkRead, false}, "41 00000000"},
		{kind{WorkSend, false}, "43 00000000"},
		{kind{WorkSendInvalidate, false}, "44 12345601"},
		{kind{WorkSend, true}, "45 00000000"},
		{kind{WorkSendInvalidate, true}, "46 12345601"},
	} {
		wr := WorkRequest{Op: tt.op.WorkOp, Solicited: tt.op.solicited, Data: make([]byte, 70)}
		if tt.op.WorkOp == WorkSendInvalidate {
			wr.Invalidate = 0x12345601
		}
		segments := segmentsOf(t, 46, wr)
		if len(segments) < 2 && tt.op.WorkOp != WorkRead {
			t.Errorf("%v: %d segments", tt.op, len(segments))
		}
		for i, u := range segments {
			if !bytes.HasPrefix(u[1:], unhex(tt.want)) {
				t.Errorf("%v, segment %d: reserved octets %x, want %s", tt.op, i, u[1:6], tt.want)
			}
		}
	}
}

// "RDMA Version field: 01b for an RNIC that complies with this RDMA protocol specification. 00b for
// an RNIC that complies with the RDMA Consortium's". rddp sends 01b. It supports no other version,
// and reports that to a peer that uses one.
//
// RDMAP-5040-4.1-16
func TestRFC5040_4_1_Version(t *testing.T) {
	for _, op := range kinds() {
		for _, u := range segmentsOf(t, 100, WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: 1}) {
			if u[1]&0xC0 != 0x40 {
				t.Errorf("%v is sent with the control field %#x", op, u[1])
			}
		}
	}
	for rv := range byte(4) {
		x := newPair(t, params{})
		x.b.recv(1, 8)
		u := unhex(vSend)
		u[1] = u[1]&^0xC0 | rv<<6
		x.b.inject(u)
		if rv == 1 {
			x.b.wantNothing()
			wantDone(t, "receiver", x.b.recvCQ, "1 success")
		} else {
			x.b.wantTerminate("0205 c000 0017 41")
			wantDone(t, "receiver", x.b.recvCQ, "1 flushed")
		}
		for op := range OpAtomicResponse + 1 { // each message: with another RV its opcode is ignored
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			before := bytes.Clone(b)
			u := untagged(op, op.Queue(), 1, nil)
			if op == OpWrite || op == OpReadResponse {
				u = tagged(op, r.STag(), r.TO(), make([]byte, 8))
			}
			u[1] = rv<<6 | byte(op)
			x.b.inject(u)
			if rv != 1 {
				x.b.wantTerminate("0205 c000")
				if !bytes.Equal(b, before) {
					t.Errorf("%v with RV %d is placed", op, rv)
				}
			} else if err := x.b.qp.Err(); err != nil && strings.Contains(err.Error(), "version") {
				t.Errorf("%v with RV 1: %v", op, err)
			}
		}
	}
}

// "which RDMA Headers MUST be used on each RDMA Message and which RDMA Messages are allowed to
// carry ULP Payload" (figure 5): "Two RDMA Messages carry additional RDMAP headers" (§4). In the
// others the octets of the ULP Message come right after the DDP header.
//
// RDMAP-5040-4-3, RDMAP-5040-4.2-1, RDMAP-5040-4.2-2
func TestRFC5040_4_2_HeadersAndPayload(t *testing.T) {
	data := pattern(21, 3)
	for op, header := range map[kind]int{
		{WorkWrite, false}: 14, {WorkSend, false}: 18, {WorkSendInvalidate, false}: 18, {WorkSend, true}: 18, {WorkSendInvalidate, true}: 18,
	} {
		if u := segmentsOf(t, 100, WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: data, Invalidate: 1})[0]; !bytes.Equal(u[header:], data) {
			t.Errorf("%v: %x after the DDP header, want %x", op, u[header:], data)
		}
	}
	x := newPair(t, params{})
	r, b := x.b.register(21, ddp.RemoteRead)
	x.a.post(WorkRequest{Op: WorkRead, Data: make([]byte, 21), Remote: handle(r)})
	x.a.transmit()
	if u := x.a.wire[0]; len(u) != 18+28 {
		t.Errorf("RDMA Read Request of %d octets, want the DDP header's 18 and 28", len(u))
	}
	x.b.receive()
	x.b.transmit()
	if u := x.b.wire[0]; u[1]&0x0F != byte(OpReadResponse) || !bytes.Equal(u[14:], b) {
		t.Errorf("RDMA Read Response %x, want %x after the DDP header", u, b)
	}
	x.b.qp.Fail(errTest)
	x.b.transmit()
	if u := x.b.wire[1]; !bytes.Equal(u, unhex(vTermCatastrophic)) {
		t.Errorf("Terminate %x, want the DDP header and 4 octets: %s", u, vTermCatastrophic)
	}
}

// "The RDMA Write Message is fully described by the DDP Headers": 14 octets, then the payload
// (figure 11).
//
// RDMAP-5040-4.3-1
func TestRFC5040_4_3_WriteSegment(t *testing.T) {
	wantSegment(t, WorkRequest{
		Op: WorkWrite, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}, Remote: Handle{STag: 0x12345601, TO: 0x1000},
	}, "c1 40 12345601 0000000000001000 0102030405060708")
	second := segmentsOf(t, 18, WorkRequest{
		Op: WorkWrite, Data: []byte{1, 2, 3, 4, 5, 6}, Remote: Handle{STag: 0x12345601, TO: 0x1000},
	})[1]
	if want := unhex("c1 40 12345601 0000000000001004 0506"); !bytes.Equal(second, want) {
		t.Errorf("second segment %x, want %x", second, want)
	}
}

// Figure 6: Data Sink STag, Data Sink TO, size, Data Source STag, Data Source TO, "immediately"
// after the DDP header.
//
// RDMAP-5040-4.4-1 to RDMAP-5040-4.4-6
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_4_4_RequestFields(t *testing.T) {
	x := newPair(t, params{})
	x.a.post(WorkRequest{Op: WorkRead, Data: make([]byte, 0x012345), Remote: Handle{STag: 0x89ABCDEF, TO: 0x0123456789ABCDEF}})
	e := x.a.qp.sq.at(0)
	x.a.transmit()
	u := x.a.wire[0]
	want := unhex(fmt.Sprintf("41 41 00000000 00000001 00000001 00000000 %08x %016x 00012345 89abcdef 0123456789abcdef",
		uint32(e.sinkSTag), e.sinkTO))
	if len(x.a.wire) != 1 || len(u) != 0x2E || !bytes.Equal(u, want) {
		t.Errorf("RDMA Read Request %x, want %x", u, want)
	}
	// The receiver reads the fields from the same places.
	x = newPair(t, params{})
	r, b := x.b.register(64, ddp.RemoteRead)
	x.b.injectHex(fmt.Sprintf("41 41 00000000 00000001 00000001 00000000 0a0b0c01 00000000fedcba98 00000005 %08x %016x",
		uint32(r.STag()), r.TO()+7))
	x.b.transmit()
	if want := append(unhex("c142 0a0b0c01 00000000fedcba98"), b[7:12]...); !bytes.Equal(x.b.wire[0], want) {
		t.Errorf("RDMA Read Response %x, want %x", x.b.wire[0], want)
	}
	// All octets of each field count: the Terminate about a request that reads too much contains
	// the request as it was parsed.
	x = newPair(t, params{})
	r, _ = x.b.register(64, ddp.RemoteRead)
	request := fmt.Sprintf("0a0b0c01 12345678fedcba98 89abcdef %08x %016x", uint32(r.STag()), r.TO())
	x.b.injectHex("41 41 00000000 00000001 00000001 00000000" + request)
	if got := x.b.wantTerminate("0101 e000 002e")[24:]; !bytes.Equal(got, unhex(request)) {
		t.Errorf("the RDMA Read Request is understood as %x, want %s", got, request)
	}
}

// "The Data Sink Tagged Offset MAY start at an arbitrary offset." "The Data Source Tagged Offset
// MAY start at an arbitrary offset."
//
// RDMAP-5040-4.4-9, RDMAP-5040-4.4-10
func TestRFC5040_4_4_ArbitraryOffsets(t *testing.T) {
	x := newPair(t, params{mulpdu: 60})
	r, b := x.b.register(200, ddp.RemoteRead)
	const n = 100
	for source := range 9 {
		for sink := range 9 {
			memory := make([]byte, n+20)
			h, err := handle(r).Slice(int64(source), n)
			if err != nil {
				t.Fatal(err)
			}
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: memory[sink : sink+n], Remote: h})
			x.run()
			wantDone(t, "reader", x.a.sendCQ, "1 success")
			want := make([]byte, n+20)
			copy(want[sink:], b[source:source+n])
			if !bytes.Equal(memory, want) {
				t.Fatalf("from offset %d to offset %d: %x, want %x", source, sink, memory, want)
			}
		}
	}
}

// "A single RDMA Read Request Message can retrieve from 0 to 2^32-1 data octets".
//
// RDMAP-5040-4.4-12
func TestRFC5040_4_4_Sizes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 999, 1 << 16, 1<<20 + 1} {
		x := newPair(t, params{})
		r, b := x.b.register(n+1, ddp.RemoteRead)
		sink := make([]byte, n)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
		x.run()
		for _, c := range wantDone(t, "reader", x.a.sendCQ, "1 success") {
			if c.Len != uint32(n) || !bytes.Equal(sink, b[:n]) {
				t.Errorf("Read of %d octets: completion %v", n, c)
			}
		}
	}
	// The longest Read, from a source that is one octet too short: 32 bits are enough for the
	// length everywhere.
	x := newPair(t, params{})
	r, _ := x.b.register(1, ddp.RemoteRead)
	read := ReadRequest{Size: math.MaxUint32, SourceSTag: r.STag(), SourceTO: r.TO()}
	x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
	x.b.wantTerminate("0101 e000")
	if testmode.Race || unsafe.Sizeof(uintptr(0)) == 4 {
		return // the following trick is not possible there
	}
	x = newPair(t, params{})
	octets := uint64(math.MaxUint32)           // not a constant, which a compiler for a 32-bit system would refuse
	longest := unsafe.Slice(new(byte), octets) // never touched
	source, err := x.b.domain.Register(longest, ddp.RemoteRead, x.b.stream())
	if err != nil {
		t.Fatal(err)
	}
	x.a.post(WorkRequest{Op: WorkRead, Data: longest, Remote: handle(source)})
	x.a.transmit()
	if got := binary.BigEndian.Uint32(x.a.wire[0][30:]); got != math.MaxUint32 {
		t.Errorf("size field %#x", got)
	}
	x.b.receive()
	if !x.b.qp.NextMessage() || x.b.qp.Message().Len != math.MaxUint32 {
		t.Errorf("the response is %+v", x.b.qp.Message())
	}
}

// "The RDMA Read Response Message is fully described by the DDP Headers": 14 octets, then the
// payload (figure 13).
//
// RDMAP-5040-4.5-1
func TestRFC5040_4_5_ReadResponseSegment(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(8, ddp.RemoteRead)
	copy(b, []byte{1, 2, 3, 4, 5, 6, 7, 8})
	read := ReadRequest{SinkSTag: 0x0A0B0C01, SinkTO: 0x2000, Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}
	x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
	x.b.transmit()
	if len(x.b.wire) != 1 || !bytes.Equal(x.b.wire[0], unhex(vReadResponse)) {
		t.Errorf("sent %x, want %s", x.b.wire, vReadResponse)
	}
}

// "The Send and Send with Solicited Event Messages are fully described by the DDP Headers": 18
// octets, then the payload (figure 14).
//
// RDMAP-5040-4.6-1
func TestRFC5040_4_6_SendSegments(t *testing.T) {
	wantSegment(t, WorkRequest{Op: WorkSend, Data: []byte("hello")},
		"41 43 00000000 00000000 00000001 00000000 68656c6c6f")
	wantSegment(t, WorkRequest{Op: WorkSend, Solicited: true, Data: []byte("hello")},
		"41 45 00000000 00000000 00000001 00000000 68656c6c6f")
	second := segmentsOf(t, 21, WorkRequest{Op: WorkSend, Data: []byte("hello")})[1]
	if want := unhex("41 43 00000000 00000000 00000001 00000003 6c6f"); !bytes.Equal(second, want) {
		t.Errorf("second segment %x, want %x", second, want)
	}
}

// "The RDMAP layer passes to the DDP layer an RDMAP Control Field and the Invalidate STag field"
// (figure 15).
//
// RDMAP-5040-4.7-1
func TestRFC5040_4_7_SendInvalidateSegments(t *testing.T) {
	wantSegment(t, WorkRequest{Op: WorkSendInvalidate, Data: []byte("hello"), Invalidate: 0x12345601},
		"41 44 12345601 00000000 00000001 00000000 68656c6c6f")
	wantSegment(t, WorkRequest{Op: WorkSendInvalidate, Solicited: true, Data: []byte("hello"), Invalidate: 0x12345601},
		"41 46 12345601 00000000 00000001 00000000 68656c6c6f")
}
