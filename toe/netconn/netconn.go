package netconn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/toe"
)

const (
	// aheadSize is how many octets Readable reads ahead. A net.Conn can be
	// waited for only by reading from it, and the read after that may block
	// again: with a single octet ahead, ReadSegment could never give more than
	// that one. 4 KiB keeps an idle connection small and a run worth having.
	aheadSize = 4 << 10

	// stagingSize is how many octets WriteBatch gathers for one Write: the
	// largest TLS record.
	stagingSize = 16 << 10
)

// staging holds *[stagingSize]byte buffers.
var staging = sync.Pool{New: func() any { return new([stagingSize]byte) }}

// New makes a toe.Stream of any other byte stream: TLS, a unix socket, net.Pipe,
// an SSH channel. For a *net.TCPConn, toe/kernel does better. A c that is a
// toe.Stream already is returned as it is. Of a *tls.Conn and what embeds one, New
// makes what NewBuffered does, because a *tls.Conn does not survive a Write or
// a handshake that its deadline ends.
//
// EMSS is toe.DefaultEMSS. Readable reads up to 4 KiB ahead, into a buffer that the
// toe.Stream keeps from the first Readable on; Read and ReadSegment give those
// octets first. WriteBatch is one system call where c can write vectors, else
// it gathers small slices so that not each of them is a Write. CloseWrite
// works where c has such a method. Closing the toe.Stream closes c, which is the
// toe.Stream's from now on.
func New(c net.Conn) toe.Stream {
	if s, ok := c.(toe.Stream); ok {
		return s
	}
	if _, ok := c.(handshaker); ok {
		return newBuffered(c)
	}
	w := &wrapped{Conn: c}
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		w.vectored = true
	}
	return w
}

// wrapped is a net.Conn as a toe.Stream.
type wrapped struct {
	net.Conn
	closed atomic.Bool

	readMu sync.Mutex // held while reading, also while that waits
	// +checklocks:readMu
	buf []byte // aheadSize octets, nil before the first Readable
	// +checklocks:readMu
	ahead []byte // the part of buf that has not been given yet
	// +checklocks:readMu
	err error // what comes after ahead; given once
	// +checklocks:readMu
	off uint64 // octets that ReadSegment has given

	vectored bool        // Conn has writev
	bufs     net.Buffers // WriteBatch's: a local one would escape
}

var _ toe.Stream = (*wrapped)(nil)

func (w *wrapped) Read(p []byte) (int, error) {
	w.readMu.Lock()
	defer w.readMu.Unlock()
	return w.readLocked(p)
}

func (w *wrapped) ReadSegment(p []byte) (n int, off uint64, err error) {
	w.readMu.Lock()
	defer w.readMu.Unlock()
	off = w.off
	n, err = w.readLocked(p)
	w.off += uint64(n)
	return n, off, err
}

// readLocked gives what is ahead, else reads. n is 0 exactly when err is not
// nil or p is empty.
//
// +checklocks:w.readMu
func (w *wrapped) readLocked(p []byte) (n int, err error) {
	if w.closed.Load() {
		return 0, net.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	if len(w.ahead) > 0 {
		n = copy(p, w.ahead)
		w.ahead = w.ahead[n:]
		return n, nil
	}
	for n == 0 && err == nil {
		err, w.err = w.err, nil
		if err == nil {
			n, err = w.Conn.Read(p)
		}
	}
	if n > 0 { // what came with the octets comes after them
		w.err, err = err, nil
	}
	return n, w.mapErr(err)
}

func (w *wrapped) Readable() error {
	w.readMu.Lock()
	defer w.readMu.Unlock()
	if w.closed.Load() {
		return net.ErrClosed
	}
	if len(w.ahead) > 0 {
		return nil
	}
	if w.buf == nil {
		w.buf = make([]byte, aheadSize)
	}
	n, err := w.readLocked(w.buf)
	w.ahead = w.buf[:n]
	if err == nil || isTimeout(err) {
		return err
	}
	w.err = err // ReadSegment is to give it too
	if err == io.EOF {
		return nil
	}
	return err
}

func (w *wrapped) WriteBatch(bufs [][]byte) error {
	if w.vectored {
		w.bufs = bufs
		_, err := w.bufs.WriteTo(w.Conn)
		w.bufs = nil
		return w.mapErr(err)
	}
	return w.mapErr(w.writeGathered(bufs))
}

// writeGathered writes bufs with few calls of Write: small slices are copied
// together first, large ones are written from where they are.
func (w *wrapped) writeGathered(bufs [][]byte) error {
	stage := staging.Get().(*[stagingSize]byte)
	defer staging.Put(stage)
	n := 0 // octets in stage
	for _, b := range bufs {
		for len(b) > 0 {
			if n == 0 && len(b) >= stagingSize {
				if _, err := w.Conn.Write(b); err != nil {
					return err
				}
				break
			}
			m := copy(stage[n:], b)
			n, b = n+m, b[m:]
			if n == stagingSize {
				n = 0
				if _, err := w.Conn.Write(stage[:]); err != nil {
					return err
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	_, err := w.Conn.Write(stage[:n])
	return err
}

func (w *wrapped) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	return n, w.mapErr(err)
}

func (w *wrapped) CloseWrite() error {
	if w.closed.Load() {
		return net.ErrClosed
	}
	c, ok := w.Conn.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("netconn: half-close of a %T: %w", w.Conn, errors.ErrUnsupported)
	}
	return w.mapErr(c.CloseWrite())
}

func (w *wrapped) Close() error {
	if w.closed.Swap(true) {
		return net.ErrClosed
	}
	return w.Conn.Close()
}

func (w *wrapped) EMSS() int { return toe.DefaultEMSS }

// mapErr makes every error after Close a net.ErrClosed: net.Pipe and crypto/tls
// have their own ideas.
func (w *wrapped) mapErr(err error) error {
	if err == nil || !w.closed.Load() || errors.Is(err, net.ErrClosed) {
		return err
	}
	return net.ErrClosed
}

// isTimeout tells whether err is one that goes away when the deadline is moved.
func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
