package extsock_test

import (
	"bytes"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// sizes returns lengths of messages around every limit, for the given EMSS.
func sizes(emss int) []int {
	m := mpa.MULPDU(emss, false)
	return []int{0, 1, 2, 3, 4, 5, 127, 128, m - 19, m - 18, m - 17, m - 15, m - 14, m - 13, m - 1, m, m + 1, 65536}
}

// longMessage is longer than any buffer on the way.
func longMessage() int {
	return testmode.Rounds(16<<20, 1<<20) + 1
}

// TestOperations runs every operation, in both directions, in all sizes, with markers on and off
// for each direction, with and without CRC: the difference "MUST be invisible to the ULP" (RFC 5044
// §4.4). MPA-5044-4.4-7
func TestOperations(t *testing.T) {
	for _, crc := range []bool{true, false} {
		for markers := range 4 {
			t.Run(fmt.Sprintf("crc=%v/markers=%02b", crc, markers), func(t *testing.T) {
				t.Parallel()
				cfg := extsock.Config{NoCRC: !crc}
				i, r := postRecvs(cfg, 8, 1<<17), postRecvs(cfg, 8, 1<<17)
				i.cfg.Markers, r.cfg.Markers = markers&1 != 0, markers&2 != 0
				ci, cr := simPair(t, simtoe.Config{}, i, r)
				operations(t, ci, cr, sizes(1448))
				operations(t, cr, ci, sizes(1448))
			})
		}
	}
}

// TestOperationsOverLoopback does the same over the kernel's TCP, with one long message.
// MPA-5044-4.4-7
func TestOperationsOverLoopback(t *testing.T) {
	for _, crc := range []bool{true, false} {
		t.Run(fmt.Sprintf("crc=%v", crc), func(t *testing.T) {
			cfg, longest := extsock.Config{NoCRC: !crc}, longMessage()
			ci, cr := tcpPair(t, postRecvs(cfg, 2, longest), postRecvs(cfg, 2, longest))
			operations(t, ci, cr, append(sizes(65483), longest))
			operations(t, cr, ci, append(sizes(65483), longest))
		})
	}
}

// TestOperationsSplitAtEveryOctet runs over a wire that delivers one octet at a time.
func TestOperationsSplitAtEveryOctet(t *testing.T) {
	for _, markers := range []bool{false, true} {
		t.Run(fmt.Sprintf("markers=%v", markers), func(t *testing.T) {
			t.Parallel()
			cfg := extsock.Config{Markers: markers}
			ci, cr := simPair(t, simtoe.Config{MaxSegment: 1}, postRecvs(cfg, 8, 1<<17), postRecvs(cfg, 8, 1<<17))
			operations(t, ci, cr, []int{0, 1, 3, 128, 1433, 3000})
		})
	}
}

// TestOperationsWithEarlyRuns runs over a wire that also shows octets out of order. MPA-5044-1.2-1
func TestOperationsWithEarlyRuns(t *testing.T) {
	var early atomic.Uint64
	t.Cleanup(func() {
		if early.Load() == 0 {
			t.Error("no FPDU was placed early")
		}
	})
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			cfg := extsock.Config{Markers: true}
			wire := simtoe.Config{Seed: seed, Split: true, MaxSegment: 4000, Early: 0.5}
			ci, cr := simPair(t, wire, postRecvs(cfg, 8, 1<<17), postRecvs(cfg, 8, 1<<17))
			operations(t, ci, cr, []int{0, 1, 128, 1433, 3000, 65536})
			sent, got := ci.Stats().Sent, cr.Stats()
			early.Add(got.EarlyFPDUs)
			if got.EarlyOctets < got.EarlyFPDUs || got.Received.FPDUs != sent.FPDUs || got.Received.Octets != sent.Octets {
				t.Errorf("%d FPDUs of %d octets were sent; received: %+v", sent.FPDUs, sent.Octets, got)
			}
		})
	}
}

// TestOperationsWithForeignPeer: if one end hides that it is rddp, FPDUs fit the EMSS.
func TestOperationsWithForeignPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		i, r := postRecvs(extsock.Config{NoCapabilities: true, Extensions: true}, 8, 1<<17), postRecvs(extsock.Config{Extensions: true}, 8, 1<<17)
		ci, cr := simPair(t, simtoe.Config{EMSS: 536}, i, r)
		operations(t, ci, cr, sizes(536))
		operations(t, cr, ci, sizes(536))
	})
}

// TestOperationsOverPlainConn uses a net.Conn whose every write may wait.
func TestOperationsOverPlainConn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Window: 1000}, simtoe.Config{Window: 1000})
		ci, cr := switched(t, asPlainConn(a), asPlainConn(b), postRecvs(extsock.Config{}, 8, 1<<17), postRecvs(extsock.Config{}, 8, 1<<17))
		operations(t, ci, cr, sizes(1448))
	})
}

