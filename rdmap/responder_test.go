package rdmap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "The RDMA Read operation MUST consist of a single RDMA Read Request Message and a single RDMA
// Read Response Message." "One RDMA Read Request Message MUST consume one Untagged Buffer", which
// is not the ULP's; "The Remote Peer's RDMAP layer MUST process an RDMA Read Request Message. A
// valid RDMA Read Request Message MUST NOT be delivered to the … ULP". "If the Data Source receives
// a valid RDMA Read Request Message, it MUST respond with a valid RDMA Read Response Message." At
// the other end "The RDMAP layer MUST Deliver the RDMA Read Response Message to the ULP." One
// request reads one buffer, one response writes one.
//
// RDMAP-5040-5.2-1, RDMAP-5040-5.2.1-4, RDMAP-5040-5.2.1-5, RDMAP-5040-5.2.1-11,
// RDMAP-5040-5.2.1-12, RDMAP-5040-5.2.1-14, RDMAP-5040-5.2.2-5, RDMAP-5040-5.2.2-10
func TestRFC5040_5_2_Read(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	r, b := x.b.register(500, ddp.RemoteRead)
	x.b.recv(5, 500) // where the ULP of the source would see something
	sink := make([]byte, 500)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
	x.run()
	x.a.wantOut("RDMA Read Request")
	x.b.wantOut("RDMA Read Response")
	wantDone(t, "reader", x.a.sendCQ, "1 success")
	wantDone(t, "source", x.b.recvCQ, "")
	wantDone(t, "source", x.b.sendCQ, "")
	if !bytes.Equal(sink, b) {
		t.Error("octets differ")
	}
	x.a.post(WorkRequest{ID: 2, Op: WorkSend})
	x.run()
	wantDone(t, "the buffer is still there", x.b.recvCQ, "5 success")
}

// The Data Sink STag "MUST be copied, without interpretation, from the RDMA Read Request into the
// corresponding RDMA Read Response"; so is its TO, whether it wraps or not.
// RDMAP-5040-4.4-7, RDMAP-5040-4.4-8, RDMAP-5040-4.4-11
func TestRFC5040_4_4_SinkIsCopied(t *testing.T) {
	x := newPair(t, params{mulpdu: 64})
	r, b := x.b.register(100, ddp.RemoteRead)
	read := ReadRequest{SinkSTag: 0xFFFFFFFF, SinkTO: ^uint64(0) - 9, Size: 100, SourceSTag: r.STag(), SourceTO: r.TO()}
	x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
	x.b.transmit()
	to, got := read.SinkTO, []byte(nil)
	for i, u := range x.b.wire {
		h, payload, err := ddp.ParseTagged(u)
		if err != nil || h.STag != read.SinkSTag || h.TO != to || h.RsvdULP != 0x42 {
			t.Errorf("segment %d has STag %v, TO %#x (%v), want %v, %#x", i, h.STag, h.TO, err, read.SinkSTag, to)
		}
		to += uint64(len(payload))
		got = append(got, payload...)
	}
	if !bytes.Equal(got, b) {
		t.Error("octets differ")
	}
}

// With size 0 the Data Source "MUST NOT validate the Data Source STag and Data Source Tagged Offset
// contained in the RDMA Read Request Header" and "MUST respond with a zero-length RDMA Read
// Response Message".
//
// RDMAP-5040-5.2.1-17, RDMAP-5040-5.2.1-18, RDMAP-5040-5.2.2-2, RDMAP-5040-5.2.2-3
func TestRFC5040_5_2_1_ZeroLengthRead(t *testing.T) {
	x := newPair(t, params{})
	read := ReadRequest{SinkSTag: 7, SinkTO: 9, SourceSTag: 0xFFFFFFFF, SourceTO: ^uint64(0)}
	x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
	x.b.transmit()
	if want := tagged(OpReadResponse, 7, 9, nil); len(x.b.wire) != 1 || !bytes.Equal(x.b.wire[0], want) {
		t.Errorf("answer %x, want %x", x.b.wire, want)
	}
	x.b.injectHex(strings.Replace(vZeroRead, "00000001 00000000 00000000", "00000002 00000000 00000000", 1))
	x.b.transmit()
	if len(x.b.wire) != 2 || !bytes.Equal(x.b.wire[1], unhex(vZeroResponse)) {
		t.Errorf("answer %x, want %s", x.b.wire, vZeroResponse)
	}
}

