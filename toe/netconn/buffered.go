package netconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/internal/deadline"
)

const (
	// sendSize is the size of a send buffer in octets, a power of two: four of
	// the largest TLS records, so that one can be under way while the next ones
	// are gathered.
	sendSize = 64 << 10

	// handshakeTimeout bounds a TLS handshake, whatever the deadlines are.
	handshakeTimeout = 10 * time.Second

	// lingerTimeout is how long Close lets go out what was written before.
	lingerTimeout = 5 * time.Second
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// sendBuffers holds *[sendSize]byte buffers.
var sendBuffers = sync.Pool{New: func() any { return new([sendSize]byte) }}

// NewBuffered is New for a byte stream whose Write must not be interrupted:
// one that is useless once a Write of it has timed out. New does this for TLS
// by itself.
//
// Writes go into a send buffer of 64 KiB, which exists only while there is
// something in it, as does the one goroutine that empties it into c. Write and
// WriteBatch return when all is in the buffer, TryWriteBatch takes what there is
// room for. The write deadline bounds waiting for room, never a Write of c; a
// Write whose deadline passes returns how many octets will go out all the same.
// The error of a failed Write of c comes with later writes and with CloseWrite.
//
// CloseWrite returns at once: what is in the buffer goes out first, then the
// half-close. Close returns at once too. What is in the buffer then has 5 s to go
// out, while what still comes in is thrown away; after that c is closed. A
// program that ends right after Close cuts this short, unless it waits in Flush:
// the toe.Stream is a [toe.Flusher].
//
// Where c has a HandshakeContext method, as a *tls.Conn has, the first read or
// write has it run in a goroutine, for at most 10 s. Reads wait for it under
// their deadline; the deadline does no harm to it.
//
// Deadlines that c has at the time are taken away. The read deadline needs a c
// whose Read can be interrupted by one and be resumed.
func NewBuffered(c net.Conn) toe.Stream {
	if s, ok := c.(toe.Stream); ok {
		return s
	}
	return newBuffered(c)
}

// A handshaker is a net.Conn that has to shake hands first: a *tls.Conn, or what
// embeds one.
type handshaker interface {
	net.Conn
	HandshakeContext(context.Context) error
}

// handshake is how far a handshake has come.
type handshake int

const (
	shakeIdle handshake = iota // nobody has used the stream
	shaking
	shaken // or there was none to make
	shakeFailed
)

// buffered is a net.Conn with a send buffer as a toe.Stream.
//
//	Write ──▶ ring ──▶ feed, one goroutine while there is something to do ──▶ conn
//
// Whatever may block on the peer is done in feed: Write, CloseWrite and Close of
// conn. Reads go to conn directly, once the handshake is done.
type buffered struct {
	conn     net.Conn
	in       wrapped // reads from conn; its closed is set with mu held
	feedFunc func()  // feed: made once, so that starting it costs no allocation

	mu            sync.Mutex
	changed       sync.Cond         // anything below
	readDeadline  deadline.Deadline // +checklocks:mu
	writeDeadline deadline.Deadline // +checklocks:mu
	handshake     handshake         // +checklocks:mu
	// why it has failed
	shakeErr error // +checklocks:mu

	// nil while empty
	buf *[sendSize]byte // +checklocks:mu
	// index in buf of the first octet
	first int // +checklocks:mu
	// octets in buf
	size int // +checklocks:mu
	// a write is under way: others wait, octets do not mix
	writing bool // +checklocks:mu
	// feed runs
	feeding bool // +checklocks:mu
	// why nothing goes out any more
	err error // +checklocks:mu
	// CloseWrite was called
	shut bool // +checklocks:mu
	// and conn's has been, too
	shutOut bool // +checklocks:mu
	// Close was called
	closed bool // +checklocks:mu
	// ends the time that Close gives
	linger *time.Timer // +checklocks:mu
}

var (
	_ toe.Stream     = (*buffered)(nil)
	_ toe.TryWriter  = (*buffered)(nil)
	_ toe.WaitWriter = (*buffered)(nil)
	_ toe.Flusher    = (*buffered)(nil)
)

func newBuffered(c net.Conn) *buffered {
	s := &buffered{conn: c, in: wrapped{Conn: c}, handshake: shaken}
	s.changed.L = &s.mu
	s.feedFunc = s.feed
	if _, ok := c.(handshaker); ok {
		s.handshake = shakeIdle
	}
	c.SetDeadline(time.Time{}) // an error: there are no deadlines, or c is closed
	return s
}

// Reading.

func (s *buffered) Read(p []byte) (int, error) {
	if err := s.ready(len(p) == 0); err != nil {
		return 0, s.opError("read", err)
	}
	n, err := s.in.Read(p)
	return n, s.opError("read", err)
}

func (s *buffered) ReadSegment(p []byte) (n int, off uint64, err error) {
	err = s.ready(len(p) == 0)
	if err == nil {
		n, off, err = s.in.ReadSegment(p)
		return n, off, s.opError("read", err)
	}
	_, off, _ = s.in.ReadSegment(nil)
	return 0, off, s.opError("read", err)
}

func (s *buffered) Readable() error {
	err := s.ready(false)
	if err == nil {
		err = s.in.Readable()
	}
	return s.opError("read", err)
}

// ready waits until the handshake is done. It says why nothing can be read,
// whether octets are there or not.
func (s *buffered) ready(empty bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return net.ErrClosed
		case empty:
			return nil
		case s.readDeadline.Passed():
			return os.ErrDeadlineExceeded
		case s.handshake == shaken:
			return nil
		case s.handshake == shakeFailed:
			return s.shakeErr
		}
		s.shakeLocked()
		s.changed.Wait()
	}
}

