package verbs

import (
	"encoding/binary"
	"fmt"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/toe/rnic"
)

// These types are those of package rnic, which programs can use without this package.
type (
	// An Op is the operation of a work request.
	Op = rnic.Op
	// A Request is a work request.
	Request = rnic.Request
	// A Completion is the end of a work request.
	Completion = rnic.Completion
	// A Segment is a part of a Region of this package.
	Segment = rnic.Segment
)

// The operations.
const (
	OpSend           = rnic.OpSend
	OpWrite          = rnic.OpWrite
	OpRead           = rnic.OpRead
	OpReceive        = rnic.OpReceive
	OpFetchAdd       = rnic.OpFetchAdd
	OpCmpSwap        = rnic.OpCmpSwap
	OpSendImmediate  = rnic.OpSendImmediate
	OpWriteImmediate = rnic.OpWriteImmediate
)

// wire contains the device's numbers of the operations. OpReceive is never posted.
var wire = [...]uverbs.SendOp{
	OpSend: uverbs.OpSend, OpWrite: uverbs.OpWrite, OpRead: uverbs.OpRead, OpFetchAdd: uverbs.OpFetchAdd, OpCmpSwap: uverbs.OpCmpSwap,
	OpSendImmediate: uverbs.OpSendImm, OpWriteImmediate: uverbs.OpWriteImm,
}

func isAtomic(o Op) bool { return o == OpFetchAdd || o == OpCmpSwap }

// sendWR returns r in the device's form, with the number n in the device's queue.
func sendWR(r *Request, n uint64) *uverbs.SendWR {
	w := &uverbs.SendWR{ID: n, Op: wire[r.Op], Flags: uverbs.Signaled, Addr: r.Remote.TO, RKey: uint32(r.Remote.STag)}
	if r.Solicited {
		w.Flags |= uverbs.Solicited
	}
	switch r.Op {
	case OpFetchAdd:
		w.Operand = r.Add
	case OpCmpSwap:
		w.Operand, w.Swap = r.Compare, r.Swap
	case OpSendImmediate, OpWriteImmediate:
		binary.BigEndian.PutUint32(w.Immediate[:], r.Immediate)
	}
	return w
}

// complete makes a Completion from w and the device's completion wc. It returns an error if wc is
// not valid for w.
func (w *work) complete(wc *uverbs.WC) (c Completion, err error) {
	c = Completion{ID: w.id, Op: w.op}
	switch {
	case !wc.Status.Valid():
		return c, fmt.Errorf("status %d", wc.Status)
	case wc.Status != uverbs.Success:
		c.Err = &WorkError{uint32(wc.Status)}
		return c, nil
	case w.op != OpReceive:
		if wc.Op != uverbs.WCOpOf(wire[w.op]) {
			return c, fmt.Errorf("operation %d of a %v", wc.Op, w.op)
		}
		return c, nil
	}
	hasImmediate := wc.Flags&uverbs.WCHasImm != 0
	switch {
	case wc.Op == uverbs.WCRecvImm && hasImmediate && wc.Len <= uverbs.MaxMessage:
		c.From = OpWriteImmediate
	case wc.Op != uverbs.WCRecv:
		return c, fmt.Errorf("operation %d of a %v", wc.Op, w.op)
	case uint64(wc.Len) > uint64(w.len):
		return c, fmt.Errorf("%d bytes received in %d", wc.Len, w.len)
	case hasImmediate:
		c.From = OpSendImmediate
	}
	c.Len = int(wc.Len)
	if hasImmediate {
		c.Immediate = binary.BigEndian.Uint32(wc.Immediate[:])
	}
	return c, nil
}