// "For non-zero length RDMA Read Request Messages: a. The Data Source STag MUST be valid. b. … MUST
// be associated to this RDMAP Stream. c. The Data Source Tagged Offset MUST fall in the range of
// legal offsets … d. The sum of the Data Source Tagged Offset and the RDMA Read Message Size MUST
// fall in the range … e. … MUST NOT cause the Data Source Tagged Offset to wrap." The Terminate
// returns everything: M, D and R. The same is checked of atomics, which return no RDMA header (RFC
// 7306 §8.1).
//
// RDMAP-5040-5.2.1-16, RDMAP-5040-7.1-2, RDMAP-5040-7.1-5, RDMAP-5040-7.2-9 to RDMAP-5040-7.2-14,
// RDMAP-5040-8.1.1-2,
// RDMAP-5040-8.1.1-3, RDMAPX-7306-8.1-3, RDMAPX-7306-8.2-8
func TestRFC5040_7_2_SourceIsChecked(t *testing.T) {
	shared := new(ddp.Domain)
	memory := aligned(64)
	register := func(d *ddp.Domain, access ddp.Access, stream uint64) Handle {
		r, err := d.Register(memory, access, stream)
		if err != nil {
			t.Fatal(err)
		}
		return handle(r)
	}
	mine := register(shared, ddp.RemoteRead|ddp.RemoteAtomic, 2)
	gone, err := shared.Register(memory, allAccess, 2)
	if err != nil {
		t.Fatal(err)
	}
	gone.Deregister()
	at := func(h Handle, off int64) Handle { h.TO += uint64(off); return h }
	for _, tt := range []struct {
		desc   string
		h      Handle
		n      uint32 // of a Read; atomics have 8
		atomic bool
		code   TerminateCode
	}{
		{"unknown STag", Handle{STag: 0xDEADBE00, TO: 0x1000}, 8, true, codeInvalidSTag},
		{"deregistered", handle(gone), 8, true, codeInvalidSTag},
		{"another domain", register(new(ddp.Domain), allAccess, 2), 8, true, codeInvalidSTag},
		{"another stream", register(shared, allAccess, 1), 8, true, codeNotAssociated},
		{"no right", register(shared, ddp.RemoteWrite, 2), 8, true, codeAccess},
		{"before the start", at(mine, -8), 8, true, codeBounds},
		{"beyond the end", at(mine, 64), 8, true, codeBounds},
		{"across the end", at(mine, 60), 8, false, codeBounds},
		{"one octet too long", mine, 65, false, codeBounds},
		{"wraps", Handle{STag: mine.STag, TO: ^uint64(0)}, 2, false, codeWrap},
		{"sum of exactly 2^64", Handle{STag: mine.STag, TO: ^uint64(0)}, 1, false, codeWrap},
		{"atomic wraps", Handle{STag: mine.STag, TO: ^uint64(0) - 7}, 8, true, codeWrap},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{domain: shared})
			x.b.recv(5, 8)
			read := ReadRequest{SinkSTag: 0x0A0B0C01, SinkTO: 0x2000, Size: tt.n, SourceSTag: tt.h.STag, SourceTO: tt.h.TO}
			x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
			h := x.b.wantTerminate(fmt.Sprintf("%04x e000 002e 4141 00000000 00000001 00000001 00000000", uint16(tt.code)))
			if !bytes.Equal(h[24:], read.AppendTo(nil)) {
				t.Errorf("returned Read Request %x, want %x", h[24:], read.AppendTo(nil))
			}
			x.b.wantOut("Terminate")
			wantDone(t, "receives", x.b.recvCQ, "5 flushed")
			if !tt.atomic {
				return
			}
			x = newPair(t, params{domain: shared})
			request := AtomicRequest{ID: 1, STag: tt.h.STag, TO: tt.h.TO, Data: 1, CompareMask: allBits}
			before := bytes.Clone(memory)
			x.b.inject(untagged(OpAtomicRequest, 1, 1, request.AppendTo(nil)))
			h = x.b.wantTerminate(fmt.Sprintf("%04x c000 0046 414a 00000000 00000001 00000001 00000000", uint16(tt.code)))
			if len(h) != 24 {
				t.Errorf("Terminate Header of %d octets, want 24", len(h))
			}
			if !bytes.Equal(memory, before) {
				t.Error("memory has changed")
			}
		})
	}
	t.Run("exactly to the end", func(t *testing.T) {
		x := newPair(t, params{domain: shared})
		sink := make([]byte, 64)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: mine})
		x.a.post(WorkRequest{ID: 2, Op: WorkFetchAdd, Remote: at(mine, 56)})
		x.run()
		wantDone(t, "reader", x.a.sendCQ, "1 success, 2 success")
	})
	t.Run("vectors", func(t *testing.T) {
		x := newPair(t, params{})
		x.b.injectHex(strings.Replace(vReadRequest, "12345601", "deadbe00", 1))
		x.b.transmit()
		if got := x.b.wire[0]; !bytes.Equal(got, unhex(vTermReadSTag)) {
			t.Errorf("sent %x, want %s", got, vTermReadSTag)
		}
	})
}

