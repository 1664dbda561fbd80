package rdmap

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// These tests try faults that other implementations had; conformance/cves.md lists them all.

// TestCVE_2026_64102_ULPDULengthUnderflow: siw subtracted the header's length from a ULPDU length
// that was smaller, and the negative number passed the bounds check. Here every length from 0 to
// one below the minimum is refused, for each opcode.
func TestCVE_2026_64102_ULPDULengthUnderflow(t *testing.T) {
	m := newTargetMemory(t)
	b := make([]byte, 18)
	for op := range byte(16) {
		for _, control := range []byte{0x01, 0x41, 0x81, 0xC1} {
			m.shape(b, control, 0x40|op, Opcode(op).Queue(), 1)
			for n := range 18 {
				if control&0x80 != 0 && n >= 14 {
					break
				}
				x := m.newTarget(true, 1)
				x.hit(b[:n])
				if got, err := x.see(); got != refused(1, 0, 0) || err != nil {
					t.Errorf("%v, control %#02x, %d octets: %+v, %v", Opcode(op), control, n, got, err)
				}
			}
		}
	}
	// The headers inside a message can be too short as well: Read and Atomic Requests, responses,
	// Immediate Data, Terminates.
	for op, n := range map[Opcode]int{OpReadRequest: 28, OpAtomicRequest: 52, OpAtomicResponse: 12, OpImmediate: 8, OpTerminate: 4} {
		for short := range n {
			x := m.newTarget(true, 1)
			x.hit(untagged(op, op.Queue(), 1, make([]byte, short)))
			if got, err := x.see(); got != refused(0, 2, 0xFF) || err != nil {
				t.Errorf("%v of %d octets: %+v, %v", op, short, got, err)
			}
		}
	}
	if !m.intact() {
		t.Error("guard octets have changed")
	}
}

// TestCVE_2026_64268_ReadResponseLongerThanTheRead: siw checked each segment of a Read Response and
// not their sum. Here segments that all lie inside the sink, but have more octets than the Read
// asked for, end the stream, and the Read fails.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestCVE_2026_64268_ReadResponseLongerThanTheRead(t *testing.T) {
	for _, n := range []int{8, 64, 1000} {
		for _, segments := range []int{2, 3, 17, 200} {
			x := newPair(t, params{})
			all := bytes.Repeat([]byte{guardOctet}, n+128)
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: all[64 : 64+n : 64+n], Remote: Handle{STag: 1, TO: 1, Len: uint32(n)}})
			x.a.transmit()
			e := x.a.qp.sq.at(0)
			for i := range segments { // the whole sink again and again
				h := ddp.TaggedHeader{Last: i == segments-1, RsvdULP: Control(OpReadResponse), STag: e.sinkSTag, TO: e.sinkTO}
				x.a.inject(append(h.AppendTo(nil), make([]byte, n)...))
			}
			x.a.wire = nil
			x.a.wantTerminate("1101")
			wantDone(t, "the Read", x.a.sendCQ, "1 local protection error")
			if !bytes.Equal(all[:64], all[64+n:]) || all[0] != guardOctet || all[63] != guardOctet {
				t.Error("octets around the sink have changed")
			}
		}
	}
}

// TestCVE_2026_23242_FirstHeader: siw used a context that did not exist yet when the very first
// header was bad. Here the first segment of a stream may have any version and opcode: this end
// sends a Terminate, and all requests complete.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestCVE_2026_23242_FirstHeader(t *testing.T) {
	m := newTargetMemory(t)
	b := make([]byte, 40)
	for control := range 256 {
		for rdmapControl := 0; rdmapControl < 256; rdmapControl += testmode.Rounds(1, 7) {
			op := Opcode(rdmapControl & 15)
			if control&3 == 1 && rdmapControl>>6 == 1 && op <= OpAtomicResponse {
				continue
			}
			x := m.newTarget(true, 2)
			m.shape(b, byte(control), byte(rdmapControl), op.Queue(), 1)
			x.hit(b)
			got, err := x.see()
			if !got.refused || err != nil || got != expected(byte(control), byte(rdmapControl), op.Queue(), len(b), true) {
				t.Fatalf("control %#02x %#02x: %+v, %v", control, rdmapControl, got, err)
			}
			if x.qp.Err() == nil || !x.qp.rq.isEmpty() {
				t.Fatalf("control %#02x %#02x: error %v, %d receives left", control, rdmapControl, x.qp.Err(), x.qp.rq.entries.Len())
			}
		}
	}
}

