package rdmap

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rddp/rddp/ddp"
)

// Lengths of the RDMAP headers and of Immediate Data, in octets. Each is the whole payload of its
// DDP Message.
const (
	ReadRequestLen    = 28 // RFC 5040 §4.4
	AtomicRequestLen  = 52 // RFC 7306 §5.2.1
	AtomicResponseLen = 12 // RFC 7306 figure 6; its §4 says 32, which counts the DDP and MPA headers
	ImmediateLen      = 8  // RFC 7306 §6.2
)

// ErrAtomicOp means that an Atomic Operation Code is none of RFC 7306's.
var ErrAtomicOp = errors.New("not an operation of RFC 7306")

// checkLen refuses a header that is cut short.
func checkLen(b []byte, op Opcode, n int) error {
	if len(b) < n {
		return fmt.Errorf("%v of %d bytes, want %d", op, len(b), n)
	}
	return nil
}

// A ReadRequest is the RDMA Read Request Header (RFC 5040 §4.4): which octets of the Data Source's
// memory to read, and where in the Data Sink's memory to place them.
//
//	octet  0         4                    12          16            20
//	      | sink STag | sink TO (8 octets) | size (4)  | source STag | source TO (8) |
type ReadRequest struct {
	SinkSTag   ddp.STag
	SinkTO     uint64
	Size       uint32 // octets to read
	SourceSTag ddp.STag
	SourceTO   uint64
}

// AppendTo appends the header's 28 octets to b.
func (r ReadRequest) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(r.SinkSTag))
	b = binary.BigEndian.AppendUint64(b, r.SinkTO)
	b = binary.BigEndian.AppendUint32(b, r.Size)
	b = binary.BigEndian.AppendUint32(b, uint32(r.SourceSTag))
	return binary.BigEndian.AppendUint64(b, r.SourceTO)
}

// ParseReadRequest reads the header from the front of b and returns what follows it, which aliases
// b. The only error is that b is too short.
func ParseReadRequest(b []byte) (r ReadRequest, rest []byte, err error) {
	if err := checkLen(b, OpReadRequest, ReadRequestLen); err != nil {
		return ReadRequest{}, b, err
	}
	r = ReadRequest{
		SinkSTag:   ddp.STag(binary.BigEndian.Uint32(b)),
		SinkTO:     binary.BigEndian.Uint64(b[4:]),
		Size:       binary.BigEndian.Uint32(b[12:]),
		SourceSTag: ddp.STag(binary.BigEndian.Uint32(b[16:])),
		SourceTO:   binary.BigEndian.Uint64(b[20:]),
	}
	return r, b[ReadRequestLen:], nil
}

// An AtomicOp is the operation of an Atomic Request (RFC 7306 figure 5).
type AtomicOp uint8

// The Atomic Operation Codes. 0x1 is reserved, the others are not assigned (RFC 7306 §10.1).
const (
	AtomicFetchAdd AtomicOp = 0x0
	AtomicCmpSwap  AtomicOp = 0x2
)

const atomicOpMask = 0x0F // of octet 3; the 28 bits before it are reserved

// String returns the RFC's name of the operation.
func (o AtomicOp) String() string {
	switch o {
	case AtomicFetchAdd:
		return "FetchAdd"
	case AtomicCmpSwap:
		return "CmpSwap"
	}
	return fmt.Sprintf("atomic operation %#x", uint8(o))
}

// An AtomicRequest is the Atomic Operation Request Header (RFC 7306 §5.2.1).
//
//	octet  0            3         4              8            12
//	      | reserved    | AOpCode | identifier   | remote STag | remote TO (8 octets) |
//	octet 20                 28                 36            44
//	      | add or swap data | add or swap mask | compare data | compare mask |
type AtomicRequest struct {
	Op          AtomicOp
	ID          uint32 // chosen by the requester, comes back in the response
	STag        ddp.STag
	TO          uint64
	Data        uint64 // to add, or to store
	Mask        uint64 // top bits of the fields to add, or bits to store
	Compare     uint64 // FetchAdd: 0
	CompareMask uint64 // FetchAdd: all ones
}

// AppendTo appends the header's 52 octets to b.
func (r AtomicRequest) AppendTo(b []byte) []byte {
	b = append(b, 0, 0, 0, byte(r.Op)&atomicOpMask)
	b = binary.BigEndian.AppendUint32(b, r.ID)
	b = binary.BigEndian.AppendUint32(b, uint32(r.STag))
	b = binary.BigEndian.AppendUint64(b, r.TO)
	b = binary.BigEndian.AppendUint64(b, r.Data)
	b = binary.BigEndian.AppendUint64(b, r.Mask)
	b = binary.BigEndian.AppendUint64(b, r.Compare)
	return binary.BigEndian.AppendUint64(b, r.CompareMask)
}

// ParseAtomicRequest reads the header from the front of b and returns what follows it, which
// aliases b. The error is that b is too short, or wraps ErrAtomicOp.
func ParseAtomicRequest(b []byte) (r AtomicRequest, rest []byte, err error) {
	if err := checkLen(b, OpAtomicRequest, AtomicRequestLen); err != nil {
		return AtomicRequest{}, b, err
	}
	r = AtomicRequest{
		Op:          AtomicOp(b[3] & atomicOpMask),
		ID:          binary.BigEndian.Uint32(b[4:]),
		STag:        ddp.STag(binary.BigEndian.Uint32(b[8:])),
		TO:          binary.BigEndian.Uint64(b[12:]),
		Data:        binary.BigEndian.Uint64(b[20:]),
		Mask:        binary.BigEndian.Uint64(b[28:]),
		Compare:     binary.BigEndian.Uint64(b[36:]),
		CompareMask: binary.BigEndian.Uint64(b[44:]),
	}
	// "an error MUST be surfaced in response to delivery … of an Atomic Operation Request Message
	// with an Atomic Operation Code that the RNIC does not support" (RFC 7306 §5.2.1)
	if r.Op != AtomicFetchAdd && r.Op != AtomicCmpSwap {
		return AtomicRequest{}, b, fmt.Errorf("%v: %w", r.Op, ErrAtomicOp)
	}
	return r, b[AtomicRequestLen:], nil
}

// An AtomicResponse is the Atomic Operation Response Header (RFC 7306 §5.2.2).
//
//	octet  0                   4
//	      | identifier (4)    | original value (8 octets) |
type AtomicResponse struct {
	ID       uint32 // the request's
	Original uint64 // the previous value of the word
}

// AppendTo appends the header's 12 octets to b.
func (r AtomicResponse) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.ID)
	return binary.BigEndian.AppendUint64(b, r.Original)
}

// ParseAtomicResponse reads the header from the front of b and returns what follows it, which
// aliases b. The only error is that b is too short.
func ParseAtomicResponse(b []byte) (r AtomicResponse, rest []byte, err error) {
	if err := checkLen(b, OpAtomicResponse, AtomicResponseLen); err != nil {
		return AtomicResponse{}, b, err
	}
	r = AtomicResponse{ID: binary.BigEndian.Uint32(b), Original: binary.BigEndian.Uint64(b[4:])}
	return r, b[AtomicResponseLen:], nil
}