// shakeLocked starts the handshake if that has not been done.
//
// +checklocks:s.mu
func (s *buffered) shakeLocked() {
	if s.handshake == shakeIdle {
		s.handshake = shaking
		go s.shake()
	}
}

// shake is the handshake. A deadline would end it for good, so there is none on
// conn meanwhile.
func (s *buffered) shake() {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	err := s.conn.(handshaker).HandshakeContext(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil: // that of ctx would look like a deadline of the user's
		err = fmt.Errorf("netconn: no handshake within %v", handshakeTimeout)
	case errors.Is(err, io.EOF): // not the peer's orderly end: nobody knows who sent the FIN
		err = fmt.Errorf("netconn: handshake: %w", io.ErrUnexpectedEOF)
	default:
		err = fmt.Errorf("netconn: handshake: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	if err != nil {
		s.handshake, s.shakeErr, s.err = shakeFailed, err, err
		return
	}
	s.handshake = shaken
	if !s.closed {
		s.conn.SetReadDeadline(s.readDeadline.At())
	}
}

// Writing.

func (s *buffered) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.takeTurn(true); err != nil {
		return 0, s.opError("write", err)
	}
	defer s.endTurn()
	n, err := s.put(p, true)
	return n, s.opError("write", err)
}

func (s *buffered) WriteBatch(bufs [][]byte) error {
	_, err := s.writeBatch(bufs, true)
	return err
}

func (s *buffered) TryWriteBatch(bufs [][]byte) (int, error) {
	return s.writeBatch(bufs, false)
}

func (s *buffered) writeBatch(bufs [][]byte, wait bool) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, err := s.takeTurn(wait); !ok {
		return 0, s.opError("write", err)
	}
	defer s.endTurn()
	for _, b := range bufs {
		m, err := s.put(b, wait)
		n += m
		if err != nil {
			return n, s.opError("write", err)
		}
		if m < len(b) {
			break
		}
	}
	return n, nil
}

// WaitWritable waits until there is room and no write is under way.
func (s *buffered) WaitWritable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch err := s.writeErr(true); {
		case err == nil && (s.writing || s.size == sendSize):
			s.changed.Wait()
		default:
			return s.opError("write", err)
		}
	}
}

// takeTurn waits, if wait is set, until no other write is under way. It returns
// false where it is not the caller's turn.
//
// +checklocks:s.mu
func (s *buffered) takeTurn(wait bool) (ok bool, err error) {
	for {
		if err := s.writeErr(wait); err != nil {
			return false, err
		}
		if !s.writing {
			s.writing = true
			return true, nil
		}
		if !wait {
			return false, nil
		}
		s.changed.Wait()
	}
}

