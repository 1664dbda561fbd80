package mpa

import (
	"fmt"
)

const (
	maxBufs = 1024    // entries of one vectored write
	fullLen = 1 << 20 // bytes; a longer write is no faster

	// byReference is the length in bytes from which Append refers to a piece of payload. Append
	// copies shorter pieces: a copy is then cheaper than one more entry in the vector.
	byReference = 8 << 10

	// bufsPerFPDU is the maximum number of entries that one FPDU adds: the pieces referred to, and
	// the scratch before, between and after them.
	bufsPerFPDU = 2*(MaxULPDU/byReference) + 2

	// scratchPerBuf is the number of bytes of scratch, beyond MinBuffer, for which the vector gets
	// one more entry.
	scratchPerBuf = 256
)

// A Batch holds FPDUs for one vectored write. It copies headers, Markers, pads, CRCs and short
// payload to memory of its own. Long payload stays in the memory of the caller of [Sender.Append],
// who must not change it until Reset. Only one goroutine at a time may use a Batch. A pool of
// Batches saves memory and allocations.
type Batch struct {
	// Apart makes each FPDU one entry of the vector, for a TCP that ends its segments where entries
	// end. Append then copies all payload. Otherwise an entry may hold many FPDUs, and an FPDU may
	// have many entries. Change Apart only while the Batch is empty.
	// "MPA transmitters SHOULD also use whatever facilities the TCP stack presents to cause the TCP
	// transmitter to start TCP segments at FPDU boundaries." (RFC 5044 §5.1)
	Apart bool

	scratch []byte   // allocated once and never moved, because bufs point into it
	used    int      // scratch[:used] holds data
	joined  int      // scratch[:joined] is in bufs; scratch[joined:used] is not yet
	bufs    [][]byte // never grows beyond its capacity
	refs    int      // bytes of payload referred to
	taken   int      // Take has taken bufs[:taken]
}

// NewBatch returns an empty Batch with n bytes of memory of its own. n must be at least MinBuffer.
// A Batch of MinBuffer bytes is full after its first long FPDU. More than 512 KiB gains nothing.
func NewBatch(n int) *Batch {
	if n < MinBuffer {
		panic(fmt.Sprintf("BUG: Batch of %d bytes, the least is %d", n, MinBuffer))
	}
	bufs := min(2*bufsPerFPDU+(n-MinBuffer)/scratchPerBuf, maxBufs)
	return &Batch{scratch: make([]byte, n), bufs: make([][]byte, 0, bufs)}
}

// Bufs returns the bytes of the Batch as a vector, in order, without those that Take has taken. The
// vector is valid until the next call of Take, Detach or Reset. The caller may change the vector,
// as net.Buffers.WriteTo does, but then must not use the Batch before Reset.
func (b *Batch) Bufs() [][]byte {
	b.join()
	return b.bufs[b.taken:]
}

// Take takes the first n bytes of Bufs, which have been written. The Batch must not be appended to
// until Reset. Take panics if Bufs has fewer bytes.
func (b *Batch) Take(n int) {
	left := b.Bufs()
	for len(left) > 0 && n >= len(left[0]) {
		n -= len(left[0])
		left = left[1:]
		b.taken++
	}
	if n > 0 {
		left[0] = left[0][n:]
	}
}

// Detach copies the payload that the Batch refers to and that Take has not taken, so that all
// payload belongs to its owner again. If Spare was never exceeded, Detach allocates nothing.
func (b *Batch) Detach() {
	if b.refs == 0 {
		return // and a goroutine may be looking at Bufs
	}
	left, n := b.Bufs(), 0
	for _, p := range left {
		n += len(p)
	}
	if n == 0 {
		return
	}
	var rest []byte
	if n <= len(b.scratch)-b.used {
		rest = b.room(n)[:0]
		b.joined = b.used
	} else {
		rest = make([]byte, 0, n)
	}
	for _, p := range left {
		rest = append(rest, p...)
	}
	b.taken = 0
	clear(b.bufs)
	b.bufs = append(b.bufs[:0], rest)
	b.refs = 0
}

// Spare returns how long the payload of a ULPDU may be at most so that Detach allocates nothing
// when Append has referred to that payload. The ULPDU has one piece of payload, and a header of at
// most 32 bytes.
func (b *Batch) Spare() int { return len(b.scratch) - 2*(b.used+spareOverhead) - b.refs }

// spareOverhead is the maximum number of bytes of such a ULPDU's FPDU that Append copies.
const spareOverhead = lengthLen + 32 + 3 + crcLen

// Len returns the number of bytes in the Batch.
func (b *Batch) Len() int { return b.used + b.refs }

// Full reports whether the caller must write and Reset the Batch before the next Append.
func (b *Batch) Full() bool {
	return len(b.scratch)-b.used < maxSent || len(b.bufs)+bufsPerFPDU > cap(b.bufs) || b.Len() >= fullLen
}

// Reset empties the Batch and drops its references to payload.
func (b *Batch) Reset() {
	if len(b.bufs) == 1 { // for a short message, this is cheaper than calling clear
		b.bufs[0] = nil
	} else {
		clear(b.bufs)
	}
	b.bufs = b.bufs[:0]
	b.used, b.joined, b.refs, b.taken = 0, 0, 0, 0
}

// room reserves n bytes of scratch and returns them for the caller to write.
func (b *Batch) room(n int) []byte {
	p := b.scratch[b.used : b.used+n]
	b.used += n
	return p
}

// isNext reports whether p lies where the next byte goes.
func (b *Batch) isNext(p []byte) bool {
	return len(p) > 0 && b.used < len(b.scratch) && &p[0] == &b.scratch[b.used]
}

// refer adds p without copying it.
func (b *Batch) refer(p []byte) {
	b.join()
	b.bufs = append(b.bufs, p)
	b.refs += len(p)
}

// join adds the scratch written since the last call to bufs, as one entry.
func (b *Batch) join() {
	if b.joined < b.used {
		b.bufs = append(b.bufs, b.scratch[b.joined:b.used])
		b.joined = b.used
	}
}