// TestCVE_2025_39758_ReadResponseBytes: siw counted the pages of a Read Response wrongly and sent
// foreign memory, up to 64 KiB in an FPDU. Here Reads of every length and offset, cut at many
// sizes, return the octets asked for.
func TestCVE_2025_39758_ReadResponseBytes(t *testing.T) {
	for _, mulpdu := range []int{71, 100, 1000, 65000} {
		x := newPair(t, params{mulpdu: mulpdu})
		secret := bytes.Repeat([]byte{0x5E}, 3*4096)
		mem := secret[4096:8192:8192]
		copy(mem, pattern(len(mem), 3))
		for i := range mem {
			mem[i] &= 0x0F // so that a secret octet is recognizable
		}
		r, err := x.b.domain.Register(mem, ddp.RemoteRead, x.b.stream())
		if err != nil {
			t.Fatal(err)
		}
		for _, off := range []int{0, 1, 7, 2047, 4000, 4095} {
			for _, n := range []int{1, 2, 56, 57, 58, 85, 86, 87, 95, 96, 985, 986, 987, 4096 - off} {
				if n < 1 || n > 4096-off {
					continue
				}
				h, err := handle(r).Slice(int64(off), n)
				if err != nil {
					t.Fatal(err)
				}
				sink := make([]byte, n)
				x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: h})
				x.a.transmit()
				x.b.receive()
				x.b.transmit()
				total := 0
				for _, u := range x.b.wire {
					_, payload, err := ddp.ParseTagged(u)
					if err != nil || len(u) > mulpdu {
						t.Fatalf("segment of %d octets: %v", len(u), err)
					}
					total += len(payload)
				}
				x.a.receive()
				wantDone(t, "the Read", x.a.sendCQ, "1 success")
				if total != n || !bytes.Equal(sink, mem[off:off+n]) {
					t.Fatalf("a Read of %d octets at %d brings %d, equal: %t", n, off, total, bytes.Equal(sink, mem[off:off+n]))
				}
			}
		}
	}
}

// TestCVE_2024_53094_RevokedPagesAreNotSent: siw handed pages to TCP that it did not own. Here, if
// the source of a Read Response is deregistered in the middle, no further octet of it goes out, and
// the stream ends.
func TestCVE_2024_53094_RevokedPagesAreNotSent(t *testing.T) {
	for segments := range 8 { // how many are out when the Region goes
		x := newPair(t, params{mulpdu: 114}) // 100 octets each
		r, mem := x.b.register(800, allAccess)
		clear(mem)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 800), Remote: handle(r)})
		x.a.transmit()
		x.b.receive()
		if !x.b.qp.NextMessage() {
			t.Fatal("no response")
		}
		x.b.tx.Start(x.b.qp.Message())
		n := 1
		for range segments {
			if !x.b.tx.Next(114) {
				t.Fatal("the response is too short")
			}
			x.b.put(&n)
		}
		r.Deregister()
		for i := range mem {
			mem[i] = 0x5E // the owner's secret from now on
		}
		if x.b.tx.Next(114) {
			t.Fatalf("a segment after Deregister: %x", x.b.tx.Segment().Payload)
		}
		x.b.qp.Fail(x.b.tx.Err())
		x.b.wantTerminate("01") // RDMAP, remote protection error
		for _, u := range x.b.wire {
			if bytes.Contains(u, []byte{0x5E, 0x5E, 0x5E, 0x5E}) {
				t.Fatalf("octets of after the Deregister go out: %x", u)
			}
		}
		x.a.receive()
		wantDone(t, "the Read", x.a.sendCQ, "1 remote access error")
	}
}