// "The Remote Peer MUST process the RDMA Read Request Messages in the order they were sent", and
// the responses "MUST be submitted to the DDP layer … in the order the RDMA Read Request Messages
// were Delivered by DDP", so that "a Delivered RDMA Read Response MUST be sufficient to Complete
// the RDMA Read". At the other end they "MUST be Delivered to the ULP" in that order, too. Atomics
// are in the same order (RFC 7306 §5.4).
//
// RDMAP-5040-5.2.1-10, RDMAP-5040-5.2.2-8, RDMAP-5040-5.5-11, RDMAP-5040-5.5-22, RDMAP-5040-5.5-24,
// RDMAPX-7306-5.2.1-26, RDMAPX-7306-5.2.2-12, RDMAPX-7306-5.4-9, RDMAPX-7306-5.4-10
func TestRFC5040_5_5_ResponsesInRequestOrder(t *testing.T) {
	x := newPair(t, params{mulpdu: 200})
	r, b := x.b.register(2048, allAccess)
	binary.NativeEndian.PutUint64(b, 0)
	h := handle(r)
	var want []string
	sinks := make([][]byte, 16)
	for i := range 16 {
		wr := WorkRequest{ID: uint64(i), Remote: h}
		switch i % 4 {
		case 0:
			wr.Op, want = WorkRead, append(want, "RDMA Read Response")
			sinks[i] = make([]byte, 2048-i*100) // the later, the smaller
			wr.Data = sinks[i]
		case 1: // a chain that only works in order
			wr.Op, want = WorkCmpSwap, append(want, "Atomic Response")
			wr.Compare, wr.Operand = uint64(i/4*2), uint64(i/4*2+1)
		case 2:
			wr.Op, want = WorkFetchAdd, append(want, "Atomic Response")
			wr.Operand = 1
		case 3:
			wr.Op, want = WorkRead, append(want, "RDMA Read Response")
		}
		x.a.post(wr)
	}
	x.a.transmit()
	x.b.receive()
	x.b.transmit()
	x.b.wantOut(want...)
	var msn uint32
	for _, u := range x.b.wire { // "The first Atomic Response of a stream has MSN 1 on QN 3."
		if !ddp.IsTagged(u) {
			if msn++; binary.BigEndian.Uint32(u[10:]) != msn {
				t.Errorf("Atomic Response with MSN %d, want %d", binary.BigEndian.Uint32(u[10:]), msn)
			}
		}
	}
	x.a.receive()
	all := done(x.a.sendCQ)
	if len(all) != 16 {
		t.Fatalf("%d of 16 complete", len(all))
	}
	for i, c := range all {
		if c.ID != uint64(i) || c.Status != StatusOK {
			t.Errorf("completion %d is %v", i, c)
		}
		if wantOrig := uint64(i/4*2 + i%4 - 1); i%4 == 1 || i%4 == 2 {
			if c.Original != wantOrig {
				t.Errorf("%v: original %d, want %d", c, c.Original, wantOrig)
			}
		}
		// Each Read sees the atomics before it and none after it.
		if i%4 == 0 {
			if got := binary.NativeEndian.Uint64(sinks[i]); got != uint64(i/4*2) {
				t.Errorf("Read %d sees %d, want %d", i, got, i/4*2)
			}
		}
	}
}

