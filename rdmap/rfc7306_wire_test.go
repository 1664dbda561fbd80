package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Tests of RFC 7306 §1 and §4 to §6: the four messages, octet by octet, as QPs send them.

// fields are parts of a segment: where each begins and what it must be, in hex.
type fields []struct {
	name string
	at   int
	want string
}

func (f fields) check(t *testing.T, u []byte) {
	t.Helper()
	for _, x := range f {
		want := unhex(x.want)
		if len(u) < x.at+len(want) {
			t.Errorf("%s: the segment has %d octets", x.name, len(u))
		} else if got := u[x.at:][:len(want)]; !bytes.Equal(got, want) {
			t.Errorf("%s, octet %d: %x, want %x", x.name, x.at, got, want)
		}
	}
}

// extensionMessages makes a QP send each of the four messages, after a Read and a Send, and returns
// them by opcode. The Atomic Request is the second message on its queue, Immediate Data the second
// and third on theirs.
func extensionMessages(t *testing.T, wr WorkRequest) map[Opcode][]byte {
	t.Helper()
	x := newPair(t, params{domain: &ddp.Domain{Random: fixedKeys(0x12345601)}})
	r, b := x.b.register(64, allAccess)
	binary.NativeEndian.PutUint64(b[16:], 0x0102030405060708)
	for range 3 {
		x.b.recv(0, 8)
	}
	wr.Remote, _ = handle(r).Slice(16, 8)
	x.a.post(WorkRequest{Op: WorkRead})
	x.a.post(WorkRequest{Op: WorkSend})
	x.a.post(wr)
	x.a.post(WorkRequest{Op: WorkImmediate, Immediate: 0xF1F2F3F4F5F6F7F8})
	x.a.post(WorkRequest{Op: WorkImmediate, Solicited: true, Immediate: 0xE1E2E3E4E5E6E7E8})
	x.run()
	all := make(map[Opcode][]byte)
	for _, u := range append(x.a.first, x.b.first...) {
		all[Opcode(u[1]&0xF)] = u
	}
	// The Region's TO is not the same in every run: the tests see the offset in the Region.
	to := all[OpAtomicRequest][30:]
	binary.BigEndian.PutUint64(to, binary.BigEndian.Uint64(to)-r.TO())
	return all
}

// "The Immediate Data operation and Immediate Data with Solicited Event operation each include 8
// bytes of data following the RDMAP header", the "RDMAP header for Atomic Request messages is 52
// bytes", the header of figure 6 has 12, and figure 3 allows no "ULP Message" in any. Figure 2:
// none is Tagged; queue 3 is that of the responses.
//
// RDMAPX-7306-4-1 to RDMAPX-7306-4-4, RDMAPX-7306-4.1-1, RDMAPX-7306-4.1-9, RDMAPX-7306-4.2-1,
// RDMAPX-7306-10-1
func TestRFC7306_4_MessagesOnTheWire(t *testing.T) {
	all := extensionMessages(t, WorkRequest{Op: WorkFetchAdd})
	for _, tt := range []struct {
		op      Opcode
		header  string
		payload int
	}{
		{OpImmediate, "4148 00000000 00000000 00000002 00000000", 8},
		{OpImmediateSE, "4149 00000000 00000000 00000003 00000000", 8},
		{OpAtomicRequest, "414a 00000000 00000001 00000002 00000000", 52},
		{OpAtomicResponse, "414b 00000000 00000003 00000001 00000000", 12},
	} {
		u := all[tt.op]
		fields{{"DDP header", 0, tt.header}}.check(t, u)
		if len(u) != 18+tt.payload {
			t.Errorf("%v: %d octets behind the DDP header, want %d", tt.op, len(u)-18, tt.payload)
		}
	}
}

