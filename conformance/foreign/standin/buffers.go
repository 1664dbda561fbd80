package standin

import (
	"bytes"
	"io"
	"net"
)

// Buffers takes the place of net.Buffers. Package net writes all slices with one system call, but
// only to its own connections; this type writes them to a TCPConn with one Write. Some suites need
// that, because they expect that a Read returns whole messages.
type Buffers [][]byte

// WriteTo writes the slices and removes from v what has been written.
func (v *Buffers) WriteTo(w io.Writer) (int64, error) {
	buffers := (*net.Buffers)(v)
	c, ok := w.(*TCPConn)
	if !ok {
		return buffers.WriteTo(w)
	}
	n, err := c.Write(bytes.Join(*v, nil))
	_, _ = io.CopyN(io.Discard, buffers, int64(n)) // removes them; it can't fail
	return int64(n), err
}

// Read reads from the slices, and removes from v what it has read.
func (v *Buffers) Read(p []byte) (int, error) { return (*net.Buffers)(v).Read(p) }
