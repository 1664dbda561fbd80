package mpa

import (
	"encoding/binary"
	"fmt"
	"io"
)

// MinBuffer is the minimum length in bytes of a Receiver's buffer and of the memory of a Batch. The
// longest FPDU fits.
const MinBuffer = maxReceived

// A ULPDU is one DDP segment that the peer's DDP passed to the peer's MPA.
type ULPDU struct {
	Off   uint64 // stream offset where its FPDU begins
	Size  int    // length of its FPDU in bytes
	Data  []byte // valid until the next call of Next, Free, Fill or SetBuffer
	Early bool   // it arrived after a gap in the stream
}

// A Receiver takes the bytes of one direction of a connection and returns the ULPDUs in them:
// verified, each once, and in order. Only one goroutine at a time may use a Receiver.
//
// If bytes arrive early, after a gap, the Receiver may return their ULPDUs early; see
// [Receiver.Fill].
type Receiver struct {
	// Destination returns the memory where the payload of a ULPDU will go, or nil. It may be set
	// before the first Fill. Next calls it with a long ULPDU that has not been verified, so the
	// function must neither change anything nor believe the ULPDU. The Receiver neither reads nor
	// writes that memory: it makes the CPU fetch the memory while it computes the CRC.
	Destination func(ulpdu []byte) []byte

	crc, markers bool
	noEarly      bool

	buf   []byte
	r, w  int    // buf[r:w] has arrived in order and Next has not passed it
	off   uint64 // stream offset of buf[r], where an FPDU begins
	ulpdu ULPDU
	err   *Error // the first error, which ends the direction; nil if there is none
	early early
}

// NewReceiver returns a Receiver for the direction that arrives at this end, at stream offset 0. It
// uses a.CRC and a.RxMarkers. The Receiver has no buffer until SetBuffer is called.
func NewReceiver(a Agreement) *Receiver { return &Receiver{crc: a.CRC, markers: a.RxMarkers} }

// SetBuffer lends buf to the Receiver instead of its current buffer. It copies the bytes that the
// Receiver still needs to buf, and returns the buffer that buf replaces, which is nil the first
// time.
//
// A buffer needs MinBuffer bytes before Free is called; 256 KiB to 1 MiB make reads efficient. A
// shorter buffer can replace it to keep the beginning of an FPDU while nobody reads. With a nil buf
// the Receiver has no buffer. SetBuffer panics if buf is too short for the bytes that the Receiver
// still needs (see Arrived for their number), or shorter than MinBuffer when there is no buffer to
// replace.
func (r *Receiver) SetBuffer(buf []byte) (before []byte) {
	n := r.w - r.r
	if len(buf) < n || r.buf == nil && buf != nil && len(buf) < MinBuffer {
		panic(fmt.Sprintf("BUG: SetBuffer(%d bytes), %d are needed", len(buf), n))
	}
	if n > 0 {
		copy(buf, r.buf[r.r:r.w])
	}
	before = r.buf
	r.buf, r.r, r.w = buf, 0, n
	r.early.drop()
	r.ulpdu = ULPDU{}
	return before
}

// Drop discards the buffer and all bytes in it. Nothing more may be read.
func (r *Receiver) Drop() {
	r.buf, r.r, r.w = nil, 0, 0
	r.early.drop()
	r.ulpdu = ULPDU{}
}

// Free returns the part of the buffer to read into. It is never empty if Next has returned false
// since the last Fill.
func (r *Receiver) Free() []byte {
	r.early.drop()
	if r.r == r.w {
		r.r, r.w = 0, 0
	} else if r.r > 0 && len(r.buf)-r.w < len(r.buf)/2 {
		// Move the unfinished FPDU to the front, where there is room for all of it.
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	}
	return r.buf[r.w:]
}

