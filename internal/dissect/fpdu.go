package dissect

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Lengths in the stream, in bytes (RFC 5044 §4). They are repeated here because the framer must be
// independent of package mpa.
const (
	lengthLen      = 2   // the ULPDU_Length field
	crcLen         = 4   // the CRC field
	markerSize     = 4   // a Marker
	markerInterval = 512 // from one Marker to the next
)

// fpduLen returns the length of an FPDU with a ULPDU of n bytes, without Markers: the PAD makes
// ULPDU_Length, ULPDU and PAD a multiple of 4 (RFC 5044 §4.1).
func fpduLen(n int) int { return (lengthLen+n+3)&^3 + crcLen }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// framed is one FPDU of a stream.
type framed struct {
	size    int    // octets that it takes in the stream, with markers
	ulpdu   []byte // without markers; aliases the stream or the framer's scratch
	markers int
	crcGood bool   // over everything before the CRC field, markers included
	padSet  bool   // a pad octet is not zero
	fault   string // a marker that does not point to this FPDU; "" if there is none
}

// framer cuts one direction of a connection into FPDUs.
//
// It is not an mpa.Receiver, because a receiver stops at the first error, while a framer reports
// the error and continues. It is also an independent check of the same stream: a test compares the
// two.
type framer struct {
	markers bool   // this direction carries markers
	off     uint64 // stream offset of the next FPDU; the first octet after startup has offset 0
	scratch []byte
}

// next takes the FPDU at the beginning of b. ok is false if b doesn't hold all of it.
func (f *framer) next(b []byte) (p framed, ok bool) {
	size, ok := f.size(b)
	if !ok || len(b) < size {
		return framed{}, false
	}
	b = b[:size]
	p.size = size
	// "All MPA Markers are included in the containing FPDU CRC calculation" (RFC 5044 §4.3)
	p.crcGood = crc32.Checksum(b[:size-crcLen], castagnoli) == binary.LittleEndian.Uint32(b[size-crcLen:])
	body := b[:size-crcLen]
	if f.markers {
		body = f.squeeze(&p, body)
	}
	end := lengthLen + int(binary.BigEndian.Uint16(body))
	p.ulpdu = body[lengthLen:end]
	for _, pad := range body[end:] {
		p.padSet = p.padSet || pad != 0
	}
	f.off += uint64(size)
	return p, true
}

// size returns the length of the FPDU at the beginning of b in octets. ok is false if b is too
// short to tell.
func (f *framer) size(b []byte) (size int, ok bool) {
	header := 0 // place of ULPDU_Length
	if f.markers && f.off%markerInterval == 0 {
		header = markerSize
	}
	if len(b) < header+lengthLen {
		return 0, false
	}
	plain := fpduLen(int(binary.BigEndian.Uint16(b[header:])))
	if !f.markers {
		return plain, true
	}
	// Between two markers there are 508 octets of FPDUs. A marker directly after this FPDU belongs
	// to the next one.
	first := int(-f.off % markerInterval) // octets before the first marker
	if plain <= first {
		return plain, true
	}
	count := 1 + (plain-first-1)/(markerInterval-markerSize)
	return plain + count*markerSize, true
}

// squeeze copies b without its markers to the scratch, and checks each FPDUPTR.
func (f *framer) squeeze(p *framed, b []byte) []byte {
	f.scratch = f.scratch[:0]
	header := 0 // place of ULPDU_Length: FPDUPTRs count from there
	for at := 0; at < len(b); {
		pos := f.off + uint64(at)
		if pos%markerInterval == 0 {
			if at == 0 {
				header = markerSize
			}
			want := max(at-header, 0)
			if got := int(binary.BigEndian.Uint16(b[at+2:]) &^ 3); got != want && p.fault == "" {
				p.fault = fmt.Sprintf("marker at stream offset %d has FPDUPTR %d, want %d", pos, got, want)
			}
			p.markers++
			at += markerSize
			continue
		}
		end := min(len(b), at+int(-pos%markerInterval))
		f.scratch = append(f.scratch, b[at:end]...)
		at = end
	}
	return f.scratch
}
