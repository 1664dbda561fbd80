package standin

import (
	"bytes"
	"io"
	"net"
)

// Buffers takes the place of net.Buffers, which writes all slices by one system call if the connection is
// one of package net. Here it is one Write of a TCPConn. Suites depend on that: they take what one Read
// returns for whole messages.
type Buffers [][]byte

// WriteTo writes the slices and removes from v what has been written.
func (v *Buffers) WriteTo(w io.Writer) (int64, error) {
	real := (*net.Buffers)(v)
	c, ok := w.(*TCPConn)
	if !ok {
		return real.WriteTo(w)
	}
	n, err := c.Write(bytes.Join(*v, nil))
	_, _ = io.CopyN(io.Discard, real, int64(n)) // so many bytes are there
	return int64(n), err
}

// Read reads from the slices, and removes from v what it has read.
func (v *Buffers) Read(p []byte) (int, error) { return (*net.Buffers)(v).Read(p) }
