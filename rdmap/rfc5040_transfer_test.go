package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// wantSurfaced checks that b, and only b, has found an error. b must report it to its own ULP, in
// Err and in the Completion of each receive, and send one Terminate that begins with want. The peer
// must report that Terminate to its ULP.
func (x *pair) wantSurfaced(want string) {
	t := x.b.t
	t.Helper()
	x.b.wantTerminate(want)
	x.b.wantOut("Terminate")
	var own, remote *TerminateError
	if err := x.b.qp.Err(); !errors.As(err, &own) || own.Remote || own.Err == nil {
		t.Errorf("the ULP that found the error is told %v", err)
	}
	for _, c := range done(x.b.recvCQ) {
		if c.Status == StatusOK || !errors.As(c.Err, &own) || own.Remote {
			t.Errorf("a receive completes as %v", c)
		}
	}
	x.a.receive()
	err := x.a.qp.Err()
	if !errors.As(err, &remote) || !remote.Remote || !bytes.HasPrefix(remote.Terminate.appendTo(nil), unhex(want)) {
		t.Errorf("the other ULP is told %v, want Terminate %s", err, want)
	}
}

// "At the Remote Peer, when an invalid RDMA Write Message is delivered to the Remote Peer's RDMAP
// layer, an error is surfaced": "the Data Sink RDMAP layer will pass up the corresponding error
// information to the Data Sink ULP and send a Terminate Message to the Data Source RDMAP layer. The
// Data Source RDMAP layer will then pass up the Terminate Message".
//
// RDMAP-5040-5.1-4, RDMAP-5040-3.2-8
func TestRFC5040_5_1_InvalidWriteSurfaces(t *testing.T) {
	for _, tt := range []struct {
		desc string
		bad  func(h Handle) Handle
		want string
	}{
		{"STag", func(h Handle) Handle { h.STag++; return h }, "1100 c000 0016"},
		{"offset", func(h Handle) Handle { h.TO++; return h }, "1101 c000 0016"},
		{"wrap", func(h Handle) Handle { h.TO = ^uint64(0); return h }, "1103 c000 0016"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			before := bytes.Clone(b)
			x.b.recv(1, 8)
			x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: make([]byte, 8), Remote: tt.bad(handle(r))})
			x.a.transmit()
			wantDone(t, "the source learns it later", x.a.sendCQ, "1 success")
			x.b.receive()
			x.wantSurfaced(tt.want)
			if !bytes.Equal(b, before) {
				t.Errorf("memory %x, want %x", b, before)
			}
		})
	}
}

// "The Tagged Offset of a Tagged Buffer MAY start at a non-zero value": in rddp they always do.
//
// RDMAP-5040-5.1-5, RDMAP-5040-5.2.2-7
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_5_1_TaggedOffsetStartsAnywhere(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(64, allAccess)
	if r.TO() == 0 {
		t.Error("the region's TO is 0")
	}
	want := pattern(64, 1)
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: want, Remote: handle(r)})
	sink := make([]byte, 64)
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
	if x.a.qp.sq.at(1).sinkTO == 0 {
		t.Error("the sink's TO is 0")
	}
	x.run()
	wantDone(t, "requests", x.a.sendCQ, "1 success, 2 success")
	if !bytes.Equal(b, want) || !bytes.Equal(sink, want) {
		t.Error("octets differ")
	}
}

// parts are the parts of 64 octets that a request may be about: all, the first, the last, one in
// the middle, several.
var parts = []struct{ off, n int }{{0, 64}, {0, 1}, {63, 1}, {31, 1}, {5, 50}}

