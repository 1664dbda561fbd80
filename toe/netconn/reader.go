package netconn

import (
	"errors"
	"io"
	"net"
	"sync/atomic"

	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/toe"
)

// aheadSize is the number of bytes that a reader reads ahead. Only a read can wait for a net.Conn,
// and the next read may wait again, so ReadSegment can return only the bytes read ahead. With 4 KiB
// an idle connection stays small, and a run is long enough to be useful.
const aheadSize = 4 << 10

// A reader reads from a net.Conn, and waits for it without a buffer of the caller.
type reader struct {
	conn   net.Conn
	closed atomic.Bool
	off    atomic.Uint64 // bytes that readSegment has returned
	unread atomic.Int64  // the length of ahead

	// turn holds one element while a goroutine reads, also while it waits. It guards the fields
	// below. It is a channel, not a mutex, because a read may last as long as the connection.
	turn  chan struct{}
	buf   []byte // aheadSize bytes, nil before the first wait
	ahead []byte // the part of buf that has not been returned yet
	err   error  // the error after ahead; returned once
}

func (r *reader) lock()   { r.turn <- struct{}{} }
func (r *reader) unlock() { <-r.turn }

// offset returns the next offset in order. It does not wait.
func (r *reader) offset() uint64 { return r.off.Load() }

// pending returns how many bytes are read ahead. It does not wait.
func (r *reader) pending() int { return int(r.unread.Load()) }

func (r *reader) read(p []byte) (int, error) {
	r.lock()
	defer r.unlock()
	return r.readLocked(p)
}

// readSegment reads into the memory that l lends. If l keeps a buffer anyway, readSegment waits
// with that buffer, which saves a copy.
func (r *reader) readSegment(l toe.Lender) (n int, off uint64, err error) {
	r.lock()
	defer r.unlock()
	off = r.offset()
	if r.closed.Load() {
		return 0, off, net.ErrClosed
	}
	if len(r.ahead) == 0 && r.err == nil && !l.TakeBack() {
		if err := r.readAhead(); err != nil {
			return 0, off, err
		}
	}
	n, err = r.readLocked(l.Lend())
	r.off.Add(uint64(n))
	return n, off, err
}

// readAhead waits until there are bytes ahead. The caller has the turn.
func (r *reader) readAhead() error {
	if r.buf == nil {
		r.buf = make([]byte, aheadSize)
	}
	n, err := r.readLocked(r.buf)
	r.setAhead(r.buf[:n])
	return err
}

// setAhead sets ahead to p. The caller has the turn.
func (r *reader) setAhead(p []byte) {
	r.ahead = p
	r.unread.Store(int64(len(p)))
}

// readLocked returns bytes that are ahead, or reads. n is 0 exactly when err is not nil or p is
// empty. The caller has the turn.
func (r *reader) readLocked(p []byte) (n int, err error) {
	if r.closed.Load() {
		return 0, net.ErrClosed
	}
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.ahead) > 0 {
		n = copy(p, r.ahead)
		r.setAhead(r.ahead[n:])
		return n, nil
	}
	for n == 0 && err == nil {
		err, r.err = r.err, nil
		if err == nil {
			if n, err = r.conn.Read(p); err != errNothing { //nolint:errorlint // as wire.Read returns it
				err = tlshandshake.Explain(err)
			}
		}
	}
	if n > 0 { // an error that came with the bytes comes after them
		r.err, err = err, nil
	}
	if err != nil && err != io.EOF && r.closed.Load() && !errors.Is(err, net.ErrClosed) {
		err = net.ErrClosed // net.Pipe and crypto/tls return their own errors
	}
	return n, err
}
