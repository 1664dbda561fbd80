package mpa

import "encoding/binary"

const (
	// minMULPDU and MaxULPDU bound the length of a ULPDU that MPA asks for, in octets.
	// "The range of MULPDU values MUST be between 128 octets and 64768 octets, inclusive."
	// (RFC 5044 §3)
	minMULPDU = 128
	MaxULPDU  = 64768

	lengthLen = 2     // the ULPDU_Length field
	crcLen    = 4     // the CRC field
	maxLength = 65535 // the largest ULPDU_Length

	// maxSent and maxReceived are the most octets an FPDU has, Markers included. The first is for a
	// ULPDU of MaxULPDU, the second for one of maxLength octets.
	maxSent     = 64776 + 128*markerSize
	maxReceived = 65544 + 130*markerSize
)

// MULPDU returns how long a ULPDU should be at most, so that its FPDU fits a TCP segment of emss
// octets wherever it begins. markers says whether Markers are sent. The result is between minMULPDU
// and MaxULPDU. EMSS changes over time, so ask again.
func MULPDU(emss int, markers bool) int {
	emss = min(max(emss, 0), maxSent) // more makes no difference
	// "MULPDU = EMSS - (6 + EMSS mod 4)" (RFC 5044 §4.5)
	overhead := lengthLen + crcLen + emss%4
	if markers {
		// "MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4)" (RFC 5044 §4.5)
		overhead += markerSize * ((emss + markerInterval - 1) / markerInterval)
	}
	// "the MPA on TCP sender MUST NOT shrink the MULPDU below 128 octets" (RFC 5044 §4.5)
	return min(max(emss-overhead, minMULPDU), MaxULPDU)
}

// fpduLen returns the octets of an FPDU with a ULPDU of n octets, without Markers.
func fpduLen(n int) int { return lengthLen + n + padLen(n) + crcLen }

// padLen returns the octets of PAD behind a ULPDU of n octets.
// "The length of the pad is set so as to make the size of the FPDU an integral multiple of four."
// (RFC 5044 §4.1)
func padLen(n int) int { return -(lengthLen + n) & 3 }

// An fpdu says where the parts of one FPDU lie.
type fpdu struct {
	off  uint64 // stream offset where it begins, with the Marker in front of ULPDU_Length if one is due
	lead int    // octets of that Marker, 0 or markerSize; ULPDU_Length follows
	n    int    // ULPDU_Length
	size int    // octets in the stream, Markers included
}

// parseFPDU reads the length of the FPDU that begins with b[0], at stream offset off. ok is false
// when the length is not there yet.
func parseFPDU(b []byte, off uint64, markers bool) (f fpdu, ok bool) {
	f.off = off
	if markers && toMarker(off) == 0 {
		f.lead = markerSize
	}
	if len(b) < f.lead+lengthLen {
		return f, false
	}
	f.n = int(binary.BigEndian.Uint16(b[f.lead:]))
	f.size = fpduLen(f.n)
	if markers {
		f.size += markerSize * markersIn(off, f.size)
	}
	return f, true
}

// ulpdu returns the ULPDU of the FPDU b. If there are Markers they are squeezed out in place, which
// makes b unusable for everything else. The result aliases b.
func (f fpdu) ulpdu(b []byte, markers bool) []byte {
	if markers {
		f.squeeze(b)
	}
	// "MPA Receivers MUST pass the ULPDU data and the ULPDU Length to DDP and not the Markers,
	// headers, and CRC." (RFC 5044 §4.3)
	begin := f.lead + lengthLen
	end := begin + f.n
	return b[begin:end:end]
}