// TestCVE_2022_50736_FlushKeepsTheOpcode: siw flushed requests whose opcode was not set yet, an
// index out of bounds. Here the Completion of every request, flushed in every way and at every
// stage, has its operation. Each also has a status (CVE-2021-47076, CVE-2024-53229: rxe completed
// without one) and its error (CVE-2021-46983: nvmet had none).
func TestCVE_2022_50736_FlushKeepsTheOpcode(t *testing.T) {
	ends := map[string]func(q *QP){
		"abort": func(q *QP) { q.Abort(errTest) },
		"fail":  func(q *QP) { q.Fail(errTest) },
		"close": func(q *QP) { q.Close(); q.Abort(errTest) },
		"fin":   func(q *QP) { q.PeerClosed(nil); q.Abort(errTest) },
	}
	for desc, end := range ends {
		for given := range 12 { // messages that are out
			x := newPair(t, params{})
			var want []WorkOp
			for i, op := range kinds() {
				wr := WorkRequest{ID: uint64(i), Op: op.WorkOp, Solicited: op.solicited, Remote: Handle{STag: 1, TO: 8, Len: 8}, Invalidate: 1}
				if wr.Op <= WorkRead {
					wr.Data = make([]byte, 8)
				}
				x.a.post(wr)
				want = append(want, wr.Op)
			}
			if len(want) != 11 {
				t.Fatalf("%d kinds of requests", len(want))
			}
			x.a.recv(99, 8)
			x.a.slow = true
			for range given {
				x.a.transmitOne()
			}
			x.a.sent()
			end(x.a.qp)
			x.a.qp.Abort(errTest)
			all := done(x.a.sendCQ)
			if len(all) != len(want) {
				t.Fatalf("%s after %d: %d Completions, want %d", desc, given, len(all), len(want))
			}
			for i, c := range all {
				if c.Op != want[i] || c.ID != uint64(i) || c.QPNum != x.a.qp.cfg.QPNum || (c.Status == StatusOK) != (c.Err == nil) {
					t.Errorf("%s after %d: %v, want %v", desc, given, c, want[i])
				}
			}
			// CVE-2022-48694, CVE-2024-47696: irdma and iwcm drained to, or flushed from, the wrong
			// queue.
			if recvs := done(x.a.recvCQ); len(recvs) != 1 || recvs[0].ID != 99 || recvs[0].Op != WorkRecv || recvs[0].Status == StatusOK {
				t.Errorf("%s after %d: receives %v", desc, given, recvs)
			}
		}
	}
}

// TestCVE_2026_46133_OpcodeWithoutAnEntry: rxe looked an opcode up in a table that had no entry for
// it. Here every octet has a name, a queue and a verdict.
func TestCVE_2026_46133_OpcodeWithoutAnEntry(t *testing.T) {
	m := newTargetMemory(t)
	b := make([]byte, 40)
	for o := range 256 {
		op := Opcode(o)
		if op.String() == "" || op.Queue() > 3 {
			t.Errorf("opcode %d: %q, queue %d", o, op, op.Queue())
		}
		for _, control := range []byte{0x41, 0xC1} {
			for _, extensions := range []bool{false, true} {
				x := m.newTarget(extensions, 1)
				clear(b)
				m.shape(b, control, byte(o), (op & 15).Queue(), 1)
				x.hit(b)
				got, err := x.see()
				if want := expected(control, byte(o), (op & 15).Queue(), len(b), extensions); err != nil || got != want {
					t.Errorf("control %#02x %#02x: %+v, %v, want %+v", control, o, got, err, want)
				}
			}
		}
	}
	for op := range 256 {
		for _, solicited := range []bool{false, true} {
			wr := WorkRequest{Op: WorkOp(op), Solicited: solicited, Invalidate: 1}
			ok := op >= 1 && op <= int(WorkImmediate)
			if solicited {
				ok = slices.Contains([]WorkOp{WorkSend, WorkSendInvalidate, WorkImmediate}, wr.Op)
			}
			if _, err := wr.Len(); (err == nil) != ok || err != nil && !errors.Is(err, ErrBadRequest) || WorkOp(op).String() == "" {
				t.Errorf("work operation %d, solicited %t: %v", op, solicited, err)
			}
		}
	}
}