// "RDMA Read Request Messages, including zero-length RDMA Read Requests, MUST NOT start processing
// at the Remote Peer until they have been Delivered to RDMAP by DDP"; the same goes for atomics. So
// they see earlier Writes of the stream. Appendix B, RFC 7306 §7.
//
// RDMAP-5040-5.5-12, RDMAP-5040-5.5-19, RDMAPX-7306-5.4-4, RDMAPX-7306-5.4-6, RDMAP-5040-B-3,
// RDMAP-5040-B-6
func TestRFC5040_5_5_ReadSeesEarlierWrites(t *testing.T) {
	x := newPair(t, params{mulpdu: 70})
	r, b := x.b.register(64, allAccess)
	x.b.recv(1, 8)
	want := pattern(64, 77)
	sink := make([]byte, 64)
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: want, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkSend})
	x.a.post(WorkRequest{ID: 3, Op: WorkRead, Data: sink, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 4, Op: WorkFetchAdd, Remote: handle(r)})
	x.a.transmit()
	for len(x.a.wire) > 2 { // all except the two requests
		x.b.inject(x.a.wire[0])
		x.a.wire = x.a.wire[1:]
	}
	x.b.wantNothing()
	wantDone(t, "the Send is complete before the response leaves", x.b.recvCQ, "1 success")
	x.run()
	all := wantDone(t, "requester", x.a.sendCQ, "1 success, 2 success, 3 success, 4 success")
	if !bytes.Equal(sink, want) || !bytes.Equal(b, want) {
		t.Error("the Read does not return what was written")
	}
	if len(all) == 4 && all[3].Original != binary.NativeEndian.Uint64(want) {
		t.Error("the atomic does not return what was written")
	}
}

// "For inbound RDMA Read Requests, the RDMAP layer MUST NOT exceed the maximum number of
// outstanding, inbound RDMA Read Requests that were negotiated", nor have fewer buffers: "The Data
// Source MUST ensure that a sufficient number of Untagged Buffers are available on the RDMA Read
// Request Queue". Reads and atomics share the limit, and each request uses up one buffer until it
// is answered.
//
// RDMAP-5040-5.2.1-3, RDMAP-5040-5.2.2-4, RDMAP-5040-6.1-5, RDMAP-5040-6.1-9, RDMAPX-7306-5.2-2,
// RDMAPX-7306-5.2.1-19, RDMAPX-7306-5.2.2-8
func TestRFC5040_6_1_IRD(t *testing.T) {
	const ird = 4
	request := func(msn uint32) []byte {
		if msn%2 == 0 {
			return untagged(OpReadRequest, 1, msn, ReadRequest{}.AppendTo(nil))
		}
		return nil
	}
	x := newPair(t, params{ird: ird})
	if got := x.b.qp.ird; got != ird { // +checklocksignore: no other goroutine is at work
		t.Errorf("IRD is %d, want %d", got, ird)
	}
	r, _ := x.b.register(8, allAccess)
	atomic := AtomicRequest{STag: r.STag(), TO: r.TO(), CompareMask: allBits}.AppendTo(nil)
	inject := func(msn uint32) {
		if u := request(msn); u != nil {
			x.b.inject(u)
		} else {
			x.b.inject(untagged(OpAtomicRequest, 1, msn, atomic))
		}
	}
	msn := uint32(0)
	for range 5 { // the slots are used again and again
		for range ird {
			msn++
			inject(msn)
		}
		x.b.transmit()
	}
	if len(x.b.out) != 5*ird {
		t.Fatalf("%d answers, want %d", len(x.b.out), 5*ird)
	}
	for range ird {
		msn++
		inject(msn)
	}
	wantState(t, x.b.qp, stateRTS)
	inject(msn + 1)
	x.b.wantTerminate("1202 c000")
	t.Run("none at all", func(t *testing.T) {
		x := newPair(t, params{ird: -1})
		x.b.injectHex(vZeroRead)
		x.b.wantTerminate("1202 c000 002e 4141")
	})
}