// "An RDMA Write Message MAY target all or part of a previously Advertised Buffer."
//
// RDMAP-5040-5.1-6
func TestRFC5040_5_1_WriteToAllOrPart(t *testing.T) {
	for _, part := range parts {
		x := newPair(t, params{})
		r, b := x.b.register(64, ddp.RemoteWrite)
		want := bytes.Clone(b)
		data := bytes.Repeat([]byte{0xD5}, part.n)
		copy(want[part.off:], data)
		h, err := handle(r).Slice(int64(part.off), part.n)
		if err != nil {
			t.Fatal(err)
		}
		x.a.post(WorkRequest{Op: WorkWrite, Data: data, Remote: h})
		x.run()
		wantState(t, x.b.qp, stateRTS)
		if !bytes.Equal(b, want) {
			t.Errorf("after %d octets at %d: %x, want %x", part.n, part.off, b, want)
		}
	}
}

// "At the Data Source, a subsequent Send … Message MAY be used to signal Delivery of previous RDMA
// Write Messages": in whatever order the segments arrive, the Writes before the Send are in place
// when the Send completes.
//
// RDMAP-5040-5.1-9, RDMAP-5040-5.5-10, RDMAP-5040-B-4
func TestRFC5040_5_1_SendSignalsWrites(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		x := newPair(t, params{mulpdu: 60})
		r, b := x.b.register(400, allAccess)
		victim, _ := x.b.register(8, allAccess)
		op := allSends[seed%4]
		buf := x.b.recv(1, 100)
		x.b.recv(2, 100)
		want := pattern(400, int(seed))
		for i := range 4 {
			h, err := handle(r).Slice(int64(100*i), 100)
			if err != nil {
				t.Fatal(err)
			}
			x.a.post(WorkRequest{Op: WorkWrite, Data: want[100*i:][:100], Remote: h})
		}
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: want[:100], Invalidate: victim.STag()})
		x.a.post(WorkRequest{Op: WorkSend, Data: want[:1]})
		x.a.transmit()
		seen := 0
		x.b.arrive(x.a.wire, rnd.Perm(len(x.a.wire)), func() {
			for _, c := range done(x.b.recvCQ) {
				if seen++; c.ID != uint64(seen) || c.Status != StatusOK {
					t.Errorf("seed %d: completion %v", seed, c)
				}
				if !bytes.Equal(b, want) || !bytes.Equal(buf, want[:100]) {
					t.Errorf("seed %d: the %v is delivered before the Writes are in place", seed, op)
				}
			}
		})
		if seen != 2 {
			t.Errorf("seed %d: %d Sends are delivered, want 2 (%v)", seed, seen, x.b.qp.Err())
		}
	}
}

// arrive lets segments arrive, each whole, in any order: order lists their places in the stream.
// After each of them it calls look. The side has received nothing else.
func (s *side) arrive(segments [][]byte, order []int, look func()) {
	offs := make([]uint64, len(segments)+1)
	for i, u := range segments {
		offs[i+1] = offs[i] + uint64(len(u)) + 6
	}
	here, early := make([]bool, len(segments)), make([]bool, len(segments))
	next := 0
	for _, i := range order {
		here[i] = true
		if i != next {
			early[i] = s.rx.TryPlace(offs[i], segments[i])
		}
		for ; next < len(segments) && here[next]; next++ {
			if !early[next] {
				s.rx.Place(offs[next], segments[next])
			}
		}
		for s.rx.Deliver(offs[next]) {
			s.qp.Handle(s.rx.Message())
		}
		if err := s.rx.Err(); err != nil {
			s.qp.Fail(err)
		}
		if look != nil {
			look()
		}
	}
	s.off = offs[next]
}

// "The Data Source MAY issue a zero-length RDMA Write Message": a DDP header, whose STag and TO are
// ignored.
//
// RDMAP-5040-5.1-11
func TestRFC5040_5_1_ZeroLengthWrite(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(8, allAccess)
	before := bytes.Clone(b)
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Remote: Handle{STag: 0xDEADBE00, TO: 7}})
	x.a.transmit()
	if want := unhex("c140 deadbe00 0000000000000007"); len(x.a.wire) != 2 || !bytes.Equal(x.a.wire[1], want) {
		t.Errorf("sent %x, want the second to be %x", x.a.wire, want)
	}
	x.run()
	wantDone(t, "source", x.a.sendCQ, "1 success, 2 success")
	wantState(t, x.b.qp, stateRTS)
	if !bytes.Equal(b, before) {
		t.Errorf("memory %x, want %x", b, before)
	}
}

