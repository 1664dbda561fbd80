//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// ucPair is pair for queue pairs of type UC.
func ucPair(t *testing.T) (a, b *program, qa, qb *guest.QP) {
	t.Helper()
	a, b = newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	uc := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UC) }
	qa, qb = a.qp(uc), b.qp(uc)
	joinUC(t, qa, b.gid, qb.Num)
	joinUC(t, qb, a.gid, qa.Num)
	return a, b, qa, qb
}

// joinUC is Join for a queue pair of type UC.
func joinUC(t *testing.T, q *guest.QP, gid [16]byte, qpn uint32) {
	t.Helper()
	for _, to := range []struct {
		state uint8
		mask  uverbs.Mask
	}{
		{guest.Init, uverbs.MaskPKey | uverbs.MaskPort | uverbs.MaskAccess},
		{guest.RTR, uverbs.MaskAddress | uverbs.MaskMTU | uverbs.MaskDestQPN | uverbs.MaskRQPSN},
		{guest.RTS, uverbs.MaskSQPSN},
	} {
		set := func(in []byte) { binary.LittleEndian.PutUint32(in[68:], uint32(to.mask|uverbs.MaskState)) }
		if err := q.Modify(to.state, gid, qpn, set); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUC sends messages of which some find no receive. These are lost, and those behind them are
// not.
func TestUC(t *testing.T) {
	a, b, qa, qb := ucPair(t)
	send := func(id uint64, op uint32, n int) {
		t.Helper()
		a.fill(0, n, byte(id))
		if err := qa.Post(guest.WR{
			ID: id, Op: op, Flags: guest.Signaled, Remote: b.mr.Addr + memoryLen/2, Key: b.mr.Key, Imm: uint32(id), List: []guest.SGE{a.mr.Part(0, n)},
		}); err != nil {
			t.Fatal(err)
		}
		a.want("the sender", id, uverbs.Success)
	}
	for i, n := range []int{0, 1, 4096, 3*maxPiece + 1} {
		id := uint64(10 * i)
		send(id, guest.OpSend, n) // lost
		send(id, guest.OpWriteImm, n)
		qb.PostRecv(id+1, b.mr.Part(0, n))
		send(id+1, guest.OpSend, n)
		if w := b.want("the receive behind what was lost", id+1, uverbs.Success); w.Len != uint32(n) || !bytes.Equal(b.read(0, n), a.read(0, n)) {
			t.Errorf("a Send of %d bytes: %+v, or wrong data", n, w)
		}
		qb.PostRecv(id + 2)
		send(id+2, guest.OpWriteImm, n)
		if w := b.want("the receive of a Write", id+2, uverbs.Success); w.Len != uint32(n) || !bytes.Equal(b.read(memoryLen/2, n), a.read(0, n)) {
			t.Errorf("a Write of %d bytes: %+v, or wrong data", n, w)
		}
	}
}

func TestUCRefuses(t *testing.T) {
	for _, op := range []uint32{guest.OpRead, guest.OpFetchAdd, guest.OpCmpSwap, guest.OpSendInv} {
		a, b, qa, _ := ucPair(t)
		if err := qa.Post(guest.WR{ID: 1, Op: op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("an operation that UC has not", 1, uverbs.LocalQPErr)
		if known(uverbs.SendOp(op), uverbs.UC) { // whatever its depth is
			t.Errorf("operation %d is known", op)
		}
	}
	p := newProgram(t, newDevice(t))
	if _, err := p.Context.QP(guest.QPConfig{PD: p.pd, Send: p.cq, Recv: p.cq, Depth: 1, SGEs: 1, Type: uint8(uverbs.Raw)}); err == nil {
		t.Error("a queue pair for raw packets")
	}
	q := p.qp(func(c *guest.QPConfig) { c.Type = uint8(uverbs.UC) })
	if err := q.Modify(guest.Init, p.gid, q.Num, func(in []byte) { binary.LittleEndian.PutUint32(in[68:], uint32(uverbs.MaskState)) }); err == nil {
		t.Error("INIT without attributes")
	}
	if _, ok := p.dev.Pair(q.Num); ok {
		t.Error("a connection manager can have a UC queue pair")
	}
}
