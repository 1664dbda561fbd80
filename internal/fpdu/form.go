package fpdu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rddp/rddp/mpa"
)

// A Form says how the FPDUs of one direction look between MPA and what is below MPA. With TCP below
// it, that is FormFPDU. An offload engine may do a part of MPA's work.
type Form uint8

const (
	// FormFPDU is the form of RFC 5044: whole FPDUs. The zero value.
	FormFPDU Form = iota
	// FormUnsummed leaves the CRC to the engine. The CRC field of an FPDU that is sent is 0. The
	// CRC of an FPDU that arrives has been verified.
	FormUnsummed
	// FormULPDU leaves Markers, PAD and CRC to the engine. What is left of an FPDU is its
	// ULPDU_Length and the ULPDU. Offsets still count the bytes of the stream.
	FormULPDU
)

// SetForm sets the form of the FPDUs that Append makes from now on. The caller must not have
// FPDUs of another form in the same Batch.
func (s *Sender) SetForm(f Form) { s.form = f }

// Form returns the form of the FPDUs that Append makes.
func (s *Sender) Form() Form { return s.form }

// appendULPDU is Append in FormULPDU. The ULPDU has n bytes.
func (s *Sender) appendULPDU(b *Batch, snapshot bool, n int, header []byte, payload [][]byte) {
	binary.BigEndian.PutUint16(b.room(lengthLen), uint16(n))
	copy(b.room(len(header)), header)
	for _, p := range payload {
		if len(p) >= byReference && !snapshot {
			b.refer(p)
		} else {
			copy(b.room(len(p)), p)
		}
	}
	s.off += uint64(Len(s.off, n, s.markers))
}

// Revert is for an engine that has stopped. It replaces what is left of b by what TCP still has to
// get, and sets the form to FormFPDU. off is the stream offset below which TCP has got every byte:
// the engine states it, because it may have stopped in the middle of a Marker, a PAD or a CRC.
// Revert copies the payload to memory that it allocates. It reports false, and has changed nothing
// but the form, if off lies outside the FPDUs of b.
func (s *Sender) Revert(b *Batch, off uint64) (ok bool) {
	s.form = FormFPDU
	if b.Len() == 0 {
		b.start = s.off // b may have been another Sender's
	}
	if off < b.start || off > s.off {
		return false
	}
	w := Sender{crc: s.crc, markers: s.markers, off: b.start}
	one := NewBatch(MinBuffer)
	var rest []byte
	for bytes := slices.Concat(b.whole()...); len(bytes) > 0; {
		begin := w.off
		var fpdu []byte
		fpdu, bytes = w.finish(one, b.form, bytes)
		if off < w.off {
			rest = append(rest, fpdu[max(off, begin)-begin:]...)
		}
	}
	b.replace(rest)
	b.form = FormFPDU
	return true
}

// finish makes a whole FPDU of the first one in bytes, which has the form f, and returns it and the
// rest of bytes. The FPDU is valid until the next call.
func (s *Sender) finish(one *Batch, f Form, bytes []byte) (fpdu, rest []byte) {
	if f == FormULPDU {
		n := lengthLen + int(binary.BigEndian.Uint16(bytes))
		one.Reset()
		s.Append(one, true, bytes[lengthLen:n])
		return one.Bufs()[0], bytes[n:]
	}
	h, _ := parseFPDU(bytes, s.off, s.markers)
	fpdu = bytes[:h.size]
	if body := h.size - crcLen; s.crc {
		putCRC(fpdu[body:], updateCRC(0, fpdu[:body]))
	}
	s.off += uint64(h.size)
	return fpdu, bytes[h.size:]
}

// SetForm sets the form of the FPDUs that Fill gets from now on. In FormUnsummed and FormULPDU the
// runs of Fill hold whole FPDUs in order. SetForm panics if the buffer holds the beginning of an
// FPDU.
//
// When the form becomes FormFPDU, because the engine has stopped, the next run begins at Edge or
// below it.
func (r *Receiver) SetForm(f Form) {
	r.early.drop()
	if r.r != r.w {
		panic(fmt.Sprintf("BUG: SetForm with %d bytes of an FPDU", r.w-r.r))
	}
	r.form = f
}

// Form returns the form of the FPDUs that Fill gets.
func (r *Receiver) Form() Form { return r.form }

// fillULPDUs is Fill in FormULPDU.
func (r *Receiver) fillULPDUs(off uint64, n int) {
	r.stepOver()
	if off != r.off || r.r != r.w {
		r.fail(&mpa.Error{Code: mpa.CodeFrame, Reason: fmt.Sprintf("the engine goes on at stream offset %d, not at %d", off, r.off)})
		return
	}
	r.w += n
}

// nextULPDU is nextInOrder in FormULPDU.
func (r *Receiver) nextULPDU() bool {
	r.stepOver()
	b := r.buf[r.r:r.w]
	if len(b) < lengthLen {
		return false
	}
	n := int(binary.BigEndian.Uint16(b))
	off, size := r.off, Len(r.off, n, r.markers)
	if len(b) < lengthLen+n || !r.agreesWithShown(size) {
		return false
	}
	r.r += lengthLen + n
	r.off += uint64(size)
	r.ulpdu = ULPDU{Off: off, Size: size, Data: b[lengthLen : lengthLen+n : lengthLen+n]}
	return true
}

// Placed records that DDP places the ULPDU of the FPDU at stream offset off for an engine. size is
// the length in bytes of the FPDU. Next skips the FPDU when its turn comes: in FormULPDU the FPDU
// does not arrive, and in the other forms it arrives again. Placed reports false if the Receiver
// can't record the FPDU, because too many are recorded or because Next has passed it.
//
// The caller calls Placed first, then has DDP place the ULPDU, and calls Forget if DDP refuses.
func (r *Receiver) Placed(off uint64, size int) bool {
	r.early.drop()
	return r.err == nil && off >= r.off && size > 0 && r.early.remember(span{start: off, end: off + uint64(size)})
}

// Forget takes back Placed.
func (r *Receiver) Forget(off uint64) { r.early.forget(off) }