// Fill tells the Receiver that the caller has put n bytes of the stream, beginning at offset off,
// into Free()[:n]. The caller must then call Next until it returns false.
//
// Fill skips bytes that have arrived before. A run that begins after a gap is early. An early run
// is only a hint, because the same bytes arrive again in order. The Receiver uses the hint only if
// both Markers and CRC are on: Next then returns the whole, valid FPDUs of the run, each once, with
// ULPDU.Early set, and skips them when they arrive again in order. If another valid FPDU arrives in
// order in the place of one of them, the direction ends. Fill skips a run that begins more than 1
// GiB after what has arrived in order, because no TCP window is so large.
func (r *Receiver) Fill(off uint64, n int) {
	if n > len(r.buf)-r.w {
		panic(fmt.Sprintf("BUG: Fill of %d bytes where %d are free", n, len(r.buf)-r.w))
	}
	if r.err != nil {
		return
	}
	end := r.off + uint64(r.w-r.r)
	if off > end {
		if r.markers && r.crc && !r.noEarly && off-end <= maxWindow {
			r.early.begin(r.buf[r.w:r.w+n], off)
		}
		return
	}
	seen := end - off
	if seen >= uint64(n) {
		return
	}
	if seen > 0 {
		copy(r.buf[r.w:], r.buf[r.w+int(seen):r.w+n])
	}
	r.w += n - int(seen)
}

// IgnoreEarly makes Fill skip early runs.
func (r *Receiver) IgnoreEarly() { r.noEarly = true }

// Arrived returns the bytes that have arrived in order and that Next has not passed. The first byte
// of b begins an FPDU. The first whole bytes of b are complete FPDUs, judged by their lengths
// alone; Arrived verifies nothing. Called after each Fill, Arrived shows which FPDUs that Fill has
// completed. b is valid until the next call of Next, Free or SetBuffer.
func (r *Receiver) Arrived() (b []byte, whole int) {
	b = r.buf[r.r:r.w]
	for {
		f, ok := parseFPDU(b[whole:], r.off+uint64(whole), r.markers)
		if !ok || len(b)-whole < f.size {
			return b, whole
		}
		whole += f.size
	}
}

// HasRest reports whether Arrived would return any bytes.
func (r *Receiver) HasRest() bool { return r.r < r.w }

// Next advances to the next ULPDU and reports whether there is one. If Next returns false and Err
// returns nil, the caller must read more. Even then Edge may have moved, because Next skips ULPDUs
// that it has returned early.
func (r *Receiver) Next() bool {
	// "Once MPA delivers an error of any type, it MUST NOT pass or deliver any additional FPDUs on
	// that half connection." (RFC 5044 §8)
	if r.err != nil {
		return false
	}
	if !r.HasRest() && len(r.early.run) == 0 {
		return false
	}
	return r.nextInOrder() || r.nextEarly()
}

// nextInOrder consumes the next FPDU in buf[r:w].
// "the ULPDU Length field in the current FPDU when FPDU has a valid CRC, can be used to identify
// the beginning of the next FPDU" (RFC 5044 §6)
func (r *Receiver) nextInOrder() bool {
	if !r.stepOver() {
		return false
	}
	b := r.buf[r.r:r.w]
	f, ok := parseFPDU(b, r.off, r.markers)
	// "The ULPDU Length field (see Section 4) MUST be used to determine if the entire FPDU is
	// present before forwarding the ULPDU to DDP." (RFC 5044 §6)
	if !ok || len(b) < f.size {
		return false
	}
	b = b[:f.size]
	if err := r.verify(f, b); err != nil {
		r.fail(err)
		return false
	}
	if !r.agreesWithShown(f.size) {
		return false
	}
	r.consume(f.size)
	r.ulpdu = ULPDU{Off: f.off, Size: f.size, Data: f.ulpdu(b, r.markers)}
	return true
}

// agreesWithShown reports whether no FPDU that was shown before its turn begins inside the one of
// size bytes at off. If one does, the direction ends.
func (r *Receiver) agreesWithShown(size int) bool {
	shown, ok := r.early.startsBefore(r.off + uint64(size))
	if ok {
		// "the check SHOULD be made when a gap creating an out-of-order sequence is closed and any
		// time a Marker points to an already identified FPDU" (RFC 5044 §8)
		reason := fmt.Sprintf("a Marker has shown an FPDU at %d, inside it", shown)
		r.fail(&Error{Code: CodeMarker, Off: r.off, Reason: reason})
	}
	return !ok
}

// stepOver consumes the FPDUs at the front of buf[r:w] that Next has returned early. It returns
// false if such an FPDU has not completely arrived in order, or if another FPDU has arrived in its
// place.
func (r *Receiver) stepOver() bool {
	for {
		s, ok := r.early.shownAt(r.off)
		if !ok {
			return true
		}
		n := s.size()
		if n > r.w-r.r {
			return false
		}
		if r.contradicts(s) {
			reason := fmt.Sprintf("an FPDU with the CRC %08x has been shown in its place", s.sum)
			r.fail(&Error{Code: CodeCRC, Off: r.off, Reason: reason})
			return false
		}
		r.early.forget(r.off)
		r.consume(n)
	}
}

