package extsock

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/rddp/rddp/mpa"
)

// capabilities is the record by which two rddp ends know each other. It stands in the MPA Private
// Data in front of the application's. An Initiator announces its own; a Responder answers with its
// own only if the Request held one, so a foreign Initiator never sees it.
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
// Length is that of the whole record in octets: a later version may be longer, and what a receiver
// does not know of it is skipped.
//
// CRC is CRC32C, most significant octet first, of all the Private Data behind the enhanced data of RFC 6581 but the CRC
// itself, the application's included: startup frames have none, and two ends that take a flipped bit for another mode
// would take headers for data.
type capabilities struct {
	extensions bool // RFC 7306 operations are understood
	largeFPDU  bool // FPDUs may be longer than a TCP segment holds
	// maxMessage is the longest Send that the buffers posted for Read hold, in octets; 0 where the
	// application posts its own.
	maxMessage uint32
	// byteStream says that Read and Write are a stream of octets, if both ends say so, and credits how
	// many messages this end's receive buffers hold.
	byteStream bool
	credits    uint16
}

const (
	capabilityLen     = 20
	capabilityVersion = 2  // 1 was without the CRC
	capabilityCRC     = 16 // where that is

	flagExtensions = 1 << 0
	flagLargeFPDU  = 1 << 1
	flagByteStream = 1 << 2
)

var (
	// capabilityBegin is how the record of this version begins: magic, version and length.
	capabilityBegin = [6]byte{'r', 'd', 'd', 'p', capabilityVersion, capabilityLen}
	castagnoli      = crc32.MakeTable(crc32.Castagnoli)
)

// withPrivateData returns the record and the application's private data behind it.
func (c capabilities) withPrivateData(application []byte) []byte {
	b := make([]byte, 0, capabilityLen+len(application))
	b = append(b, capabilityBegin[:]...)
	var flags uint16
	if c.extensions {
		flags |= flagExtensions
	}
	if c.largeFPDU {
		flags |= flagLargeFPDU
	}
	if c.byteStream {
		flags |= flagByteStream
	}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, c.maxMessage)
	b = binary.BigEndian.AppendUint16(b, c.credits)
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = append(b, application...)
	binary.BigEndian.PutUint32(b[capabilityCRC:], privateDataCRC(capabilityBegin, b))
	return b
}

// privateDataCRC returns what CRC has to be in Private Data that begins with begin and goes on as b does behind that.
func privateDataCRC(begin [6]byte, b []byte) uint32 {
	crc := crc32.Update(0, castagnoli, begin[:])
	crc = crc32.Update(crc, castagnoli, b[len(begin):capabilityCRC])
	return crc32.Update(crc, castagnoli, b[capabilityCRC+4:])
}

// parseCapabilities takes the record off the front of a peer's Private Data. Private Data that does
// not begin with one is a foreign application's: all of it is rest, and ok is false. The error, an *mpa.Error with
// CodeFrame, is that of a record that has been changed on its way, its beginning included: that one is no foreign one.
func parseCapabilities(b []byte) (c capabilities, rest []byte, ok bool, err error) {
	if len(b) < capabilityLen {
		return capabilities{}, b, false, nil
	}
	begin, length := [6]byte(b[:6]), int(b[5])
	foreign := [4]byte(begin[:4]) != [4]byte(capabilityBegin[:4]) || b[4] < capabilityVersion || length < capabilityLen || length > len(b)
	got := binary.BigEndian.Uint32(b[capabilityCRC:])
	if foreign && got != privateDataCRC(capabilityBegin, b) {
		return capabilities{}, b, false, nil
	}
	if want := privateDataCRC(begin, b); foreign || got != want {
		reason := fmt.Sprintf("a changed capability record: it begins %x and has CRC %08x, calculated %08x", begin, got, want)
		return capabilities{}, nil, false, &mpa.Error{Code: mpa.CodeFrame, Reason: reason}
	}
	flags := binary.BigEndian.Uint16(b[6:])
	c.extensions = flags&flagExtensions != 0
	c.largeFPDU = flags&flagLargeFPDU != 0
	c.byteStream = flags&flagByteStream != 0
	c.maxMessage = binary.BigEndian.Uint32(b[8:])
	c.credits = binary.BigEndian.Uint16(b[12:])
	return c, b[length:], true, nil
}
