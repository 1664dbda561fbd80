package rdmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// A WorkOp is an operation that a Work Request asks for, or a Completion reports.
type WorkOp uint8

// The operations. WorkRecv is only seen in Completions.
const (
	WorkSend           WorkOp = iota + 1 // Data goes to a receive buffer of the peer
	WorkSendInvalidate                   // the same, and the peer's STag Invalidate becomes invalid
	WorkWrite                            // Data goes to the peer's memory at Remote
	WorkRead                             // the peer's memory at Remote comes to Data
	WorkFetchAdd                         // RFC 7306 §5.1.1: adds to a 64-bit word of the peer
	WorkCmpSwap                          // RFC 7306 §5.1.2: compares it and swaps
	WorkSwap                             // swaps it whatever it is: a CmpSwap that compares no bit
	WorkImmediate                        // RFC 7306 §6: 8 octets to the peer's next Completion
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

// workOpcodes gives the message that starts each operation.
var workOpcodes = [...]rdmaphdr.Opcode{
	WorkSend:           rdmaphdr.OpSend,
	WorkSendInvalidate: rdmaphdr.OpSendInvalidate,
	WorkWrite:          rdmaphdr.OpWrite,
	WorkRead:           rdmaphdr.OpReadRequest,
	WorkFetchAdd:       rdmaphdr.OpAtomicRequest,
	WorkCmpSwap:        rdmaphdr.OpAtomicRequest,
	WorkSwap:           rdmaphdr.OpAtomicRequest,
	WorkImmediate:      rdmaphdr.OpImmediate,
}

// solicitedOpcodes gives the message that starts each operation with a Solicited Event. Zero means that there is none.
var solicitedOpcodes = [len(workOpcodes)]rdmaphdr.Opcode{
	WorkSend:           rdmaphdr.OpSendSE,
	WorkSendInvalidate: rdmaphdr.OpSendSEInvalidate,
	WorkImmediate:      rdmaphdr.OpImmediateSE,
}

// opcode returns the message that starts the request; ok is false if wr cannot be posted.
func (wr *WorkRequest) opcode() (op rdmaphdr.Opcode, ok bool) {
	switch {
	case wr.Op == 0 || int(wr.Op) >= len(workOpcodes):
		return 0, false
	case wr.Solicited:
		op = solicitedOpcodes[wr.Op]
		return op, op != 0
	}
	return workOpcodes[wr.Op], true
}

// awaitsResponse reports whether the operation is done only when the peer has answered.
func (o WorkOp) awaitsResponse() bool { return o == WorkRead || o.isAtomic() }

func (o WorkOp) isAtomic() bool { return WorkFetchAdd <= o && o <= WorkSwap }

func (o WorkOp) isImmediate() bool { return o == WorkImmediate }

// A WorkRequest is one operation for a QP's send queue. The struct itself is only read by PostSend;
// what its slices refer to is the QP's from an accepted post until the Completion.
type WorkRequest struct {
	ID uint64 // the caller's; comes back in the Completion
	Op WorkOp

	// Data is the payload of a Send or Write, and the sink of a Read, up to 2^32-1 octets. The
	// others take none.
	Data []byte
	// Gather is the payload of a Send or Write in pieces, instead of Data. The list belongs to the QP
	// as long as the pieces do.
	Gather [][]byte
	// Remote is where a Write goes, a Read comes from and an atomic acts. Only its STag and TO count:
	// the length is that of Data.
	Remote Handle
	// Invalidate is the peer's STag that WorkSendInvalidate ends; it must not be 0.
	Invalidate ddp.STag

	// Operand is what WorkFetchAdd adds, and what WorkCmpSwap and WorkSwap store.
	Operand uint64
	// Compare is what WorkCmpSwap expects to find.
	Compare uint64
	// Mask of WorkFetchAdd marks the top bit of each field that is added on its own: zero means one
	// field of 64 bits. Mask of WorkCmpSwap and WorkSwap selects the bits that are stored: zero means
	// all.
	Mask uint64
	// CompareMask selects the bits that WorkCmpSwap compares. Zero means all.
	CompareMask uint64
	// Immediate is what WorkImmediate carries, as 8 octets, the highest first.
	Immediate uint64

	// Solicited lets the peer raise an Event (RFC 5040 §5.3). It is for Sends and Immediate Data.
	Solicited bool
	// Fence holds the request, and so all after it, until every earlier Read and atomic is answered.
	Fence bool
	// Inline has the payload copied when it is posted: its memory is the caller's again at once. It
	// is for Sends and Writes.
	Inline bool
	// Unsignaled leaves out the Completion if the request succeeds.
	Unsignaled bool

	// CQ receives the Completion. Nil means the QP's send CQ.
	CQ *CompletionQueue
}

// payload returns the length of what wr sends or reads, in octets, and refuses a wr that makes no
// sense whatever state the QP is in.
func (wr *WorkRequest) payload() (n uint32, err error) {
	op, ok := wr.opcode()
	if !ok && wr.Solicited {
		return 0, fmt.Errorf("%w: %v with a Solicited Event", ErrBadRequest, wr.Op)
	}
	if !ok {
		return 0, fmt.Errorf("%w: %v", ErrBadRequest, wr.Op)
	}
	total := uint64(len(wr.Data))
	for _, piece := range wr.Gather {
		total += uint64(len(piece))
	}
	mayGather := op == rdmaphdr.OpWrite || !op.IsTagged() && op >= rdmaphdr.OpSend && op <= rdmaphdr.OpSendSEInvalidate
	switch {
	case len(wr.Gather) > 0 && (!mayGather || wr.Data != nil):
		return 0, fmt.Errorf("%w: %v with a gather list", ErrBadRequest, wr.Op)
	case total > 0 && !mayGather && wr.Op != WorkRead:
		return 0, fmt.Errorf("%w: %v has no payload", ErrBadRequest, wr.Op)
	case wr.Inline && !mayGather:
		return 0, fmt.Errorf("%w: %v inline", ErrBadRequest, wr.Op)
	case op.Invalidates() && wr.Invalidate == 0:
		// "MUST reference an STag" (RFC 5040 §5.3)
		return 0, fmt.Errorf("%w: %v without an STag", ErrBadRequest, wr.Op)
	case total > math.MaxUint32:
		return 0, ErrMessageTooLong
	}
	return uint32(total), nil
}

// A RecvRequest is one buffer for one inbound Send or Immediate Data. A message fills Head first and then
// Buf. Both belong to the QP from an accepted post until the Completion. A Send longer than both ends the
// stream (RFC 5041 §7.2). Immediate Data arrives in the Completion, so it fits any buffer. The octets of
// that buffer are then indeterminate.
type RecvRequest struct {
	ID   uint64 // the caller's; comes back in the Completion
	Head []byte // where the first octets of the message go; may be empty
	Buf  []byte // where the others go
}

// HandleLen is the length of a Handle on the wire, in octets.
const HandleLen = 16

// A Handle names memory that somebody has registered: what a peer needs to use it. RFC 5040 leaves
// open how it gets there (§1.2, "Advertisement"). On the wire it is as rping and others have it:
//
//	| TO (8 octets) | STag (4) | length (4) |
type Handle struct {
	STag ddp.STag
	TO   uint64 // of the first octet
	Len  uint32 // octets
}

// AppendTo appends the handle's 16 octets to b.
func (h Handle) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.TO)
	b = binary.BigEndian.AppendUint32(b, uint32(h.STag))
	return binary.BigEndian.AppendUint32(b, h.Len)
}

// ParseHandle reads a handle from the front of b and returns what follows it. The only error is that
// b is too short.
func ParseHandle(b []byte) (h Handle, rest []byte, err error) {
	if len(b) < HandleLen {
		return Handle{}, b, fmt.Errorf("rdmap: handle of %d octets, want %d", len(b), HandleLen)
	}
	h = Handle{
		TO:   binary.BigEndian.Uint64(b),
		STag: ddp.STag(binary.BigEndian.Uint32(b[8:])),
		Len:  binary.BigEndian.Uint32(b[12:]),
	}
	return h, b[HandleLen:], nil
}

var errRange = errors.New("rdmap: outside the handle's memory")

// Slice returns the handle of n octets from offset off on. The error is that they are not all inside h.
func (h Handle) Slice(off int64, n int) (Handle, error) {
	if off < 0 || n < 0 || off > int64(h.Len) || int64(n) > int64(h.Len)-off {
		return Handle{}, fmt.Errorf("%w: %d octets at %d of %d", errRange, n, off, h.Len)
	}
	return Handle{STag: h.STag, TO: h.TO + uint64(off), Len: uint32(n)}, nil
}
