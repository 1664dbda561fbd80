package usertcp

import "io"

// A batch holds the rest of a batch of slices, which gVisor reads piece by piece. Each piece
// becomes one TCP segment, if it is not longer than the EMSS.
type batch struct {
	bufs [][]byte // bufs[0][from:] is the first byte not read
	from int
	emss int
	n    int // bytes left of the piece
}

// set makes b the batch bufs. A batch with a slice longer than emss is one piece.
func (b *batch) set(bufs [][]byte, emss int) {
	*b = batch{bufs: bufs, emss: emss}
	for _, p := range bufs {
		if len(p) > emss {
			b.emss = 0
		}
	}
}

// next advances to the next piece, and reports whether there is one. The last piece must have been
// read.
func (b *batch) next() bool {
	b.n = 0
	for i, p := range b.bufs {
		n := len(p)
		if i == 0 {
			n -= b.from
		}
		if b.emss > 0 && b.n+n > b.emss {
			break
		}
		b.n += n
	}
	return b.n > 0
}

// Len returns the number of bytes left of the piece.
func (b *batch) Len() int { return b.n }

// Read reads from the piece.
func (b *batch) Read(p []byte) (n int, err error) {
	if b.n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), b.n)]
	for n < len(p) {
		m := copy(p[n:], b.bufs[0][b.from:])
		n += m
		b.from += m
		if b.from == len(b.bufs[0]) {
			b.bufs, b.from = b.bufs[1:], 0
		}
	}
	b.n -= n
	return n, nil
}
