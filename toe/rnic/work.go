package rnic

import (
	"fmt"

	"github.com/rddp/rddp/rdmap"
)

// A Segment is a part of a Region.
type Segment struct {
	Region   Region
	Off, Len int // bytes
}

// An Op is the operation of a work request.
type Op uint8

// The operations, in the names of RFC 5040 and RFC 7306. OpReceive is the operation of PostReceive.
// Not every device has those from OpFetchAdd on: see Device.Can.
const (
	OpSend Op = iota
	OpWrite
	OpRead
	OpReceive
	// OpFetchAdd adds to 8 bytes of the peer's memory. OpCmpSwap replaces them if they have a
	// certain value. Both put the previous value into the local memory. The peer's bytes and the
	// local ones are an integer in the byte order of the machine.
	OpFetchAdd
	OpCmpSwap
	// OpSendImmediate and OpWriteImmediate are a Send and a Write with 4 bytes of Immediate Data,
	// which the peer finds in the Completion of a receive. With verbs a Write with Immediate Data
	// uses up a receive, and puts nothing there.
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

// A Request is a work request.
type Request struct {
	ID uint64 // chosen by the program; the Completion has the same ID
	Op Op
	// Remote is the peer's memory, for all operations but the Sends: see Region.Handle. Only its
	// STag and TO are used. The TO of an atomic is a multiple of 8.
	Remote rdmap.Handle
	// OpFetchAdd adds Add. OpCmpSwap stores Swap if the memory contains Compare.
	Add, Compare, Swap uint64
	Immediate          uint32
	Solicited          bool // of a Send: it asks the peer to raise an Event (RFC 5040 §5.3)
}

// A Completion is the end of a work request. From then on its memory belongs to the program again.
type Completion struct {
	ID  uint64
	Op  Op
	Len int // bytes received, or written by an OpWriteImmediate of the peer
	// From, of a Receive, is the operation that the peer has posted: OpSend, OpSendImmediate or
	// OpWriteImmediate. Immediate is valid with the last two.
	From      Op
	Immediate uint32
	// Err is nil if the work request has succeeded. Otherwise StatusOf tells its kind.
	Err error
}

// StatusOf returns the Status of the Err of a Completion, which is the result of its method Kind.
// It is StatusFlushed if the connection had ended before the work request, and StatusGeneral if Err
// has no such method.
func StatusOf(err error) rdmap.Status {
	if err == nil {
		return rdmap.StatusOK
	}
	if k, ok := err.(interface{ Kind() rdmap.Status }); ok { //nolint:errorlint // Err is not wrapped
		return k.Kind()
	}
	return rdmap.StatusGeneral
}
