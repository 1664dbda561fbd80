package mpa

import "encoding/binary"

// A Marker is in the stream at every offset that is a multiple of markerInterval:
//
//	+---------------+---------------+
//	| RESERVED = 0  | FPDUPTR       |
//	+---------------+---------------+
//
// A Marker belongs to the FPDU around it. FPDUPTR is the distance in octets from the Marker back to
// that FPDU's ULPDU_Length. So a receiver that has lost the FPDU boundaries finds an FPDU at the
// next Marker.
//
// "An FPDUPTR value of 0x0000 is a special case -- it is used when the Marker falls exactly between
// FPDUs" (RFC 5044 §4.3). Such a Marker belongs to the FPDU after it. Hence an FPDU that ends at a
// multiple of 512 has no Marker at its end. The next FPDU, once there is one, begins with that
// Marker.
//
// All FPDUs begin at a multiple of 4, and their length is a multiple of 4 octets. So a Marker can
// be before or after an ULPDU_Length or a CRC, but never inside one.
const (
	markerInterval = 512 // bytes from one Marker to the next
	markerSize     = 4   // bytes of a Marker

	betweenMarkers = markerInterval - markerSize
)

// toMarker returns the distance in bytes from off to the next Marker; 0 if there is a Marker at
// off. "Markers are inserted such that the first octet of the Marker is at octet sequence number
// SeqNum if the remainder of (SeqNum - SeqStart) mod 512 is zero. Note that SeqNum can wrap." (RFC
// 5044 §4.3)
func toMarker(off uint64) int { return int(-off % markerInterval) }

// markersIn returns the number of Markers in an FPDU that begins at off and has n bytes besides
// them.
func markersIn(off uint64, n int) int {
	first := toMarker(off)
	if n <= first {
		return 0
	}
	return 1 + (n-first-1)/betweenMarkers
}

// putMarker writes the Marker that is distance bytes after its FPDU's ULPDU_Length.
func putMarker(b []byte, distance int) {
	// "The Reserved field MUST be set to zero on transmit" (RFC 5044 §4.2)
	binary.BigEndian.PutUint32(b, uint32(distance))
}

// fpduptr returns the FPDUPTR of the Marker b.
// "The least significant two bits MUST always be set to zero at the transmitter, and the receivers
// MUST always treat these as zero for calculations." (RFC 5044 §4.2)
func fpduptr(b []byte) int { return int(binary.BigEndian.Uint16(b[2:]) &^ 3) }

// badMarker returns the index in the FPDU b of the first Marker that does not point to the FPDU's
// ULPDU_Length, and the FPDUPTR that it should have. ok is false if all Markers are right.
// "If an FPDU is large enough to contain multiple Markers, they MUST all point to the same point in
// the TCP stream: the first octet of the ULPDU Length field" (RFC 5044 §4.3)
func (f fpdu) badMarker(b []byte) (at, want int, ok bool) {
	for at = toMarker(f.off); at < f.size; at += markerInterval {
		want = max(at-f.lead, 0)
		if fpduptr(b[at:]) != want {
			return at, want, true
		}
	}
	return 0, 0, false
}

// squeeze removes the Markers from the FPDU b: it moves the bytes between them together, from
// ULPDU_Length to the pad.
func (f fpdu) squeeze(b []byte) {
	to := f.lead + toMarker(f.off+uint64(f.lead)) // the first Marker after ULPDU_Length
	end := f.size - crcLen
	for from := to; from < end; from += markerInterval {
		to += copy(b[to:], b[from+markerSize:min(from+markerInterval, end)])
	}
}

// locate finds an FPDU in a run of the stream. The run may begin anywhere; its first byte is at
// offset off. locate returns the index of the first FPDU that begins in the run and to which a
// Marker in the run points.
// "a Marker can always be used to locate the beginning of an FPDU" (RFC 5044 §6)
func locate(run []byte, off uint64) (at int, ok bool) {
	for marker := toMarker(off); marker+markerSize <= len(run); marker += markerInterval {
		at = marker - fpduptr(run[marker:])
		if toMarker(off+uint64(at)) == betweenMarkers {
			at -= markerSize // the FPDU begins with the Marker in front of its ULPDU_Length
		}
		if at >= 0 {
			return at, true
		}
	}
	return 0, false
}
