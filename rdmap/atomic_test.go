package rdmap

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"pgregory.net/rapid"
)

// bitSerialAdd is the pseudocode of RFC 7306 §5.1.1, bit by bit.
func bitSerialAdd(orig, add, mask uint64) uint64 {
	var sum, carry uint64
	for bit := range 64 {
		s := carry + orig>>bit&1 + add>>bit&1
		sum |= s & 1 << bit
		carry = s >> 1 &^ (mask >> bit & 1)
	}
	return sum
}

// "causing any carry out of that bit position to be discarded when the addition is performed"
// RDMAPX-7306-5.1.1-2 to RDMAPX-7306-5.1.1-4
func TestRFC7306_5_1_1_FetchAdd(t *testing.T) {
	for _, tt := range []struct {
		desc                  string
		orig, add, mask, want uint64
	}{
		{"one field", 41, 1, 0, 42},
		{"wraps at 64 bits", ^uint64(0), 1, 0, 0},
		{"top bit marked is the same", ^uint64(0), 1, 1 << 63, 0},
		{"adding nothing probes", 41, 0, 0, 41},
		{"two fields of 32 bits", 0x00000001_FFFFFFFF, 0x00000001_00000001, 0x80000000_80000000, 0x00000002_00000000},
		{"unmarked, the carry goes on", 0x00000001_FFFFFFFF, 0x00000001_00000001, 0, 0x00000003_00000000},
		{"all ones: every bit is a field", 0b1100, 0b1010, ^uint64(0), 0b0110},
		{"fields of 4, 12 and 48 bits", 0x0000_0000_0001_FFFF, 0x0000_0000_0000_1001, 0x8000_0000_0000_8008, 0x0000_0000_0001_0FF0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if got := fetchAdd(tt.orig, tt.add, tt.mask); got != tt.want {
				t.Errorf("FetchAdd(%#x, %#x, %#x) = %#x, want %#x", tt.orig, tt.add, tt.mask, got, tt.want)
			}
			if got := bitSerialAdd(tt.orig, tt.add, tt.mask); got != tt.want {
				t.Errorf("the model gives %#x, want %#x", got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		orig, add, mask := rapid.Uint64().Draw(t, "orig"), rapid.Uint64().Draw(t, "add"), rapid.Uint64().Draw(t, "mask")
		if got, want := fetchAdd(orig, add, mask), bitSerialAdd(orig, add, mask); got != want {
			t.Errorf("FetchAdd(%#x, %#x, %#x) = %#x, want %#x", orig, add, mask, got, want)
		}
	})
}

// bitwiseSwap is RFC 7306 §5.1.2, bit by bit.
func bitwiseSwap(orig, compare, cmask, swap, smask uint64) uint64 {
	result := orig
	for bit := range 64 {
		b := uint64(1) << bit
		if cmask&b != 0 && orig&b != compare&b {
			return orig
		}
		if smask&b != 0 {
			result = result&^b | swap&b
		}
	}
	return result
}

// "the remote data Buffer MUST contain the "Original Remote Data Value" (if comparison did not
// match) or the masked "Swap Data" (if the comparison did match)" RDMAPX-7306-5.1.2-1 to
// RDMAPX-7306-5.1.2-3, RDMAPX-7306-5.1.2-5
func TestRFC7306_5_1_2_CmpSwap(t *testing.T) {
	const all = ^uint64(0)
	for _, tt := range []struct {
		desc                                    string
		orig, compare, cmask, swap, smask, want uint64
	}{
		{"match", 42, 42, all, 7, all, 7},
		{"no match", 41, 42, all, 7, all, 41},
		{"match in the compared bits only", 0x1F2A, 0x002A, 0x00FF, 0x7777, all, 0x7777},
		{"mismatch in a compared bit", 0x1F2A, 0x002A, 0x01FF, 0x7777, all, 0x1F2A},
		{"some bits are swapped", 0xABCD, 0xABCD, all, 0x1234, 0x0F0F, 0xA2C4},
		{"nothing compared: a plain swap", 0xABCD, 0, 0, 0x1234, all, 0x1234},
		{"nothing swapped", 0xABCD, 0xABCD, all, 0x1234, 0, 0xABCD},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			if got := cmpSwap(tt.orig, tt.compare, tt.cmask, tt.swap, tt.smask); got != tt.want {
				t.Errorf("CmpSwap gives %#x, want %#x", got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		// Few bits, so that some comparisons succeed.
		draw := func(name string) uint64 { return rapid.Uint64Range(0, 15).Draw(t, name) * 0x1001 }
		orig, compare, cmask, swap, smask := draw("orig"), draw("compare"), draw("cmask"), draw("swap"), draw("smask")
		if got, want := cmpSwap(orig, compare, cmask, swap, smask), bitwiseSwap(orig, compare, cmask, swap, smask); got != want {
			t.Errorf("CmpSwap(%#x, %#x, %#x, %#x, %#x) = %#x, want %#x", orig, compare, cmask, swap, smask, got, want)
		}
	})
}

// "FetchAdd Atomic Operations that target ULP Buffer addresses that are not 64-bit aligned MUST be
// surfaced as errors, and the Responder's memory MUST NOT be modified in such cases. Additionally,
// an error MUST be surfaced and a terminate message MUST be generated"; for CmpSwap "The operation
// MUST NOT be performed". The address must be aligned, not the offset: "MUST represent a ULP Buffer
// address that is 64-bit aligned".
//
// RDMAPX-7306-5.1.1-5 to RDMAPX-7306-5.1.1-9, RDMAPX-7306-5.1.2-6 to RDMAPX-7306-5.1.2-10,
// RDMAPX-7306-5.2.1-14, RDMAPX-7306-8.2-5 to RDMAPX-7306-8.2-7
func TestRFC7306_5_1_Misaligned(t *testing.T) {
	for _, op := range []WorkOp{WorkFetchAdd, WorkCmpSwap, WorkSwap} {
		for shift := range 8 { // of the region
			for off := range int64(9) {
				b := aligned(64)[shift:]
				copy(b, pattern(len(b), 1))
				before := bytes.Clone(b)
				x := newPair(t, params{})
				r, err := x.b.domain.Register(b, allAccess, x.b.stream())
				if err != nil {
					t.Fatal(err)
				}
				h, err := handle(r).Slice(off, 8)
				if err != nil {
					t.Fatal(err)
				}
				x.a.post(WorkRequest{
					ID: 1, Op: op, Remote: h, Operand: ^uint64(0), Compare: binary.NativeEndian.Uint64(b[off:]),
				})
				x.a.transmit()
				x.b.receive()
				if (shift+int(off))%8 == 0 {
					x.run()
					if bytes.Equal(b, before) {
						t.Errorf("%v at %d+%d has done nothing", op, shift, off)
					}
					wantDone(t, op.String(), x.a.sendCQ, "1 success")
					continue
				}
				x.b.wantTerminate("0207 c000 0046 414a 00000000 00000001 00000001 00000000")
				if !bytes.Equal(b, before) {
					t.Errorf("%v at %d+%d has changed memory", op, shift, off)
				}
				if x.b.qp.Err() == nil {
					t.Errorf("%v at %d+%d surfaces no error", op, shift, off)
				}
				x.a.receive()
				wantDone(t, op.String(), x.a.sendCQ, "1 remote operation error")
			}
		}
	}
}

func TestMisalignedVector(t *testing.T) {
	x := newPair(t, params{domain: &ddp.Domain{Random: fixedKeys(0x12345601)}})
	r, _ := x.b.register(16, allAccess)
	x.b.inject(untagged(OpReadRequest, 1, 1, ReadRequest{}.AppendTo(nil))) // MSN 1
	request := AtomicRequest{ID: 0xCAFE0001, STag: r.STag(), TO: r.TO() + 4, Data: 1, CompareMask: allBits}
	x.b.inject(untagged(OpAtomicRequest, 1, 2, request.AppendTo(nil)))
	x.b.transmit()
	if got := x.b.wire[len(x.b.wire)-1]; !bytes.Equal(got, unhex(vTermMisaligned)) {
		t.Errorf("sent %x, want %s", got, vTermMisaligned)
	}
}

// "The Responder's RDMAP layer MUST process an Atomic Operation Request Message", "MUST respond
// with a valid Atomic Operation Response Message" and none of it is "delivered to the Responder's
// ULP". The response "MUST consume an Untagged Buffer" of queue 3, "a sufficient number" of which
// there must be, and "The RDMAP layer MUST Deliver the Atomic Operation Response Message to the
// ULP". The word is in the target's byte order. Afterwards the memory has the result of the two
// functions above, and the response has the previous value.
//
// RDMAPX-7306-5-4, RDMAPX-7306-5.1.1-1 to RDMAPX-7306-5.1.1-4, RDMAPX-7306-5.1.2-1 to
// RDMAPX-7306-5.1.2-5, RDMAPX-7306-5.2.1-10, RDMAPX-7306-5.2.1-20, RDMAPX-7306-5.2.1-21,
// RDMAPX-7306-5.2.1-27, RDMAPX-7306-5.2.2-4, RDMAPX-7306-5.2.2-9, RDMAPX-7306-5.2.2-10,
// RDMAPX-7306-5.1.1-10, RDMAPX-7306-5.2.1-11, RDMAPX-7306-5-1
func TestRFC7306_5_2_Atomics(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wr   WorkRequest
		orig uint64
		want uint64
	}{
		{"FetchAdd", WorkRequest{Op: WorkFetchAdd, Operand: 1}, 41, 42},
		{"FetchAdd of two fields", WorkRequest{Op: WorkFetchAdd, Operand: 1, Mask: 1<<63 | 1<<31}, 0xFFFFFFFF, 0},
		{"FetchAdd of 0", WorkRequest{Op: WorkFetchAdd}, 41, 41},
		{"CmpSwap, match", WorkRequest{Op: WorkCmpSwap, Compare: 41, Operand: 7}, 41, 7},
		{"CmpSwap, no match", WorkRequest{Op: WorkCmpSwap, Compare: 40, Operand: 7}, 41, 41},
		{"CmpSwap, masks", WorkRequest{Op: WorkCmpSwap, Compare: 1, CompareMask: 0xF, Operand: 0xAA, Mask: 0xF0}, 0x1B1, 0x1A1},
		{"Swap", WorkRequest{Op: WorkSwap, Operand: 7}, 41, 7},
		{"Swap, mask", WorkRequest{Op: WorkSwap, Operand: 0x77, Mask: 0xF}, 0x41, 0x47},
		{"FetchAdd with a carry in the middle", WorkRequest{Op: WorkFetchAdd, Operand: 1}, 0xFFFFFFFF, 1 << 32},
		{"FetchAdd of the highest bit", WorkRequest{Op: WorkFetchAdd, Operand: 1 << 63}, 1, 1<<63 | 1},
		{"FetchAdd past the end", WorkRequest{Op: WorkFetchAdd, Operand: 2}, 1<<64 - 1, 1},
		{"CmpSwap, highest octet differs", WorkRequest{Op: WorkCmpSwap, Compare: 1<<56 | 41, Operand: 7}, 41, 41},
		{"CmpSwap of all octets", WorkRequest{Op: WorkCmpSwap, Compare: 1<<56 | 41, Operand: 7 << 56}, 1<<56 | 41, 7 << 56},
		{"Swap of all octets", WorkRequest{Op: WorkSwap, Operand: 0x0102030405060708}, 0xF1F2F3F4F5F6F7F8, 0x0102030405060708},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{ord: 2, ird: 2})
			r, b := x.b.register(24, allAccess)
			binary.NativeEndian.PutUint64(b[8:], tt.orig)
			want := bytes.Clone(b)
			binary.NativeEndian.PutUint64(want[8:], tt.want)
			h, _ := handle(r).Slice(8, 8)
			tt.wr.Remote = h
			x.b.recv(5, 12) // where the Responder's ULP would see something
			x.a.post(tt.wr)
			x.run()
			all := wantDone(t, "requester", x.a.sendCQ, "0 success")
			if len(all) == 1 && (all[0].Original != tt.orig || all[0].Op != tt.wr.Op) {
				t.Errorf("completion %v, want original %#x", all[0], tt.orig)
			}
			if !bytes.Equal(b, want) {
				t.Errorf("memory %x, want %x", b, want)
			}
			x.b.wantOut("Atomic Response")
			wantDone(t, "responder", x.b.recvCQ, "")
			wantDone(t, "responder", x.b.sendCQ, "")
			for range 10 { // more than there are buffers
				x.a.post(tt.wr)
				x.run()
			}
			wantState(t, x.a.qp, stateRTS)
			x.a.post(WorkRequest{Op: WorkSend})
			x.run()
			wantDone(t, "the Responder's buffer is still there", x.b.recvCQ, "5 success")
		})
	}
}