// "when an invalid RDMA Read Request Message is delivered to the Remote Peer's RDMAP layer, an
// error is surfaced": "the Data Source RDMAP layer will pass up the corresponding error information
// to the Data Source ULP and send a Terminate Message … The Data Sink RDMAP layer will then pass up
// the Terminate Message to the ULP."
//
// RDMAP-5040-5.2.1-6, RDMAP-5040-3.2-11
func TestRFC5040_5_2_1_InvalidRequestSurfaces(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, ddp.RemoteWrite)
	x.b.recv(1, 8)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
	x.a.transmit()
	x.b.receive()
	x.wantSurfaced("0102 e000 002e 4141 00000000 00000001 00000001")
	wantDone(t, "requests", x.a.sendCQ, "1 remote access error, 2 flushed")
}

// "If the Local Peer wishes to read from multiple Tagged Buffers on the Remote Peer, the Local Peer
// MUST use multiple RDMA Read Request Messages." "A single RDMA Read Response Message MUST write to
// one remote Tagged Buffer."
//
// RDMAP-5040-5.2.1-11, RDMAP-5040-5.2.1-12, RDMAP-5040-5.2.2-10
func TestRFC5040_5_2_1_OneBufferPerRequest(t *testing.T) {
	x := newPair(t, params{mulpdu: 30})
	sinks := [][]byte{make([]byte, 40), make([]byte, 40)}
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkRead, Gather: sinks}); !errors.Is(err, ErrBadRequest) {
		t.Errorf("a Read with two sinks: %v, want ErrBadRequest", err)
	}
	var sources []*ddp.Region
	x.a.mulpdu = 100
	for id, sink := range sinks {
		r, _ := x.b.register(40, ddp.RemoteRead)
		sources = append(sources, r)
		x.a.post(WorkRequest{ID: uint64(id), Op: WorkRead, Data: sink, Remote: handle(r)})
	}
	x.a.transmit()
	x.a.wantOut("RDMA Read Request", "RDMA Read Request")
	var stags []ddp.STag
	for i, u := range x.a.wire {
		read, _, err := ParseReadRequest(u[18:])
		if err != nil || read.SourceSTag != sources[i].STag() {
			t.Errorf("request %d is %+v (%v), want STag %v", i, read, err, sources[i].STag())
		}
		stags = append(stags, read.SinkSTag)
	}
	x.b.receive()
	x.b.transmit()
	i := 0
	for _, u := range x.b.wire {
		h, _, err := ddp.ParseTagged(u)
		if err != nil || h.STag != stags[i] {
			t.Errorf("response %d has a segment for STag %v (%v), want %v", i, h.STag, err, stags[i])
		}
		if h.Last {
			i++
		}
	}
	x.a.receive()
	wantDone(t, "reader", x.a.sendCQ, "0 success, 1 success")
}

// "AN RDMA Read Request Message MAY target all or part of a previously Advertised Buffer."
//
// RDMAP-5040-5.2.1-13
func TestRFC5040_5_2_1_ReadAllOrPart(t *testing.T) {
	for _, part := range parts {
		x := newPair(t, params{})
		r, b := x.b.register(64, ddp.RemoteRead)
		h, err := handle(r).Slice(int64(part.off), part.n)
		if err != nil {
			t.Fatal(err)
		}
		sink := make([]byte, part.n)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: h})
		x.run()
		wantDone(t, "reader", x.a.sendCQ, "1 success")
		if !bytes.Equal(sink, b[part.off:part.off+part.n]) {
			t.Errorf("%d octets at %d read as %x", part.n, part.off, sink)
		}
	}
}

