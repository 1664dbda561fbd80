package extsock

import "encoding/binary"

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
//
// Length is that of the whole record in octets: a later version may be longer, and what a receiver
// does not know of it is skipped.
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
	capabilityLen     = 16
	capabilityVersion = 1

	flagExtensions = 1 << 0
	flagLargeFPDU  = 1 << 1
	flagByteStream = 1 << 2
)

var capabilityMagic = [4]byte{'r', 'd', 'd', 'p'}

func (c capabilities) appendTo(b []byte) []byte {
	b = append(b, capabilityMagic[:]...)
	b = append(b, capabilityVersion, capabilityLen)
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
	return append(b, 0, 0)
}

// parseCapabilities takes the record off the front of a peer's Private Data. Private Data that does
// not begin with one is a foreign application's: all of it is rest, and ok is false.
func parseCapabilities(b []byte) (c capabilities, rest []byte, ok bool) {
	if len(b) < capabilityLen || [4]byte(b[:4]) != capabilityMagic || b[4] == 0 {
		return capabilities{}, b, false
	}
	length := int(b[5])
	if length < capabilityLen || length > len(b) {
		return capabilities{}, b, false
	}
	flags := binary.BigEndian.Uint16(b[6:])
	c.extensions = flags&flagExtensions != 0
	c.largeFPDU = flags&flagLargeFPDU != 0
	c.byteStream = flags&flagByteStream != 0
	c.maxMessage = binary.BigEndian.Uint32(b[8:])
	c.credits = binary.BigEndian.Uint16(b[12:])
	return c, b[length:], true
}
