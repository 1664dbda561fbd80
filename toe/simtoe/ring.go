package simtoe

// A ring holds bytes, first in, first out. It grows as needed. The zero value is empty.
type ring struct {
	b    []byte // len(b) is the capacity
	head int    // index in b of the first byte
	n    int    // number of bytes held
}

// put appends p.
func (r *ring) put(p []byte) {
	if r.n+len(p) > len(r.b) {
		b := make([]byte, max(r.n+len(p), 2*len(r.b)))
		r.peek(0, b[:r.n])
		r.b, r.head = b, 0
	}
	tail := r.head + r.n
	if tail >= len(r.b) {
		tail -= len(r.b)
	}
	n := copy(r.b[tail:], p)
	copy(r.b, p[n:])
	r.n += len(p)
}

// peek copies len(p) bytes to p, beginning with byte i of the ring. The ring must hold them.
func (r *ring) peek(i int, p []byte) {
	i += r.head
	if i >= len(r.b) {
		i -= len(r.b)
	}
	n := copy(p, r.b[i:])
	copy(p[n:], r.b)
}

// drop removes the first n bytes.
func (r *ring) drop(n int) {
	r.head += n
	if r.head >= len(r.b) {
		r.head -= len(r.b)
	}
	r.n -= n
}
