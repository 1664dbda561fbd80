package extsock

import (
	"io"
	"net"
	"os"
	"reflect"
	"syscall"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe/kernel"
)

// This file moves the bytes of TCP mode: through the program, where Taps see them, and inside the
// kernel while there is no Tap.

// A turn admits one Read, or one Write, of TCP mode at a time, until its bytes have been shown to
// the Taps, so that Taps see bytes in the order of the stream. The call puts the value into the
// Cell. Other calls wait in the order in which they came. Inside package net they would wait too.
type turn struct{ wait.Cell }

// begin waits until the caller has its turn. A deadline and Close end the wait, because the call
// whose turn it is may wait for the peer.
func (t *turn) begin(c *Conn, limit *wait.Deadline) error {
	select {
	case t.C() <- struct{}{}:
	default:
		if err := t.await(c, limit); err != nil {
			return err
		}
	}
	locks.Acquired[locks.Plain]()
	return nil
}

func (t *turn) await(c *Conn, limit *wait.Deadline) error {
	select {
	case t.C() <- struct{}{}:
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	case <-c.startup.Closed().Done():
		return net.ErrClosed
	}
}

func (t *turn) end() {
	locks.Released[locks.Plain]()
	<-t.C()
}

// readPlain is Read in TCP mode.
func (c *Conn) readPlain(p []byte) (int, error) {
	if err := c.plainIn.begin(c, &c.readDeadline); err != nil {
		return 0, c.opError("read", err)
	}
	defer c.plainIn.end()
	if c.startup.IsAhead() && wait.IsClosed(c.readDeadline.Done()) {
		return 0, c.opError("read", os.ErrDeadlineExceeded) // as over TCP, even if data is there
	}
	n, err := below(c.startup.Read, p)
	c.taps.Plain(p[:n], false)
	return n, err
}

// writePlain is Write in TCP mode. Only what TCP has taken is shown.
func (c *Conn) writePlain(p []byte) (int, error) {
	if err := c.plainOut.begin(c, &c.writeDeadline); err != nil {
		return 0, c.opError("write", err)
	}
	defer c.plainOut.end()
	n, err := below(c.stream.Write, p)
	c.taps.Plain(p[:n], true)
	return n, err
}

// below calls a method of the stream, which may be the program's and have locks of its own.
func below(f func([]byte) (int, error), p []byte) (int, error) {
	defer locks.BeginCallOut().End()
	return f(p)
}

// filePiece is how many bytes of a file the kernel sends before a copy looks for a Tap again.
const filePiece = 256 << 10

// sendInKernel is ReadFrom as far as the kernel moves the bytes, in pieces until there is a Tap. It
// reports whether it has reached the end of r.
func (c *Conn) sendInKernel(r io.Reader) (n int64, end bool, err error) {
	s, ok := c.stream.(io.ReaderFrom)
	if !ok {
		return 0, false, nil
	}
	left, ok := r.(*io.LimitedReader)
	if !ok {
		left = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	raw := streamSocket(left.R)
	if raw == nil && !isFile(left.R) {
		return 0, false, nil
	}
	for left.N > 0 && !c.taps.On() {
		size := filePiece
		if raw != nil {
			if size, err = kernel.Arrived(raw); size == 0 || err != nil {
				return n, err == nil, c.copyError("readfrom", err)
			}
			if c.taps.On() {
				break // it may have begun before these bytes came
			}
		}
		piece := io.LimitedReader{R: left.R, N: min(int64(size), left.N)}
		left.N -= piece.N
		m, err := s.ReadFrom(&piece)
		left.N += piece.N // what was not read
		if n += m; err != nil || raw == nil && piece.N > 0 {
			return n, err == nil, err
		}
	}
	return n, left.N <= 0, nil
}

// receiveInKernel is WriteTo as far as the kernel moves the bytes, in pieces until there is a Tap.
// It reports whether the stream has ended.
func (c *Conn) receiveInKernel(w io.Writer) (n int64, end bool, err error) {
	to, ok := w.(interface {
		io.ReaderFrom
		syscall.Conn
	})
	from := c.direct()
	raw := streamSocket(from)
	if !ok || raw == nil {
		return 0, false, nil
	}
	for !c.taps.On() {
		size, err := kernel.Arrived(raw)
		if size == 0 || err != nil {
			return n, err == nil, c.copyError("writeto", err)
		}
		if c.taps.On() {
			break // it may have begun before these bytes came
		}
		m, err := to.ReadFrom(&io.LimitedReader{R: from, N: int64(size)})
		if n += m; err != nil {
			return n, false, c.copyError("writeto", err)
		}
	}
	return n, false, nil
}

// isFile reports whether the kernel can send r as a file.
func isFile(r io.Reader) bool {
	f, ok := r.(interface {
		syscall.Conn
		Stat() (os.FileInfo, error)
	})
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// streamSocket returns the socket of r if package net lets the kernel move bytes from it, and if
// this system can tell how many have arrived.
func streamSocket(r io.Reader) syscall.RawConn {
	switch v := r.(type) {
	case *net.TCPConn:
	case *net.UnixConn:
		if v.LocalAddr() == nil || v.LocalAddr().Network() != "unix" {
			return nil
		}
	default: // WriteTo of a TCPConn hands it over in this type
		if t := reflect.TypeOf(r); t == nil || t.String() != "net.tcpConnWithoutWriteTo" {
			return nil
		}
	}
	s, ok := r.(syscall.Conn)
	if !ok || !kernel.TellsArrived {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
