package startup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/rddp/rddp/mpa"
)

// Capabilities is the record by which two rddp ends recognize each other. It precedes the
// application's data in the MPA Private Data. An Initiator announces its own. A Responder answers
// with its own only if the Request held a record, so a foreign Initiator never sees one.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------+---------------+---------------+---------------+
//	|      'r'      |      'd'      |      'd'      |      'p'      |
//	+---------------+---------------+---------------+---------------+
//	|    Version    |    Length     |             Flags             |
//	+---------------+---------------+---------------+---------------+
//	|                          Max Message                          |
//	+---------------+---------------+---------------+---------------+
//	|            Credits            |            Reserved           |
//	+---------------+---------------+---------------+---------------+
//	|                              CRC                              |
//	+---------------+---------------+---------------+---------------+
//
// Length is the length of the whole record in octets. A later version may be longer, and a receiver
// skips what it does not know.
//
// CRC is CRC32C, most significant octet first. It covers all the Private Data behind the enhanced
// data of RFC 6581, the application's included, except the CRC itself. Startup frames have no CRC
// of their own, and two ends that disagree on the mode because of a flipped bit would take headers
// for data.
type Capabilities struct {
	Extensions bool // the end understands the operations of RFC 7306
	LargeFPDU  bool // FPDUs may be longer than a TCP segment
	// MaxMessage is the longest Send, in octets, that fits the buffers posted for Read. It is 0 if
	// the application posts the buffers.
	MaxMessage uint32
	// ByteStream means that this end wants Read and Write to be a stream of octets. They are if
	// both ends want it.
	ByteStream bool
	// Credits is how many messages this end's receive buffers hold.
	Credits uint16
	// OnDevice means that an RDMA device runs this end. If it is the Responder, it does not send
	// before it has received a message.
	OnDevice bool
}

// CapabilitiesLen is the length of the record that this version sends, in bytes.
const CapabilitiesLen = 20

const (
	capabilityLen     = CapabilitiesLen
	capabilityVersion = 2  // version 1 had no CRC
	capabilityCRC     = 16 // the offset of the CRC

	flagExtensions = 1 << 0
	flagLargeFPDU  = 1 << 1
	flagByteStream = 1 << 2
	flagOnDevice   = 1 << 3
)

var (
	// capabilityBegin is how the record of this version begins: magic, version and length.
	capabilityBegin = [6]byte{'r', 'd', 'd', 'p', capabilityVersion, capabilityLen}
	castagnoli      = crc32.MakeTable(crc32.Castagnoli)
)

// WithPrivateData returns the record with the application's private data behind it, in new memory.
func (c Capabilities) WithPrivateData(application []byte) []byte {
	b := make([]byte, 0, capabilityLen+len(application))
	b = append(b, capabilityBegin[:]...)
	var flags uint16
	if c.Extensions {
		flags |= flagExtensions
	}
	if c.LargeFPDU {
		flags |= flagLargeFPDU
	}
	if c.ByteStream {
		flags |= flagByteStream
	}
	if c.OnDevice {
		flags |= flagOnDevice
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, c.MaxMessage)
	b = binary.BigEndian.AppendUint16(b, c.Credits)
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = append(b, application...)
	binary.BigEndian.PutUint32(b[capabilityCRC:], privateDataCRC(capabilityBegin[:], b))
	return b
}

// privateDataCRC calculates the CRC of Private Data that begins with begin and continues like b.
func privateDataCRC(begin, b []byte) uint32 {
	crc := crc32.Update(0, castagnoli, begin)
	crc = crc32.Update(crc, castagnoli, b[len(begin):capabilityCRC])
	return crc32.Update(crc, castagnoli, b[capabilityCRC+4:])
}

// ParseCapabilities takes the record off the front of a peer's Private Data; rest aliases b. If the
// Private Data does not begin with a record, all of it belongs to a foreign application: rest is b,
// and ok is false. If the record was changed on its way, its beginning included, the error is an
// *mpa.Error with CodeFrame.
func ParseCapabilities(b []byte) (c Capabilities, rest []byte, ok bool, err error) {
	if len(b) < capabilityLen {
		return Capabilities{}, b, false, nil
	}
	begin, length := b[:len(capabilityBegin)], int(b[5])
	foreign := [4]byte(begin[:4]) != [4]byte(capabilityBegin[:4]) || b[4] < capabilityVersion || length < capabilityLen || length > len(b)
	got := binary.BigEndian.Uint32(b[capabilityCRC:])
	if foreign && got != privateDataCRC(capabilityBegin[:], b) {
		return Capabilities{}, b, false, nil
	}
	if want := privateDataCRC(begin, b); foreign || got != want {
		reason := fmt.Sprintf("a changed capability record: it begins %x and has CRC %08x, calculated %08x", begin, got, want)
		return Capabilities{}, nil, false, &mpa.Error{Code: mpa.CodeFrame, Reason: reason}
	}
	flags := binary.BigEndian.Uint16(b[6:])
	c.Extensions = flags&flagExtensions != 0
	c.LargeFPDU = flags&flagLargeFPDU != 0
	c.ByteStream = flags&flagByteStream != 0
	c.OnDevice = flags&flagOnDevice != 0
	c.MaxMessage = binary.BigEndian.Uint32(b[8:])
	c.Credits = binary.BigEndian.Uint16(b[12:])
	return c, b[length:], true, nil
}