// +checklocks:s.mu
func (s *buffered) endTurn() {
	s.writing = false
	s.changed.Broadcast()
}

// put puts p into the buffer, waiting for room if wait is set, and returns how
// much of it.
//
// +checklocks:s.mu
func (s *buffered) put(p []byte, wait bool) (n int, err error) {
	for n < len(p) {
		if err := s.writeErr(wait); err != nil {
			return n, err
		}
		if s.size == sendSize {
			if !wait {
				break
			}
			s.changed.Wait()
			continue
		}
		if s.buf == nil {
			s.buf = sendBuffers.Get().(*[sendSize]byte)
		}
		free := s.buf[(s.first+s.size)%sendSize:]
		m := copy(free[:min(len(free), sendSize-s.size)], p[n:])
		n, s.size = n+m, s.size+m
		s.startFeed()
	}
	return n, nil
}

// writeErr says why nothing can be written, whether there is room or not.
//
// +checklocks:s.mu
func (s *buffered) writeErr(obeyDeadline bool) error {
	switch {
	case s.closed:
		return net.ErrClosed
	case obeyDeadline && s.writeDeadline.Passed():
		return os.ErrDeadlineExceeded
	case s.err != nil:
		return s.err
	case s.shut:
		return syscall.EPIPE
	}
	return nil
}

// startFeed has feed do what is to be done.
//
// +checklocks:s.mu
func (s *buffered) startFeed() {
	if !s.feeding {
		s.feeding = true
		go s.feedFunc()
	}
}

// feed empties the buffer into conn, then half-closes and closes it if it is to
// be.
func (s *buffered) feed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.size == 0 || s.err != nil {
			s.releaseLocked()
		}
		switch owed := s.size > 0 || s.err == nil && s.shut && !s.shutOut; {
		case owed && s.handshake != shaken:
			s.shakeLocked()
			s.changed.Wait()
		case s.size > 0:
			chunk := s.buf[s.first:min(s.first+s.size, s.first+stagingSize, sendSize)]
			s.mu.Unlock()
			_, err := s.conn.Write(chunk)
			s.mu.Lock()
			s.first = (s.first + len(chunk)) % sendSize
			s.size -= len(chunk)
			s.broken(err)
		case owed:
			s.shutOut = true
			s.mu.Unlock()
			err := s.closeWrite()
			s.mu.Lock()
			s.broken(err)
		case s.closed:
			s.mu.Unlock()
			s.conn.Close() // the error would be one of an alert that nobody reads
			s.mu.Lock()
			s.linger.Stop()
			s.rest()
			return
		default:
			s.rest()
			return
		}
	}
}

// rest notes that feed ends: all is done, or can't be.
//
// +checklocks:s.mu
func (s *buffered) rest() {
	s.feeding = false
	s.changed.Broadcast()
}

// broken notes what became of a call of conn, and tells everybody.
//
// +checklocks:s.mu
func (s *buffered) broken(err error) {
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// releaseLocked gives the buffer back, and what may be in it up.
//
// +checklocks:s.mu
func (s *buffered) releaseLocked() {
	if s.buf != nil {
		sendBuffers.Put(s.buf)
		s.buf, s.first, s.size = nil, 0, 0
	}
}

// The rest.

func (s *buffered) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

func (s *buffered) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.opError("set", net.ErrClosed)
	}
	s.readDeadline.Set(t, &s.changed)
	if s.handshake != shaken {
		return nil // it comes to conn behind the handshake
	}
	return s.conn.SetReadDeadline(t)
}

func (s *buffered) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.opError("set", net.ErrClosed)
	}
	s.writeDeadline.Set(t, &s.changed)
	return nil
}

func (s *buffered) LocalAddr() net.Addr  { return s.conn.LocalAddr() }
func (s *buffered) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }
func (s *buffered) EMSS() int            { return toe.DefaultEMSS }

// opError makes err a *net.OpError, as package net does for all but io.EOF.
func (s *buffered) opError(op string, err error) error {
	if e := (*net.OpError)(nil); err == nil || err == io.EOF || errors.As(err, &e) {
		return err
	}
	e := &net.OpError{Op: op, Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}