// A peer may send the next request as soon as it has the whole answer, even if we have not heard
// from TCP.
func TestRequestSlotIsFreeWithItsAnswer(t *testing.T) {
	x := newPair(t, params{ird: 1})
	x.b.slow = true
	for i := range 3 {
		x.b.inject(untagged(OpReadRequest, 1, uint32(i+1), ReadRequest{}.AppendTo(nil)))
		if i == 0 {
			if !x.b.transmitOne() {
				t.Fatal("no answer")
			}
			continue
		}
		if x.b.transmitOne() {
			t.Fatal("an answer takes the slot of one that TCP has not confirmed")
		}
		x.b.sent()
		if !x.b.transmitOne() {
			t.Fatal("no answer after Sent")
		}
	}
	wantState(t, x.b.qp, stateRTS)
}

// "If the terminate occurs after the first RDMA Read Request byte is processed, the RDMA Read
// Request Header is updated to reflect the current location of the RDMA Read operation that is in
// process".
//
// RDMAP-5040-4.8-34, RDMAP-5040-4.8-35
func TestRFC5040_4_8_SourceGoneDuringAnswer(t *testing.T) {
	for _, segments := range []int{0, 2} {
		t.Run(fmt.Sprintf("after %d segments of 1024", segments), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 1024 + 14})
			r, _ := x.b.register(5000, allAccess)
			x.b.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
			x.b.transmitOne()
			x.b.post(WorkRequest{ID: 2, Op: WorkSend})
			read := ReadRequest{SinkSTag: 0x0A0B0C01, SinkTO: 0x2000, Size: 5000, SourceSTag: r.STag(), SourceTO: r.TO()}
			x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
			if !x.b.qp.NextMessage() {
				t.Fatal("no answer")
			}
			x.b.tx.Start(x.b.qp.Message())
			n := 0
			for range segments {
				if !x.b.tx.Next(x.b.mulpdu) {
					t.Fatal("answer ends early")
				}
				x.b.put(&n)
			}
			r.Deregister()
			if x.b.tx.Next(x.b.mulpdu) {
				t.Fatal("a segment from a region that is gone")
			}
			x.b.qp.Fail(x.b.tx.Err())
			h := x.b.wantTerminate("0100 e000 002e 4141 00000000 00000001 00000001 00000000")
			want := ReadRequest{
				SinkSTag: 0x0A0B0C01, SinkTO: 0x2000 + uint64(segments)*1024, Size: 5000 - uint32(segments)*1024,
				SourceSTag: r.STag(), SourceTO: r.TO() + uint64(segments)*1024,
			}
			if got, _, err := ParseReadRequest(h[24:]); err != nil || got != want {
				t.Errorf("returned %+v (%v), want %+v", got, err, want)
			}
			wantDone(t, "own requests", x.b.sendCQ, "1 flushed, 2 flushed")
			if !x.b.qp.Drained() {
				t.Error("not drained although the Terminate is sent")
			}
		})
	}
	t.Run("between request and answer", func(t *testing.T) {
		x := newPair(t, params{})
		r, _ := x.b.register(8, allAccess)
		request := AtomicRequest{STag: r.STag(), TO: r.TO(), Data: 1}
		x.b.inject(untagged(OpAtomicRequest, 1, 1, request.AppendTo(nil)))
		r.Deregister()
		x.b.wantTerminate("0100 c000 0046 414a")
		if !x.b.qp.Drained() {
			t.Error("not drained although the Terminate is sent")
		}
	})
	t.Run("after another error", func(t *testing.T) {
		x := newPair(t, params{})
		r, _ := x.b.register(8, allAccess)
		read := ReadRequest{Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}
		x.b.inject(untagged(OpReadRequest, 1, 1, read.AppendTo(nil)))
		if !x.b.qp.NextMessage() {
			t.Fatal("no answer")
		}
		x.b.tx.Start(x.b.qp.Message())
		r.Deregister()
		x.b.inject(untagged(0xC, 0, 1, nil))
		if x.b.tx.Next(x.b.mulpdu) {
			t.Fatal("a segment from a region that is gone")
		}
		x.b.qp.Fail(x.b.tx.Err())
		x.b.wantTerminate("0206") // the first error
		if !x.b.qp.Drained() {
			t.Error("not drained although the Terminate is sent")
		}
	})
}
