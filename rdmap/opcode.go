package rdmap

import (
	"fmt"

	"github.com/rddp/rddp/ddp"
)

// An Opcode is the kind of an RDMA Message: the low 4 bits of the RDMAP Control Field (RFC 5040
// §4.1, RFC 7306 §4.1).
type Opcode uint8

// The opcodes. 0x8 to 0xB are RFC 7306's; 0xC to 0xF are not assigned (RFC 6580 §3.4).
const (
	OpWrite            Opcode = 0x0
	OpReadRequest      Opcode = 0x1
	OpReadResponse     Opcode = 0x2
	OpSend             Opcode = 0x3
	OpSendInvalidate   Opcode = 0x4
	OpSendSE           Opcode = 0x5
	OpSendSEInvalidate Opcode = 0x6
	OpTerminate        Opcode = 0x7
	OpImmediate        Opcode = 0x8
	OpImmediateSE      Opcode = 0x9
	OpAtomicRequest    Opcode = 0xA
	OpAtomicResponse   Opcode = 0xB
)

var opcodeNames = [...]string{
	OpWrite:            "RDMA Write",
	OpReadRequest:      "RDMA Read Request",
	OpReadResponse:     "RDMA Read Response",
	OpSend:             "Send",
	OpSendInvalidate:   "Send with Invalidate",
	OpSendSE:           "Send with Solicited Event",
	OpSendSEInvalidate: "Send with Solicited Event and Invalidate",
	OpTerminate:        "Terminate",
	OpImmediate:        "Immediate Data",
	OpImmediateSE:      "Immediate Data with Solicited Event",
	OpAtomicRequest:    "Atomic Request",
	OpAtomicResponse:   "Atomic Response",
}

// String returns the RFC's name of the message.
func (o Opcode) String() string {
	if o.isAssigned() {
		return opcodeNames[o]
	}
	return fmt.Sprintf("opcode %#x", uint8(o))
}

// isAssigned reports whether an RFC has the opcode.
func (o Opcode) isAssigned() bool { return int(o) < len(opcodeNames) }

// isExtension reports whether the opcode is one of RFC 7306's.
func (o Opcode) isExtension() bool { return OpImmediate <= o && o <= OpAtomicResponse }

// isImmediate reports whether the message is Immediate Data.
func (o Opcode) isImmediate() bool { return o == OpImmediate || o == OpImmediateSE }

// IsTagged reports whether the message names a Tagged Buffer. All others use an Untagged one, of
// the queue that Queue returns.
func (o Opcode) IsTagged() bool { return o == OpWrite || o == OpReadResponse }

// Queue returns the queue of an Untagged message (RFC 5040 figure 4, RFC 7306 §4.1).
func (o Opcode) Queue() ddp.QN {
	switch o {
	case OpReadRequest, OpAtomicRequest:
		return ddp.QNReadRequest
	case OpTerminate:
		return ddp.QNTerminate
	case OpAtomicResponse:
		return ddp.QNAtomicResponse
	}
	return ddp.QNSend
}

// Invalidates reports whether the message names an STag that its receiver must invalidate.
func (o Opcode) Invalidates() bool { return o == OpSendInvalidate || o == OpSendSEInvalidate }

// solicits reports whether the message asks for an Event at its receiver.
func (o Opcode) solicits() bool {
	return o == OpSendSE || o == OpSendSEInvalidate || o == OpImmediateSE
}

// The RDMAP Control Field, octet 1 of every DDP header, the first that DDP reserves for its ULP:
//
//	  7   6   5   4   3   2   1   0
//	+-------+-------+---------------+
//	|  RV   | Rsvd  |    Opcode     |
//	+-------+-------+---------------+
const (
	// version is the version of RDMAP, the value of RV (RFC 5040 §4.1).
	version = 1

	versionShift = 6    // RV is in the two top bits
	opcodeMask   = 0x0F // Rsvd, between the two, is zero when sent and ignored when received
)

// Control returns the RDMAP Control Field of a message.
func Control(op Opcode) uint8 { return version<<versionShift | uint8(op)&opcodeMask }

// ParseControl returns the opcode and the RDMAP version of a control field. Any octet parses: the
// stream decides which versions and opcodes it accepts.
func ParseControl(c uint8) (op Opcode, rv uint8) { return Opcode(c & opcodeMask), c >> versionShift }