// Figure 4, for the two operations: the offsets are those of the DDP segment, whose header has 18
// octets.
//
// RDMAPX-7306-5.2.1-1 to RDMAPX-7306-5.2.1-8
func TestRFC7306_5_2_1_RequestHeader(t *testing.T) {
	common := fields{
		{"Request Identifier", 22, "00000001"},
		{"Remote STag", 26, "12345601"},
		{"Remote Tagged Offset", 30, "0000000000000010"},
		{"Add or Swap Data", 38, "1112131415161718"},
		{"Add or Swap Mask", 46, "2122232425262728"},
	}
	wr := WorkRequest{Operand: 0x1112131415161718, Mask: 0x2122232425262728}
	t.Run("FetchAdd", func(t *testing.T) {
		wr.Op = WorkFetchAdd
		append(common, fields{
			{"Reserved, AOpCode", 18, "00000000"},
			{"Compare Data", 54, "0000000000000000"},
			{"Compare Mask", 62, "ffffffffffffffff"},
		}...).check(t, extensionMessages(t, wr)[OpAtomicRequest])
	})
	t.Run("CmpSwap", func(t *testing.T) {
		wr.Op, wr.Compare, wr.CompareMask = WorkCmpSwap, 0x3132333435363738, 0x4142434445464748
		append(common, fields{
			{"Reserved, AOpCode", 18, "00000002"},
			{"Compare Data", 54, "3132333435363738"},
			{"Compare Mask", 62, "4142434445464748"},
		}...).check(t, extensionMessages(t, wr)[OpAtomicRequest])
	})
}

// "it is reflected back to the Local Peer in the Atomic Operation Response message": figure 6, as
// the answer to a request whose identifier no QP of ours would choose. The answer goes the other
// way, and is the first message of queue 3 though Reads came before.
//
// RDMAPX-7306-5.2.1-12, RDMAPX-7306-5.2.2-1 to RDMAPX-7306-5.2.2-3, RDMAPX-7306-5.2-4
func TestRFC7306_5_2_2_ResponseHeader(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(8, allAccess)
	binary.NativeEndian.PutUint64(b, 0x0102030405060708)
	for msn := range uint32(2) {
		x.b.inject(untagged(OpReadRequest, 1, msn+1, ReadRequest{}.AppendTo(nil)))
	}
	request := AtomicRequest{ID: 0xFEDCBA98, STag: r.STag(), TO: r.TO(), Data: 1}
	x.b.inject(untagged(OpAtomicRequest, 1, 3, request.AppendTo(nil)))
	x.b.transmit()
	x.b.wantOut("RDMA Read Response", "RDMA Read Response", "Atomic Response")
	x.a.wantOut()
	u := x.b.wire[2]
	fields{
		{"DDP header", 0, "414b 00000000 00000003 00000001 00000000"},
		{"Original Request Identifier", 18, "fedcba98"},
		{"Original Remote Data Value", 22, "0102030405060708"},
	}.check(t, u)
	if len(u) != 30 {
		t.Errorf("segment of %d octets, want 30", len(u))
	}
}

// "The first 8 bytes of the data following the DDP header contains the Immediate Data." It is
// numbered with the Sends, whose queue it uses (§4.1).
//
// RDMAPX-7306-6.2-1, RDMAPX-7306-6.3-4
func TestRFC7306_6_2_ImmediateDataHeader(t *testing.T) {
	all := extensionMessages(t, WorkRequest{Op: WorkSwap})
	fields{{"MSN", 10, "00000001"}}.check(t, all[OpSend])
	fields{{"MSN", 10, "00000002"}, {"Immediate Data", 18, "f1f2f3f4f5f6f7f8"}}.check(t, all[OpImmediate])
	fields{{"MSN", 10, "00000003"}, {"Immediate Data", 18, "e1e2e3e4e5e6e7e8"}}.check(t, all[OpImmediateSE])
}

