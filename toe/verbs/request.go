package verbs

import (
	"encoding/binary"
	"fmt"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// An Op is the operation of a work request.
type Op uint8

// The operations, in the names of RFC 5040 and RFC 7306. OpReceive is that of PostReceive. Not every
// device has those from OpFetchAdd on: see [Device.Can].
const (
	OpSend Op = iota
	OpWrite
	OpRead
	OpReceive
	// OpFetchAdd adds to 8 bytes of the peer's memory, and OpCmpSwap stores there if they have a certain
	// value. Both put the value from before into the local memory. The peer's bytes and the local ones
	// are an integer in the byte order of the machine.
	OpFetchAdd
	OpCmpSwap
	// OpSendImmediate and OpWriteImmediate are a Send and a Write with 4 bytes of Immediate Data, which
	// the peer finds in the Completion of a receive. With verbs a Write with Immediate Data takes a
	// receive, and puts nothing there.
	OpSendImmediate
	OpWriteImmediate
)

var opNames = [...]string{"Send", "Write", "Read", "Receive", "FetchAdd", "CmpSwap", "Send with Immediate", "Write with Immediate"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// wire are the device's numbers of the operations. That of OpReceive is never posted.
var wire = [...]uverbs.SendOp{
	OpSend: uverbs.OpSend, OpWrite: uverbs.OpWrite, OpRead: uverbs.OpRead, OpFetchAdd: uverbs.OpFetchAdd, OpCmpSwap: uverbs.OpCmpSwap,
	OpSendImmediate: uverbs.OpSendImm, OpWriteImmediate: uverbs.OpWriteImm,
}

func (o Op) isAtomic() bool { return o == OpFetchAdd || o == OpCmpSwap }

// A Request is a work request.
type Request struct {
	ID uint64 // the program's own; the Completion has it
	Op Op
	// Key and Addr name the peer's memory, of all but the Sends: see Region.Remote. Addr of an atomic is a
	// multiple of 8.
	Key  uint32
	Addr uint64
	// Add is what OpFetchAdd adds. OpCmpSwap stores Swap if Compare is there.
	Add, Compare, Swap uint64
	Immediate          uint32
}

// sendWR returns r as the device takes it, with a number of the device's queue.
func (r *Request) sendWR(n uint64) *uverbs.SendWR {
	w := &uverbs.SendWR{ID: n, Op: wire[r.Op], Flags: uverbs.Signaled, Addr: r.Addr, RKey: r.Key}
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

// A Completion is the end of a work request. From then on its memory is the program's again.
type Completion struct {
	ID  uint64
	Op  Op
	Len int // bytes that a Receive has got, or that an OpWriteImmediate of the peer has written
	// From is what the peer has posted, of a Receive: OpSend, OpSendImmediate or OpWriteImmediate.
	// Immediate is valid with the last two.
	From      Op
	Immediate uint32
	Err       error // nil or a *WorkError
}

// complete makes a Completion of w and what the device says of it, unless that makes no sense.
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