// "The Data Sink MAY issue a zero-length RDMA Read Request Message by setting the RDMA Read Message
// Size field to zero".
//
// RDMAP-5040-5.2.1-15
func TestRFC5040_5_2_1_ZeroLengthReadIsSent(t *testing.T) {
	x := newPair(t, params{})
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Remote: Handle{STag: 0xDEADBE00, TO: 7}})
	x.a.transmit()
	if size := x.a.wire[0][30:34]; len(x.a.wire[0]) != 46 || !bytes.Equal(size, make([]byte, 4)) {
		t.Errorf("sent %x, want a size of zero", x.a.wire[0])
	}
	x.run()
	x.b.wantOut("RDMA Read Response")
	for _, c := range wantDone(t, "reader", x.a.sendCQ, "1 success") {
		if c.Len != 0 {
			t.Errorf("completion %v, want 0 octets", c)
		}
	}
}

// "The RDMA Read Response Message for the associated RDMA Read Request Message travels in the
// opposite direction."
//
// RDMAP-5040-5.2.2-1
func TestRFC5040_5_2_2_ResponseTravelsBack(t *testing.T) {
	x := newPair(t, params{})
	for _, ends := range [][2]*side{{x.a, x.b}, {x.b, x.a}} {
		reader, source := ends[0], ends[1]
		r, b := source.register(8, ddp.RemoteRead)
		sink := make([]byte, 8)
		reader.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
		x.run()
		reader.wantOut("RDMA Read Request")
		source.wantOut("RDMA Read Response")
		wantDone(t, "reader", reader.sendCQ, "1 success")
		if !bytes.Equal(sink, b) {
			t.Error("octets differ")
		}
	}
}

// "The ULP Message sent using a Send Message Type MAY be less than or equal to the size of the
// consumed Untagged Buffer. The RDMAP layer communicates to the ULP the size of the data written
// into the Untagged Buffer."
//
// RDMAP-5040-5.3-4, RDMAP-5040-5.3-5
func TestRFC5040_5_3_SendFitsItsBuffer(t *testing.T) {
	const size = 100
	for _, op := range allSends {
		for _, n := range []int{0, 1, 50, size - 1, size} {
			x := newPair(t, params{mulpdu: 60})
			victim, _ := x.b.register(8, allAccess)
			buf := x.b.recv(1, size)
			want := append(pattern(n, n), make([]byte, size-n)...)
			x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: want[:n], Invalidate: victim.STag()})
			x.run()
			for _, c := range wantDone(t, fmt.Sprintf("%v of %d octets", op, n), x.b.recvCQ, "1 success") {
				if c.Len != uint32(n) || !bytes.Equal(buf, want) {
					t.Errorf("%v of %d octets: completion %v, buffer %x", op, n, c, buf)
				}
			}
		}
	}
}

// "If the ULP Message sent via Send Message Type is larger than the Data Sink's Untagged Buffer, it
// is an error", and "when an invalid Send Message Type is Delivered to the Remote Peer's RDMAP
// layer, an error is surfaced", at both ends.
//
// RDMAP-5040-5.3-6, RDMAP-5040-5.3-9, RDMAP-5040-3.2-4
func TestRFC5040_5_3_InvalidSendSurfaces(t *testing.T) {
	for _, op := range allSends {
		for _, tt := range []struct {
			desc  string
			size  int // of the buffer; negative: there is no buffer
			owner uint64
			cut   int // MULPDU
			want  string
		}{
			{"one octet too long", 99, 0, 1000, "1205 c000 0076"},
			{"one octet too long, in the last of three segments", 99, 0, 60, "1205 c000 0022"},
			{"too long from the second segment on", 42, 0, 60, "1205 c000 003c"},
			{"no buffer", -1, 0, 1000, "1202 c000 0076"},
			{"an STag of another stream", 100, 1, 1000, "0109 c000 0076"},
		} {
			if op.WorkOp == WorkSend {
				if tt.owner != 0 {
					continue
				}
			}
			t.Run(fmt.Sprintf("%v, %s", op, tt.desc), func(t *testing.T) {
				x := newPair(t, params{mulpdu: tt.cut})
				victim, err := x.b.domain.Register(make([]byte, 8), allAccess, x.b.stream()+tt.owner)
				if err != nil {
					t.Fatal(err)
				}
				if tt.size >= 0 {
					x.b.recv(1, tt.size)
				}
				x.a.post(WorkRequest{ID: 1, Op: op.WorkOp, Solicited: op.solicited, Data: make([]byte, 100), Invalidate: victim.STag()})
				x.a.transmit()
				x.b.receive()
				x.wantSurfaced(tt.want)
			})
		}
	}
}