// "FetchAdd … Compare Data field is set to zero on transmit and ignored by the receiver", Compare
// Mask all ones.
// RDMAPX-7306-5.2.1-15
func TestRFC7306_5_2_1_FetchAddIgnoresCompare(t *testing.T) {
	x := newPair(t, params{})
	x.a.post(WorkRequest{Op: WorkFetchAdd, Compare: 5, CompareMask: 6, Operand: 1})
	x.a.transmit()
	if got := x.a.wire[0][18+36:]; !bytes.Equal(got, unhex("0000000000000000 ffffffffffffffff")) {
		t.Errorf("Compare Data and Mask are sent as %x", got)
	}
	r, b := x.b.register(8, allAccess)
	binary.NativeEndian.PutUint64(b, 41)
	request := AtomicRequest{STag: r.STag(), TO: r.TO(), Data: 1, Compare: 99, CompareMask: 98}
	x.b.inject(untagged(OpAtomicRequest, 1, 1, request.AppendTo(nil)))
	x.b.transmit()
	if got := binary.NativeEndian.Uint64(b); got != 42 {
		t.Errorf("the word is %d, want 42", got)
	}
}

// "Atomicity of the Read-Modify-Write (RMW) on the Responder's node by the Atomic Operation MUST be
// assured in the context of concurrent atomic accesses by other RDMAP Streams on the same RNIC",
// here also of other domains and STags for the same memory, and of local atomic accesses.
//
// RDMAPX-7306-5-2, RDMAPX-7306-5-3, RDMAPX-7306-5.3-1, RDMAPX-7306-5.4-2, RDMAPX-7306-5.4-3
func TestRFC7306_5_3_Atomicity(t *testing.T) {
	const streams, adds = 8, 500
	memory := aligned(8)
	domains := []*ddp.Domain{new(ddp.Domain), new(ddp.Domain)}
	var wg sync.WaitGroup
	var local *ddp.Region
	for i := range streams {
		x := newPair(t, params{domain: domains[i%2]})
		r, err := x.b.domain.Register(memory, ddp.RemoteAtomic, 0)
		if err != nil {
			t.Fatal(err)
		}
		local = r
		wg.Go(func() {
			for range adds / 10 {
				for range 10 {
					if err := x.a.qp.PostSend(&WorkRequest{Op: WorkFetchAdd, Operand: 1, Remote: handle(r)}); err != nil {
						t.Errorf("PostSend: %v", err)
					}
				}
				x.run()
				done(x.a.sendCQ)
			}
		})
	}
	var over atomic.Bool
	go func() { wg.Wait(); over.Store(true) }()
	want := uint64(streams * adds)
	for !over.Load() { // as fast as possible, to fall between the two halves of updates that are not atomic
		want++
		if _, err := local.Update64(0, func(v uint64) uint64 { return v + 1 }); err != nil {
			t.Error(err)
			break
		}
	}
	wg.Wait()
	if got, err := load64(local, 0); err != nil || got != want {
		t.Errorf("the word is %d (%v), want %d", got, err, want)
	}
	// This atomic of the peer falls between the reading and the writing of a local one on purpose:
	// f may be called again, but not without a reason.
	x := newPair(t, params{domain: domains[0]})
	r, err := x.b.domain.Register(memory, ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	between := func(v uint64) uint64 {
		if x.a.out == nil {
			var other sync.WaitGroup // another goroutine, like a peer's, because this one holds the Region
			other.Go(func() {
				x.a.post(WorkRequest{Op: WorkFetchAdd, Operand: 1000, Remote: handle(r)})
				x.run()
			})
			other.Wait()
		}
		return v + 1
	}
	if _, err := local.Update64(0, between); err != nil {
		t.Fatal(err)
	}
	wantDone(t, "the one in between", x.a.sendCQ, "0 success")
	if got, err := load64(local, 0); err != nil || got != want+1001 {
		t.Errorf("the word is %d (%v), want %d", got, err, want+1001)
	}
}

// load64 reads a word atomically.
func load64(r *ddp.Region, off int) (uint64, error) {
	return r.Update64(off, func(v uint64) uint64 { return v })
}
