package mpa

import "encoding/binary"

// A Marker stands in the stream at every offset that is a multiple of markerInterval:
//
//	+---------------+---------------+
//	| RESERVED = 0  | FPDUPTR       |
//	+---------------+---------------+
//
// It belongs to the FPDU around it, and FPDUPTR is the distance in octets from there back to that
// FPDU's ULPDU_Length. So whoever has lost the thread finds an FPDU at the next Marker.
//
// "An FPDUPTR value of 0x0000 is a special case -- it is used when the Marker falls exactly between
// FPDUs" (RFC 5044 §4.3). Such a Marker belongs to the FPDU behind it. Hence an FPDU that ends at a
// multiple of 512 has no Marker at its end; the next FPDU, once there is one, begins with it.
//
// All FPDUs begin at a multiple of 4 and have a multiple of 4 octets. So a Marker can stand before
// and behind, but never in, an ULPDU_Length or a CRC.
const (
	markerInterval = 512 // octets from one Marker to the next
	markerSize     = 4   // octets of a Marker

	betweenMarkers = markerInterval - markerSize
)

// toMarker returns how many octets behind off the next Marker stands; 0 if it is at off.
// "Markers are inserted such that the first octet of the Marker is at octet sequence number SeqNum if
// the remainder of (SeqNum - SeqStart) mod 512 is zero. Note that SeqNum can wrap." (RFC 5044 §4.3)
func toMarker(off uint64) int { return int(-off % markerInterval) }

// markersIn returns how many Markers an FPDU has that begins at off and has n octets besides them.
func markersIn(off uint64, n int) int {
	first := toMarker(off)
	if n <= first {
		return 0
	}
	return 1 + (n-first-1)/betweenMarkers
}

// putMarker writes the Marker that stands distance octets behind its FPDU's ULPDU_Length.
func putMarker(b []byte, distance int) {
	// "The Reserved field MUST be set to zero on transmit" (RFC 5044 §4.2)
	binary.BigEndian.PutUint32(b, uint32(distance))
}

// fpduptr reads a Marker.
// "The least significant two bits MUST always be set to zero at the transmitter, and the receivers
// MUST always treat these as zero for calculations." (RFC 5044 §4.2)
func fpduptr(b []byte) int { return int(binary.BigEndian.Uint16(b[2:]) &^ 3) }

// badMarker returns the place in the FPDU b of the first Marker that does not point to its
// ULPDU_Length, and where it should point. ok is false when they all do.
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

// squeeze moves what stands between the Markers of the FPDU b together, from ULPDU_Length to the pad.
func (f fpdu) squeeze(b []byte) {
	to := f.lead + toMarker(f.off+uint64(f.lead)) // the first Marker behind ULPDU_Length
	end := f.size - crcLen
	for from := to; from < end; from += markerInterval {
		to += copy(b[to:], b[from+markerSize:min(from+markerInterval, end)])
	}
}

// locate finds an FPDU in a run of the stream that begins anywhere, at offset off: the first whose
// beginning a Marker in the run shows and that begins in the run.
// "a Marker can always be used to locate the beginning of an FPDU" (RFC 5044 §6)
func locate(run []byte, off uint64) (at int, ok bool) {
	for marker := toMarker(off); marker+markerSize <= len(run); marker += markerInterval {
		at = marker - fpduptr(run[marker:])
		if toMarker(off+uint64(at)) == betweenMarkers {
			at -= markerSize // it begins with the Marker in front of its ULPDU_Length
		}
		if at >= 0 {
			return at, true
		}
	}
	return 0, false
}
