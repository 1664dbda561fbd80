package rdmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/rddp/rddp/ddp"
)

// A WorkOp is the operation of a Work Request or a Completion.
type WorkOp uint8

// The operations. WorkRecv appears only in Completions.
const (
	WorkSend           WorkOp = iota + 1 // sends Data to a receive buffer of the peer
	WorkSendInvalidate                   // the same, and invalidates the peer's STag Invalidate
	WorkWrite                            // writes Data to the peer's memory at Remote
	WorkRead                             // reads the peer's memory at Remote into Data
	WorkFetchAdd                         // adds to a 64-bit word of the peer (RFC 7306 §5.1.1)
	WorkCmpSwap                          // compares such a word and swaps it if equal (RFC 7306 §5.1.2)
	WorkSwap                             // swaps such a word always: a CmpSwap that compares no bit
	WorkImmediate                        // sends 8 bytes to the peer's next receive Completion (RFC 7306 §6)
	WorkRecv                             // a receive buffer was filled
)

var workOpNames = [...]string{
	"no operation", "Send", "Send with Invalidate", "RDMA Write", "RDMA Read", "FetchAdd", "CmpSwap", "Swap",
	"Immediate Data", "Receive",
}

// String returns the RFC's name of the operation.
func (o WorkOp) String() string {
	if int(o) < len(workOpNames) {
		return workOpNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// workOpcodes contains the opcode of the message that starts each operation.
var workOpcodes = [...]Opcode{
	WorkSend:           OpSend,
	WorkSendInvalidate: OpSendInvalidate,
	WorkWrite:          OpWrite,
	WorkRead:           OpReadRequest,
	WorkFetchAdd:       OpAtomicRequest,
	WorkCmpSwap:        OpAtomicRequest,
	WorkSwap:           OpAtomicRequest,
	WorkImmediate:      OpImmediate,
}

// solicitedOpcodes contains the same for operations with a Solicited Event. Zero means that the
// operation cannot have one.
var solicitedOpcodes = [len(workOpcodes)]Opcode{
	WorkSend:           OpSendSE,
	WorkSendInvalidate: OpSendSEInvalidate,
	WorkImmediate:      OpImmediateSE,
}

// opcode returns the opcode of the message that starts the request. ok is false if there is no such
// operation.
func (wr *WorkRequest) opcode() (op Opcode, ok bool) {
	switch {
	case wr.Op == 0 || int(wr.Op) >= len(workOpcodes):
		return 0, false
	case wr.Solicited:
		op = solicitedOpcodes[wr.Op]
		return op, op != 0
	}
	return workOpcodes[wr.Op], true
}

// awaitsResponse reports whether the operation completes only when the response of the peer
// arrives.
func (o WorkOp) awaitsResponse() bool { return o == WorkRead || o.isAtomic() }

func (o WorkOp) isAtomic() bool { return WorkFetchAdd <= o && o <= WorkSwap }

func (o WorkOp) isImmediate() bool { return o == WorkImmediate }

// A WorkRequest is one operation for the send queue of a QP. PostSend only reads the struct and
// keeps no reference to it. The memory of its slices belongs to the QP from an accepted post until
// the Completion.
type WorkRequest struct {
	ID uint64 // any number; the Completion has the same ID
	Op WorkOp

	// Data is the payload of a Send or Write, and the sink of a Read, of at most 2^32-1 bytes.
	// Other operations have no Data.
	Data []byte
	// Sink, if not nil, is the sink of a Read of SinkLen bytes in place of Data, for memory that
	// this process cannot address: see [ddp.Domain.RegisterSink]. The first byte of the Read has
	// offset 0. The bytes may come in any order, and more than once.
	Sink    io.WriterAt
	SinkLen uint32
	// Gather is the payload of a Send or Write in pieces, instead of Data. The list itself belongs
	// to the QP as long as the pieces do.
	Gather [][]byte
	// Remote is the peer's memory that a Write writes, a Read reads or an atomic changes. Only STag
	// and TO of the Handle are used; the length is that of the payload or sink.
	Remote Handle
	// Invalidate is the STag of the peer that WorkSendInvalidate invalidates. It must not be 0.
	Invalidate ddp.STag

	// Operand is the number that WorkFetchAdd adds, and the value that WorkCmpSwap and WorkSwap
	// store.
	Operand uint64
	// Compare is the value that WorkCmpSwap compares the word with.
	Compare uint64
	// For WorkFetchAdd, the bits set in Mask are the top bits of fields that are added separately;
	// zero means one field of 64 bits. For WorkCmpSwap and WorkSwap, Mask selects the bits that are
	// stored; zero means all bits.
	Mask uint64
	// CompareMask selects the bits that WorkCmpSwap compares. Zero means all bits.
	CompareMask uint64
	// Immediate is the value that WorkImmediate sends as 8 bytes, the highest byte first.
	Immediate uint64

	// Solicited asks the peer to raise an Event (RFC 5040 §5.3). Only Sends and Immediate Data may
	// have it.
	Solicited bool
	// Fence delays the request, and all requests after it, until the responses to all earlier Reads
	// and atomics have arrived.
	Fence bool
	// Inline makes the post copy the payload, so that its memory belongs to the caller again at
	// once. Only Sends and Writes may have it.
	Inline bool
	// Unsignaled means that a request that succeeds has no Completion.
	Unsignaled bool

	// CQ receives the Completion. Nil means Config.SendCQ.
	CQ *CompletionQueue
}

// A RecvRequest is one buffer for one inbound Send or Immediate Data. A message fills Head first
// and then Buf. Both belong to the QP from an accepted post until the Completion. A Send that is
// longer than both together ends the stream (RFC 5041 §7.2). Immediate Data arrives in the
// Completion, so it fits any buffer. The bytes of that buffer are then indeterminate.
type RecvRequest struct {
	ID   uint64 // any number; the Completion has the same ID
	Head []byte // receives the first bytes of the message; may be empty
	Buf  []byte // receives the other bytes
}

// HandleLen is the length of a Handle on the wire, in bytes.
const HandleLen = 16

// A Handle names registered memory. A peer needs it to use that memory. RFC 5040 leaves open how a
// Handle reaches the peer (§1.2, "Advertisement"). On the wire a Handle has the layout that rping
// and other programs use:
//
//	| TO (8 bytes) | STag (4) | length (4) |
type Handle struct {
	STag ddp.STag
	TO   uint64 // of the first byte
	Len  uint32 // in bytes
}

// AppendTo appends the 16 bytes of the Handle to b.
func (h Handle) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.TO)
	b = binary.BigEndian.AppendUint32(b, uint32(h.STag))
	return binary.BigEndian.AppendUint32(b, h.Len)
}

// ParseHandle parses the Handle at the front of b and returns the rest of b. It returns an error
// only if b is too short.
func ParseHandle(b []byte) (h Handle, rest []byte, err error) {
	if len(b) < HandleLen {
		return Handle{}, b, fmt.Errorf("rdmap: handle of %d bytes, want %d", len(b), HandleLen)
	}
	h = Handle{
		TO:   binary.BigEndian.Uint64(b),
		STag: ddp.STag(binary.BigEndian.Uint32(b[8:])),
		Len:  binary.BigEndian.Uint32(b[12:]),
	}
	return h, b[HandleLen:], nil
}

var errRange = errors.New("rdmap: outside the handle's memory")

// Slice returns the Handle of n bytes of h from offset off on. It returns an error if these bytes
// are not all inside h.
func (h Handle) Slice(off int64, n int) (Handle, error) {
	if off < 0 || n < 0 || off > int64(h.Len) || int64(n) > int64(h.Len)-off {
		return Handle{}, fmt.Errorf("%w: %d bytes at %d of %d", errRange, n, off, h.Len)
	}
	return Handle{STag: h.STag, TO: h.TO + uint64(off), Len: uint32(n)}, nil
}