// "The Data Source MAY pass a zero-length Send Message Type."
//
// RDMAP-5040-5.3-12
func TestRFC5040_5_3_ZeroLengthSendIsSent(t *testing.T) {
	for op, control := range map[kind]byte{
		{WorkSend, false}: 0x43, {WorkSendInvalidate, false}: 0x44, {WorkSend, true}: 0x45, {WorkSendInvalidate, true}: 0x46,
	} {
		u := segmentsOf(t, 1000, WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Invalidate: 1})[0]
		if len(u) != 18 || u[0] != 0x41 || u[1] != control {
			t.Errorf("%v is sent as %x, want a DDP header with the L bit alone", op, u)
		}
	}
}

// "When the Send with Invalidate and Send with Solicited Event and Invalidate Message are
// Delivered": not when its first segment is placed, not when it arrives ahead of others; and the
// ULP that sees the Completion finds the STag invalid.
//
// RDMAP-5040-5.3-19
func TestRFC5040_5_3_InvalidatedOnDelivery(t *testing.T) {
	for _, op := range []kind{{WorkSendInvalidate, false}, {WorkSendInvalidate, true}} {
		x := newPair(t, params{mulpdu: 60})
		r, b := x.b.register(100, allAccess)
		x.b.recv(1, 100)
		want := pattern(100, 4)
		x.a.post(WorkRequest{Op: WorkWrite, Data: want, Remote: handle(r)})
		x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: make([]byte, 100), Invalidate: r.STag()})
		x.a.transmit()
		n := len(x.a.wire)
		var order []int
		for i := n - 1; i >= 0; i-- { // the last segment of the Send comes first, the first of the Write last
			order = append(order, i)
		}
		arrived := 0
		x.b.arrive(x.a.wire, order, func() {
			arrived++
			_, err := x.b.domain.Check(r.STag(), r.TO(), 1, ddp.RemoteWrite, x.b.stream())
			all := done(x.b.recvCQ)
			if arrived < n && (err != nil || len(all) != 0) {
				t.Errorf("%v: after %d of %d segments the STag is invalid (%v), completions %v", op, arrived, n, err, all)
			}
			if arrived == n && (err == nil || len(all) != 1 || !all[0].HasInvalidated || !bytes.Equal(b, want)) {
				t.Errorf("%v: in the end the STag is valid (%v), or the Write has not landed; completions %v", op, err, all)
			}
		})
	}
}

// "when an invalid Terminate Message is delivered to the Remote Peer's RDMAP layer, an error is
// surfaced".
//
// RDMAP-5040-5.4-9
func TestRFC5040_5_4_InvalidTerminateSurfaces(t *testing.T) {
	for _, tt := range []struct{ desc, segment, want string }{
		{"no header", "4147 00000000 00000002 00000001 00000000", "02ff c000 0012"},
		{"half a header", "4147 00000000 00000002 00000001 00000000 1100", "02ff c000 0014"},
		{"a DDP header that is not there", "4147 00000000 00000002 00000001 00000000 1100 c000 0016", "02ff c000 0018"},
		{"MSN 2", "4147 00000000 00000002 00000002 00000000 1100 0000", "1203 c000 0016"},
		{"MO 1", "4147 00000000 00000002 00000001 00000001 1100 0000", "1204 c000 0016"},
		{"queue 0", "4147 00000000 00000000 00000001 00000000 1100 0000", "0206 c000 0016"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			x.b.injectHex(tt.segment)
			x.wantSurfaced(tt.want)
		})
	}
}
