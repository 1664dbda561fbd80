package mpa

import (
	"encoding/binary"
	"fmt"
)

// A Sender makes FPDUs from ULPDUs, for one direction of a connection. Only one goroutine at a time
// may use a Sender.
type Sender struct {
	crc, markers bool
	off          uint64 // stream offset of the next byte

	// These fields belong to the FPDU that Append is building.
	header uint64 // stream offset of its ULPDU_Length
	sum    uint32 // CRC of its bytes up to scratch[summed]
	summed int
}

// NewSender returns a Sender for the direction that leaves this end, at stream offset 0. It uses
// a.CRC and a.TxMarkers.
func NewSender(a Agreement) *Sender { return &Sender{crc: a.CRC, markers: a.TxMarkers} }

// Off returns the stream offset after the last FPDU, which is the number of bytes appended so far.
func (s *Sender) Off() uint64 { return s.off }

// Append adds one FPDU to b. The ULPDU is header followed by the pieces of payload; it has 1 to
// MaxULPDU bytes. b must not be full.
//
// Append copies header and the pieces shorter than 8 KiB. It refers to longer pieces without
// copying them, and the caller must not change those pieces until b is Reset. If snapshot is set,
// Markers are sent, or the FPDUs are set apart, Append copies all pieces, except one that lies in
// its place already: see Place. The CRC covers exactly the bytes that will be written: if Append
// copies a piece, it computes the CRC from the copy.
func (s *Sender) Append(b *Batch, snapshot bool, header []byte, payload ...[]byte) {
	n := len(header)
	for _, p := range payload {
		n += len(p)
	}
	// "The sending DDP MUST NOT post a ULPDU larger than 64768 octets to MPA." (RFC 5044 §3)
	if n < 1 || n > MaxULPDU {
		panic(fmt.Sprintf("BUG: ULPDU of %d bytes", n))
	}
	if b.Full() {
		panic("BUG: Append to a full Batch")
	}
	s.begin(b, n)
	s.copy(b, header)
	for _, p := range payload {
		switch {
		case !snapshot && s.Refers(b, len(p)):
			s.refer(b, p)
		case b.isNext(p):
			b.used += len(p)
			s.off += uint64(len(p))
		default:
			s.copy(b, p)
		}
	}
	s.end(b, n)
}

// Refers reports whether Append, without snapshot, makes b refer to a piece of n bytes. It copies
// others.
func (s *Sender) Refers(b *Batch, n int) bool { return n >= byReference && !s.markers && !b.Apart }

// Place returns the memory to which Append would copy n bytes of payload behind a header of the
// given length, with snapshot set. So a caller can put the payload there. With Markers, which go
// between the bytes, Place returns nil. b must not be full, and header and n together must not be
// longer than MaxULPDU.
func (s *Sender) Place(b *Batch, header, n int) []byte {
	if s.markers {
		return nil
	}
	at := b.used + lengthLen + header
	return b.scratch[at : at+n : at+n]
}

// begin writes ULPDU_Length, and before it a Marker if one is due.
// "the first octets sent are the special Marker 0x00000000, followed by the start of the FPDU" (RFC
// 5044 §7.1.2)
func (s *Sender) begin(b *Batch, n int) {
	s.sum, s.summed = 0, b.used
	s.header = s.off
	if s.markers && toMarker(s.off) == 0 {
		s.header += markerSize
	}
	s.marker(b)
	binary.BigEndian.PutUint16(b.room(lengthLen), uint16(n))
	s.off += lengthLen
}

// copy copies p to the Batch and inserts the Markers that are due.
func (s *Sender) copy(b *Batch, p []byte) {
	if s.crc && !s.markers && len(p) >= copiedWithCRC {
		s.sumScratch(b)
		s.sum = copyWithCRC(s.sum, b.room(len(p)), p)
		s.summed = b.used
		s.off += uint64(len(p))
		return
	}
	for s.markers && len(p) > 0 {
		s.marker(b)
		n := min(len(p), toMarker(s.off))
		copy(b.room(n), p)
		s.off += uint64(n)
		p = p[n:]
	}
	copy(b.room(len(p)), p)
	s.off += uint64(len(p))
}

// refer adds p to the Batch without copying it. The Sender must not send Markers.
func (s *Sender) refer(b *Batch, p []byte) {
	s.sumScratch(b)
	if s.crc {
		s.sum = updateCRCOfPayload(s.sum, p)
	}
	b.refer(p)
	s.off += uint64(len(p))
}

// marker writes a Marker if one is due.
// "When Markers are enabled, MPA senders MUST insert a Marker into the data stream at a 512-octet
// periodic interval in the TCP Sequence Number Space." (RFC 5044 §4.3)
func (s *Sender) marker(b *Batch) {
	if !s.markers || toMarker(s.off) != 0 {
		return
	}
	distance := 0 // before ULPDU_Length: the Marker "falls exactly between FPDUs"
	if s.off > s.header {
		distance = int(s.off - s.header)
	}
	putMarker(b.room(markerSize), distance)
	s.off += markerSize
}

// end writes the pad and the CRC of a ULPDU of n bytes.
func (s *Sender) end(b *Batch, n int) {
	var zero [3]byte
	// "The pad data MUST be set to zero by the sender" (RFC 5044 §4.1)
	if pad := padLen(n); pad > 0 {
		s.copy(b, zero[:pad])
	}
	// "If there is a Marker immediately following the PAD, the Marker is included in the CRC
	// calculation for this FPDU." (RFC 5044 §4.4)
	s.marker(b)
	s.sumScratch(b)
	// Without CRC the sum is 0. "When sending an FPDU, the sender MUST include a CRC field."
	// (RFC 5044 §4.4)
	putCRC(b.room(crcLen), s.sum)
	s.off += crcLen
	if b.Apart {
		b.join()
	}
}

// sumScratch updates the CRC with the scratch written since the last call.
func (s *Sender) sumScratch(b *Batch) {
	if s.crc {
		s.sum = updateCRC(s.sum, b.scratch[s.summed:b.used])
	}
	s.summed = b.used
}