// Figure 2: the length is "Communicated between DDP and RDMAP" for all four. (No field of a header
// has it, as §6.3 says: it is the ULPDU's length without the DDP header.) So the receiver knows
// whether a message is whole, even if it arrives in two segments.
//
// RDMAPX-7306-4.1-10, RDMAPX-7306-6.3-10
func TestRFC7306_4_1_LengthIsReported(t *testing.T) {
	for _, tt := range []struct {
		op Opcode
		n  int
	}{{OpImmediate, 8}, {OpImmediateSE, 8}, {OpAtomicRequest, 52}, {OpAtomicResponse, 12}} {
		for _, off := range []int{-1, 0, 1} {
			for _, cut := range []int{0, 3} { // where the second segment begins
				t.Run(fmt.Sprintf("%v of %d octets, cut at %d", tt.op, tt.n+off, cut), func(t *testing.T) {
					x := newPair(t, params{})
					r, _ := x.b.register(8, allAccess)
					x.b.recv(1, 16)
					x.b.post(WorkRequest{ID: 2, Op: WorkFetchAdd})
					x.b.transmit()
					x.b.wire = nil
					payload := make([]byte, 8)
					switch tt.op {
					case OpAtomicRequest:
						payload = AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil)
					case OpAtomicResponse:
						payload = AtomicResponse{ID: 1}.AppendTo(nil)
					}
					payload = append(payload, 0)[:tt.n+off]
					h := ddp.UntaggedHeader{Last: true, RsvdULP: Control(tt.op), QN: tt.op.Queue(), MSN: 1}
					if cut > 0 {
						first := h
						first.Last = false
						x.b.inject(append(first.AppendTo(nil), payload[:cut]...))
						h.MO = uint32(cut)
					}
					x.b.inject(append(h.AppendTo(nil), payload[cut:]...))
					if err := x.b.qp.Err(); (err == nil) != (off == 0) {
						t.Errorf("the stream's error is %v", err)
					}
					if off != 0 {
						header := x.b.wantTerminate("") // DDP or RDMAP may find the error
						if got, want := int(header[4])<<8|int(header[5]), 18+tt.n+off-cut; got != want {
							t.Errorf("the Terminate tells of a segment of %d octets, want %d", got, want)
						}
					}
				})
			}
		}
	}
}

// "this specification requires all Atomic Operations defined within to be supported if an RNIC
// supports any": both ends have all of them on or all off.
//
// RDMAPX-7306-1.1-1, RDMAPX-7306-10.1-1
func TestRFC7306_1_1_AllAtomicsOrNone(t *testing.T) {
	for _, off := range []bool{false, true} {
		for _, op := range []WorkOp{WorkFetchAdd, WorkCmpSwap, WorkSwap} {
			x := newPair(t, params{noExtensions: off})
			r, _ := x.b.register(8, allAccess)
			err := x.a.qp.PostSend(&WorkRequest{ID: 1, Op: op, Remote: handle(r)})
			if off != errors.Is(err, ErrNoExtensions) {
				t.Errorf("off %t: PostSend(%v): %v", off, op, err)
			}
			if !off {
				x.run()
				wantDone(t, op.String(), x.a.sendCQ, "1 success")
			}
		}
		for code := range byte(16) { // Figure 5 and §10.1: 0 and 2; 1 is reserved, the others are not assigned
			x := newPair(t, params{noExtensions: off})
			r, _ := x.b.register(8, allAccess)
			request := AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil)
			request[3] = code
			x.b.inject(untagged(OpAtomicRequest, 1, 1, request))
			if off || code != 0 && code != 2 {
				x.b.wantTerminate("0206 c000 0046 414a")
				continue
			}
			x.b.transmit()
			x.b.wantOut("Atomic Response")
		}
	}
}