// verify checks the CRC of the FPDU b, then its Markers.
func (r *Receiver) verify(f fpdu, b []byte) *Error {
	if r.crc {
		// "Verify that the calculated CRC-32c value is the same as the received CRC-32c value found
		// in the FPDU CRC field. If not, the receiver MUST treat the FPDU as an invalid FPDU." (RFC
		// 5044 §4.4)
		body := f.size - crcLen
		if got, want := getCRC(b[body:]), r.sum(f, b[:body]); got != want {
			return &Error{Code: CodeCRC, Off: f.off, Reason: fmt.Sprintf("received %08x, calculated %08x", got, want)}
		}
	}
	if r.markers {
		// "In the event that the CRC is valid, received MPA Marker (if enabled) and ULPDU Length
		// fields do not agree on the start of an FPDU." (RFC 5044 §8)
		if at, want, ok := f.badMarker(b); ok {
			reason := fmt.Sprintf("Marker at %d has FPDUPTR %d, want %d", f.off+uint64(at), fpduptr(b[at:]), want)
			return &Error{Code: CodeMarker, Off: f.off, Reason: reason}
		}
	}
	return nil
}

// sum returns the CRC of b, the FPDU f without its CRC field.
func (r *Receiver) sum(f fpdu, b []byte) uint32 {
	if r.markers || r.Destination == nil || len(b) < aheadFrom {
		return updateCRC(0, b)
	}
	return updateCRCAhead(0, b, r.Destination(f.ulpdu(b, false)))
}

// consume advances by n bytes.
func (r *Receiver) consume(n int) {
	r.r += n
	r.off += uint64(n)
}

// fail ends the direction and drops all bytes in the buffer, in order and early.
func (r *Receiver) fail(err *Error) {
	r.err = err
	r.r = r.w
	r.early.drop()
}

// ULPDU returns the ULPDU that Next has advanced to. It is valid until the next call of Next.
func (r *Receiver) ULPDU() *ULPDU { return &r.ulpdu }

// Unread makes Next return the current ULPDU again when it arrives in order. The current ULPDU must
// be an early one.
func (r *Receiver) Unread() {
	if !r.ulpdu.Early {
		panic("BUG: Unread of a ULPDU that is not early")
	}
	r.early.forget(r.ulpdu.Off)
}

// Edge returns the stream offset below which Next has verified and returned every FPDU: "complete
// (Delivered to DDP)" (RFC 5044 §3).
func (r *Receiver) Edge() uint64 { return r.off }

// Err returns the *Error that ended the direction, or nil if none did.
func (r *Receiver) Err() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// EOF returns what a FIN at this point of the stream means. If an *Error has ended the direction
// already, EOF returns that error. Otherwise it returns an *Error with CodeClosed, which is
// graceful if no FPDU is unfinished.
// "A mechanism SHOULD be provided by MPA to DDP for DDP to be made aware that a graceful close of
// the TCP connection has been received by the TCP" (RFC 5044 §7.2)
func (r *Receiver) EOF() error {
	if r.err != nil {
		return r.err
	}
	e := &Error{Code: CodeClosed, Off: r.off}
	if n := r.w - r.r; n > 0 {
		e.Reason = fmt.Sprintf("%d bytes into the FPDU at stream offset %d", n, r.off)
		e.Err = io.ErrUnexpectedEOF
		return e
	}
	e.Reason = fmt.Sprintf("between FPDUs, at stream offset %d", r.off)
	e.Err, e.Graceful = io.EOF, true
	return e
}

// parseFPDU reads the length of the FPDU that begins with b[0], at stream offset off. ok is false
// if b is too short to contain the length.
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

// ulpdu returns the ULPDU of the FPDU b. The result aliases b. If there are Markers, ulpdu removes
// them in place; b is then no longer a valid FPDU.
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

// shownAt returns the span of the FPDU at off, if that FPDU has been shown.
func (e *early) shownAt(off uint64) (s span, ok bool) {
	if len(e.shown) == 0 {
		return span{}, false
	}
	i, ok := e.search(off)
	if !ok {
		return span{}, false
	}
	return e.shown[i], true
}
