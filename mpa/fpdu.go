package mpa

const (
	// minMULPDU and MaxULPDU are the bounds of the MULPDU in bytes. No ULPDU that is sent may be
	// longer than MaxULPDU.
	// "The range of MULPDU values MUST be between 128 octets and 64768 octets, inclusive." (RFC
	// 5044 §3)
	minMULPDU = 128
	MaxULPDU  = 64768

	lengthLen = 2     // the ULPDU_Length field
	crcLen    = 4     // the CRC field
	maxLength = 65535 // the largest ULPDU_Length

	// maxSent and maxReceived are the maximum lengths in bytes of an FPDU, Markers included.
	// maxSent is for a ULPDU of MaxULPDU bytes, maxReceived for a ULPDU of maxLength bytes.
	maxSent     = 64776 + 128*markerSize
	maxReceived = 65544 + 130*markerSize
)

// MULPDU returns the maximum length in bytes of a ULPDU whose FPDU fits in a TCP segment of emss
// bytes, at whatever offset the FPDU begins. markers says whether Markers are sent. The result is
// between 128 and MaxULPDU. The EMSS of a connection changes over time, so callers should call
// MULPDU again for each message.
func MULPDU(emss int, markers bool) int {
	emss = min(max(emss, 0), maxSent) // a larger EMSS makes no difference
	// "MULPDU = EMSS - (6 + EMSS mod 4)" (RFC 5044 §4.5)
	overhead := lengthLen + crcLen + emss%4
	if markers {
		// "MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4)" (RFC 5044 §4.5)
		overhead += markerSize * ((emss + markerInterval - 1) / markerInterval)
	}
	// "the MPA on TCP sender MUST NOT shrink the MULPDU below 128 octets" (RFC 5044 §4.5)
	return min(max(emss-overhead, minMULPDU), MaxULPDU)
}

// fpduLen returns the length in bytes of an FPDU with a ULPDU of n bytes, without Markers.
func fpduLen(n int) int { return lengthLen + n + padLen(n) + crcLen }

// padLen returns the length in bytes of the PAD after a ULPDU of n bytes.
// "The length of the pad is set so as to make the size of the FPDU an integral multiple of four."
// (RFC 5044 §4.1)
func padLen(n int) int { return -(lengthLen + n) & 3 }

// An fpdu holds the offset and the lengths of one FPDU.
type fpdu struct {
	off  uint64 // stream offset of its first byte, which is the Marker before ULPDU_Length if there is one
	lead int    // bytes of that Marker, 0 or markerSize; ULPDU_Length follows
	n    int    // ULPDU_Length
	size int    // bytes in the stream, Markers included
}

// span returns the place of the FPDU, whose bytes b begins with, and its CRC.
func (f fpdu) span(b []byte) span {
	return span{start: f.off, end: f.off + uint64(f.size), sum: getCRC(b[f.size-crcLen:])}
}