// TestCVE_2026_46114_AtomicOfOddLength: an atomic write of rxe that was not 8 octets long revealed
// the memory behind it. Here a request of a wrong length is refused, and only the Terminate comes
// back.
func TestCVE_2026_46114_AtomicOfOddLength(t *testing.T) {
	m := newTargetMemory(t)
	for n := range 80 {
		x := m.newTarget(true, 1)
		r := AtomicRequest{STag: m.region.STag(), TO: m.region.TO(), Data: 1, CompareMask: allBits}.AppendTo(nil)
		x.hit(untagged(OpAtomicRequest, 1, 1, append(r, make([]byte, 40)...)[:n]))
		got, err := x.see()
		want := refused(0, 2, 0xFF)
		switch {
		case n == 52:
			want = verdict{answered: true}
		case n > 52:
			want = refused(1, 2, 5)
		}
		if got != want || err != nil {
			t.Errorf("%d octets: %+v, %v, want %+v", n, got, err, want)
		}
	}
}

// TestCVE_2026_46043_NoPadInThePayload: rxe subtracted a pad length from the wire unchecked. In MPA
// the pad follows from the length, and is not part of the message: for each length mod 4 exactly
// the payload is delivered.
func TestCVE_2026_46043_NoPadInThePayload(t *testing.T) {
	for n := range 64 {
		x := newPair(t, params{})
		buf := x.b.recv(1, 64)
		for i := range buf {
			buf[i] = guardOctet
		}
		x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: make([]byte, n)})
		x.run()
		c := done(x.b.recvCQ)
		if len(c) != 1 || int(c[0].Len) != n || !bytes.Equal(buf[n:], bytes.Repeat([]byte{guardOctet}, 64-n)) {
			t.Errorf("%d octets: %v, %x", n, c, buf)
		}
	}
}

// TestCVE_2024_57973_LengthSum: cxgb4 added up lengths in 32 bits. Here the pieces of a gather list
// that are 2^32 octets or more together are refused, whatever their sum is modulo 2^32.
func TestCVE_2024_57973_LengthSum(t *testing.T) {
	piece := make([]byte, 1<<20)
	for _, n := range []int{4096, 4097, 8192, 8200} {
		wr := WorkRequest{Op: WorkSend, Gather: make([][]byte, n)}
		for i := range wr.Gather {
			wr.Gather[i] = piece
		}
		if got, err := wr.Len(); !errors.Is(err, ErrMessageTooLong) {
			t.Errorf("%d pieces of 1 MiB: %d octets, %v", n, got, err)
		}
	}
	wr := WorkRequest{Op: WorkSend, Gather: [][]byte{piece, piece[:5]}}
	if n, err := wr.Len(); n != 1<<20+5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCVE_2026_72129_OffsetBeyondTheFirst: nvmet subtracted the first page's length from an offset
// that was beyond it. Here gather lists with empty and tiny pieces, cut into segments at every
// place, deliver the same octets.
func TestCVE_2026_72129_OffsetBeyondTheFirst(t *testing.T) {
	data := pattern(300, 5)
	lists := [][]int{{0, 0, 300}, {1, 1, 1, 297}, {100, 0, 100, 0, 100}, {299, 1}, {57, 57, 57, 57, 72}, {300, 0}}
	for _, lens := range lists {
		var gather [][]byte
		rest := data
		for _, n := range lens {
			gather, rest = append(gather, rest[:n]), rest[n:]
		}
		for mulpdu := 71; mulpdu < 330; mulpdu++ {
			x := newPair(t, params{mulpdu: mulpdu})
			buf := x.b.recv(1, 300)
			r, mem := x.b.register(400, allAccess)
			x.a.post(WorkRequest{ID: 1, Op: WorkSend, Gather: gather})
			h, err := handle(r).Slice(50, 300)
			if err != nil {
				t.Fatal(err)
			}
			x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Gather: gather, Remote: h})
			x.run()
			if !bytes.Equal(buf, data) || !bytes.Equal(mem[50:350], data) {
				t.Fatalf("pieces %v cut at %d octets: changed", lens, mulpdu)
			}
		}
	}
}