// TestOperationsOverAnyConn runs over a net.Conn without further methods.
func TestOperationsOverAnyConn(t *testing.T) {
	a, b := net.Pipe()
	ci, cr := switched(t, a, b, postRecvs(extsock.Config{}, 8, 1<<17), postRecvs(extsock.Config{}, 8, 1<<17))
	operations(t, ci, cr, sizes(1448))
}

// operations runs each operation from a to b once per size. Both sides post their own receives.
func operations(t *testing.T, a, b *extsock.Conn, sizes []int) {
	t.Helper()
	for n, size := range sizes {
		sends(t, a, b, size, byte(n))
		writeAndRead(t, a, b, size, byte(n))
	}
	atomics(t, a, b)
	immediates(t, a, b)
}

// sends runs the four kinds of Send. Those with Invalidate end a Region of the receiver.
func sends(t *testing.T, a, b *extsock.Conn, size int, seed byte) {
	t.Helper()
	for n := range 4 {
		op, solicited := []rdmap.WorkOp{rdmap.WorkSend, rdmap.WorkSendInvalidate}[n/2], n%2 == 1
		wr := rdmap.WorkRequest{Op: op, Solicited: solicited, Data: pattern(size, seed)}
		var r extsock.Region
		invalidates := op == rdmap.WorkSendInvalidate
		if invalidates {
			r = register(t, b, make([]byte, 8), ddp.RemoteWrite)
			wr.Invalidate = r.Handle().STag
		}
		do(t, a, wr)
		d := complete(t, b.RecvCQ())
		if int(d.Len) != size || d.Solicited != solicited {
			t.Fatalf("%v of %d octets arrived as %v", op, size, d)
		}
		if invalidates && (!d.HasInvalidated || d.Invalidated != r.Handle().STag) {
			t.Fatalf("%v did not invalidate %v: %v", op, r.Handle().STag, d)
		}
		buf := recvBuffers.get(b, d.ID)
		if !bytes.Equal(buf[:size], wr.Data) {
			t.Fatalf("%v of %d octets arrived changed", op, size)
		}
		repost(t, b, d.ID)
	}
}

// writeAndRead moves octets into b's memory and back.
func writeAndRead(t *testing.T, a, b *extsock.Conn, size int, seed byte) {
	t.Helper()
	const guard = 64
	memory := pattern(size+2*guard, 0xee)
	want := bytes.Clone(memory)
	p := pattern(size, seed)
	copy(want[guard:], p)
	r := register(t, b, memory, ddp.RemoteRead|ddp.RemoteWrite)
	h, err := r.Handle().Slice(guard, size)
	if err != nil {
		t.Fatal(err)
	}
	do(t, a, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: p, Remote: h})
	back := make([]byte, size)
	do(t, a, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: back, Remote: h})
	r.Deregister()
	if !bytes.Equal(back, p) {
		t.Fatalf("%d octets written and read back differ", size)
	}
	if !bytes.Equal(memory, want) {
		t.Fatalf("a Write of %d octets changed others", size)
	}
}

func atomics(t *testing.T, a, b *extsock.Conn) {
	t.Helper()
	r := register(t, b, make([]byte, 16), ddp.RemoteAtomic)
	h, err := r.Handle().Slice(8, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		wr       rdmap.WorkRequest
		original uint64
	}{
		{rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: 5}, 0},
		{rdmap.WorkRequest{Op: rdmap.WorkFetchAdd, Operand: 1 << 40}, 5},
		{rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Compare: 6, Operand: 1}, 1<<40 + 5},
		{rdmap.WorkRequest{Op: rdmap.WorkCmpSwap, Compare: 1<<40 + 5, Operand: 9}, 1<<40 + 5},
		{rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: 77}, 9},
		{rdmap.WorkRequest{Op: rdmap.WorkFetchAdd}, 77},
	} {
		step.wr.Remote = h
		if d := do(t, a, step.wr); d.Original != step.original {
			t.Fatalf("%v found %d, want %d", step.wr.Op, d.Original, step.original)
		}
	}
	r.Deregister()
}

func immediates(t *testing.T, a, b *extsock.Conn) {
	t.Helper()
	for _, solicited := range []bool{false, true} {
		do(t, a, rdmap.WorkRequest{Op: rdmap.WorkImmediate, Solicited: solicited, Immediate: 0x0123456789abcdef})
		d := complete(t, b.RecvCQ())
		if !d.HasImmediate || d.Immediate != 0x0123456789abcdef || d.Solicited != solicited {
			t.Fatalf("solicited %t: arrived as %v", solicited, d)
		}
		repost(t, b, d.ID)
	}
}
