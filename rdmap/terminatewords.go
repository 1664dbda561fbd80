package rdmap

import "fmt"

// errorKinds has the words of the RFCs for the reasons in a Terminate (RFC 5040 figure 9, RFC 5041
// §7.2, RFC 5044 §8, RFC 6581 §8, RFC 7306 §8), by its first byte: the Layer and the Error Type.
var errorKinds = map[uint8]struct {
	Name  string
	Codes map[uint8]string // by Error Code; nil means that the Error Code has no meaning
}{
	0x00: {"RDMA local catastrophic error", nil},
	0x01: {"RDMA remote protection error", map[uint8]string{
		0x00: "invalid STag",
		0x01: "base or bounds violation",
		0x02: "access rights violation",
		0x03: "STag not associated with RDMAP Stream",
		0x04: "TO wrap",
		0x09: "STag cannot be Invalidated",
		0xFF: "unspecified error",
	}},
	0x02: {"RDMA remote operation error", map[uint8]string{
		0x05: "invalid RDMAP version",
		0x06: "unexpected OpCode",
		0x07: "catastrophic error, localized to RDMAP Stream",
		0x08: "catastrophic error, global",
		0x09: "STag cannot be Invalidated",
		0xFF: "unspecified error",
	}},
	0x10: {"DDP local catastrophic error", map[uint8]string{0x00: ""}},
	0x11: {"DDP tagged buffer error", map[uint8]string{
		0x00: "invalid STag",
		0x01: "base or bounds violation",
		0x02: "STag not associated with DDP Stream",
		0x03: "TO wrap",
		0x04: "invalid DDP version",
	}},
	0x12: {"DDP untagged buffer error", map[uint8]string{
		0x01: "invalid QN",
		0x02: "invalid MSN: no buffer available",
		0x03: "invalid MSN: MSN range is not valid",
		0x04: "invalid MO",
		0x05: "DDP Message too long for available buffer",
		0x06: "invalid DDP version",
	}},
	0x13: {"DDP error reserved for the LLP", nil},
	0x20: {"MPA error", map[uint8]string{
		0x01: "TCP connection closed, terminated, or lost",
		0x02: "MPA CRC error",
		0x03: "MPA Marker and ULPDU Length field mismatch",
		0x04: "invalid MPA Request Frame or MPA Reply Frame",
		0x05: "local catastrophic error",
		0x06: "insufficient IRD resources",
		0x07: "no matching RTR option",
	}},
}

// Words returns the Layer, the Error Type and the Error Code in the words of RFC 5040 figure 9.
// Parts for which the RFCs have no words are numbers.
func (c TerminateCode) Words() (layer, etype, text string) {
	number := c >> 12
	layer = fmt.Sprintf("%#x", uint16(number))
	if names := [...]string{"RDMAP", "DDP", "MPA"}; int(number) < len(names) {
		layer = names[number]
	}
	etype, text = fmt.Sprintf("%#x", uint16(c>>8&0x0F)), fmt.Sprintf("%#02x", uint8(c))
	if kind, ok := errorKinds[uint8(c>>8)]; ok {
		etype = kind.Name
		if words := kind.Codes[uint8(c)]; words != "" {
			text = words
		}
	}
	return layer, etype, text
}
