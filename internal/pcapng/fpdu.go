package pcapng

import "encoding/binary"

// MarkerInterval is the number of octets from one Marker to the next (RFC 5044 §4.3).
const MarkerInterval = 512

const markerSize = 4

// FPDULen returns the length in octets of the FPDU at the beginning of b. ok is false if b is too
// short to tell. off is the FPDU's offset in the stream, which matters only if there are Markers.
func FPDULen(b []byte, off uint64, markers bool) (size int, ok bool) {
	header := 0 // place of ULPDU_Length
	if markers && off%MarkerInterval == 0 {
		header = markerSize
	}
	if len(b) < header+2 {
		return 0, false
	}
	// The PAD makes ULPDU_Length, ULPDU and PAD a multiple of 4 (RFC 5044 §4.1). The CRC follows.
	plain := (2+int(binary.BigEndian.Uint16(b[header:]))+3)&^3 + 4
	if !markers {
		return plain, true
	}
	// Between two Markers there are 508 octets of FPDUs. A Marker directly after this FPDU belongs
	// to the next one.
	first := int(-off % MarkerInterval) // octets before the first Marker
	if plain <= first {
		return plain, true
	}
	count := 1 + (plain-first-1)/(MarkerInterval-markerSize)
	return plain + count*markerSize, true
}
