package prototest

import "encoding/binary"

// The control fields of segments that end their message: DDP's byte (RFC 5041 §4.1), version 1, and
// RDMAP's (RFC 5040 §4.1), version 1 and opcode 0.
const (
	ControlTagged   = 0xc140
	ControlUntagged = 0x4140
)

// Tagged returns a tagged segment (RFC 5041 §4.2). The first byte of control is DDP's, the second
// RDMAP's.
func Tagged[STag ~uint32](control uint16, stag STag, to uint64, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, control)
	b = binary.BigEndian.AppendUint32(b, uint32(stag))
	b = binary.BigEndian.AppendUint64(b, to)
	return append(b, payload...)
}

// Untagged returns an untagged segment (RFC 5041 §4.3) that invalidates no STag. The first byte of
// control is DDP's, the second RDMAP's.
func Untagged[QN ~uint32](control uint16, qn QN, msn, mo uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, control)
	for _, field := range []uint32{0, uint32(qn), msn, mo} {
		b = binary.BigEndian.AppendUint32(b, field)
	}
	return append(b, payload...)
}

// ReadRequest returns the payload of a Read Request (RFC 5040 §4.4).
func ReadRequest[STag ~uint32](sinkSTag STag, sinkTO uint64, size uint32, sourceSTag STag, sourceTO uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(sinkSTag))
	b = binary.BigEndian.AppendUint64(b, sinkTO)
	b = binary.BigEndian.AppendUint32(b, size)
	b = binary.BigEndian.AppendUint32(b, uint32(sourceSTag))
	return binary.BigEndian.AppendUint64(b, sourceTO)
}

// Terminate returns the payload of a Terminate that reports code and no segment (RFC 5040 §4.8).
func Terminate(code uint16) []byte {
	return append(binary.BigEndian.AppendUint16(nil, code), 0, 0)
}