// "a FetchAdd operation with "Add Data" set to 0 can safely be used to determine the existence of
// Atomic Operations without modifying the content of a remote peer's memory."
//
// RDMAPX-7306-1.1-4
func TestRFC7306_1_1_Probe(t *testing.T) {
	for _, mask := range []uint64{0, 1 << 63, 0x8080808080808080, allBits} {
		x := newPair(t, params{})
		r, b := x.b.register(24, ddp.RemoteAtomic)
		before := bytes.Clone(b)
		h, _ := handle(r).Slice(8, 8)
		x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd, Mask: mask, Remote: h})
		x.run()
		all := wantDone(t, "the probe", x.a.sendCQ, "1 success")
		if len(all) == 1 && all[0].Original != binary.NativeEndian.Uint64(before[8:]) {
			t.Errorf("mask %#x: original %#x, want that of %x", mask, all[0].Original, before[8:16])
		}
		if !bytes.Equal(b, before) {
			t.Errorf("mask %#x: memory %x, want %x", mask, b, before)
		}
	}
	x := newPair(t, params{noExtensions: true}) // a peer without the extensions
	r, _ := x.b.register(8, allAccess)
	x.b.inject(untagged(OpAtomicRequest, 1, 1, AtomicRequest{STag: r.STag(), TO: r.TO()}.AppendTo(nil)))
	x.b.wantTerminate("0206 c000 0046 414a")
}

// "The Remote Tagged Offset MAY start at an arbitrary offset but MUST represent a ULP Buffer
// address that is 64-bit aligned": each word of a Region, wherever the Region begins.
//
// RDMAPX-7306-5.2.1-13
func TestRFC7306_5_2_1_AnyAlignedOffset(t *testing.T) {
	for shift := range 8 {
		b := aligned(64)[shift:]
		x := newPair(t, params{})
		r, err := x.b.domain.Register(b, ddp.RemoteAtomic, x.b.stream())
		if err != nil {
			t.Fatal(err)
		}
		first := (8 - shift) % 8
		n := 0
		for off := first; off+8 <= len(b); off += 8 {
			h, _ := handle(r).Slice(int64(off), 8)
			x.a.post(WorkRequest{Op: WorkSwap, Operand: uint64(off + 1), Remote: h})
			x.run()
			if got := binary.NativeEndian.Uint64(b[off:]); got != uint64(off+1) {
				t.Errorf("Region shifted by %d, word at %d: %d, want %d", shift, off, got, off+1)
			}
			n++
		}
		if want := (64 - shift) / 8; n != want || len(done(x.a.sendCQ)) != want {
			t.Errorf("Region shifted by %d: %d words, want %d", shift, n, want)
		}
	}
}

// "When the Atomic Operation Response message is received, the Message Sequence Number (MSN) will
// be used to locate the corresponding Atomic Operation request": it counts atomics alone, while the
// requests are counted together with Reads. A response with another number than the next one
// answers nothing.
//
// RDMAPX-7306-5-8
func TestRFC7306_5_ResponseFoundByMSN(t *testing.T) {
	x := newPair(t, params{})
	for id := uint64(1); id <= 6; id++ { // Reads are 1, 3, 5
		op := WorkRead
		if id%2 == 0 {
			op = WorkFetchAdd
		}
		x.a.post(WorkRequest{ID: id, Op: op})
	}
	x.a.transmit()
	for k := uint32(1); k <= 2; k++ {
		x.a.inject(tagged(OpReadResponse, 0, 0, nil))
		x.a.inject(untagged(OpAtomicResponse, 3, k, AtomicResponse{ID: k, Original: uint64(k) * 100}.AppendTo(nil)))
	}
	all := wantDone(t, "answered", x.a.sendCQ, "1 success, 2 success, 3 success, 4 success")
	if len(all) == 4 && (all[1].Original != 100 || all[3].Original != 200) {
		t.Errorf("original values %d and %d, want 100 and 200", all[1].Original, all[3].Original)
	}
	x.a.inject(tagged(OpReadResponse, 0, 0, nil))
	x.a.inject(untagged(OpAtomicResponse, 3, 4, AtomicResponse{ID: 3}.AppendTo(nil)))
	x.a.wantTerminate("1203 c000 001e 414b 00000000 00000003 00000004 00000000")
	wantDone(t, "the other number", x.a.sendCQ, "5 success, 6 flushed")
}
