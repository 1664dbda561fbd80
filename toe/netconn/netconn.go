package netconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/internal/deadline"
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// New makes a Stream from any other byte stream. For a *net.TCPConn or *net.UnixConn, toe/kernel is
// better. If c is already a Stream, New returns c.
//
// Write is one Write of c, under its deadline; only TryWriteBatch uses the send buffer. For a
// *tls.Conn, or a type that embeds one, New is like NewBuffered.
//
// The Stream owns c from now on, and closing the Stream closes c. New removes the deadlines of c.
func New(c net.Conn) toe.Stream {
	if s, ok := c.(toe.Stream); ok {
		return s
	}
	_, shakes := c.(handshaker)
	return newStream(c, shakes)
}

// NewBuffered is New for a byte stream whose Write must not be interrupted, because the stream is
// useless once a Write has timed out.
//
// All writes go through the send buffer. Write returns when everything is in the buffer. The write
// deadline bounds waiting for room, never a Write of c. A Write whose deadline passes returns the
// number of bytes that will still go out. Later writes and CloseWrite return the error of a failed
// Write of c.
func NewBuffered(c net.Conn) toe.Stream {
	if s, ok := c.(toe.Stream); ok {
		return s
	}
	return newStream(c, true)
}

// A handshaker is a net.Conn that needs a handshake first: a *tls.Conn, or a type that embeds one.
type handshaker interface {
	net.Conn
	HandshakeContext(context.Context) error
}

// A halfCloser is a net.Conn that can send a FIN or its equivalent.
type halfCloser interface{ CloseWrite() error }

// A lingerer is a net.Conn that can make its Close a reset.
type lingerer interface{ SetLinger(seconds int) error }

// A wrapper is a net.Conn that works over another one: a *tls.Conn.
type wrapper interface{ NetConn() net.Conn }

// A stream is a Stream over a net.Conn.
//
//	TryWriteBatch ──▶ send buffer ──▶ feed, one goroutine while there is work ──▶ conn
//
// The calls that may wait for the peer run in feed: Write of the send buffer, CloseWrite and Close.
// Reads go to conn directly once the handshake is done.
type stream struct {
	conn     net.Conn
	wire     *wire // below conn, if ForTLS has made it; otherwise nil
	can      toe.Capabilities
	emss     int    // in bytes
	buffered bool   // every write goes through the send buffer
	in       reader // reads from conn; its closed is set with mu held
	oneLook  bool   // TLS reads each byte of a record once; set before handshake is shaken
	feedFunc func() // feed, made a function once so that starting it costs no allocation

	mu            locks.Mutex[locks.Buffered]
	changed       sync.Cond         // signals changes of the fields below
	readDeadline  deadline.Deadline // +checklocks:mu
	writeDeadline deadline.Deadline // +checklocks:mu
	handshake     handshake         // +checklocks:mu
	// why the handshake has failed
	shakeErr error // +checklocks:mu

	out sendBuffer // +checklocks:mu
	// records that TCP has not taken; then feed runs
	sealed sendBuffer // +checklocks:mu
	// TLS writes without waiting for TCP
	absorbs bool // +checklocks:mu
	// TLS is writing a record, so absorbs must not become false
	sealing bool // +checklocks:mu
	// of the last Watch call
	gate *toe.Gate // +checklocks:mu
	// a write is in progress and others wait, so that bytes do not mix
	writing bool // +checklocks:mu
	// feed runs
	feeding bool // +checklocks:mu
	// why nothing more goes out
	err error // +checklocks:mu
	// CloseWrite was called
	shut bool // +checklocks:mu
	// conn's CloseWrite was called
	shutOut bool // +checklocks:mu
	// Close or Abort was called
	closed bool // +checklocks:mu
	// calls of Abort that have not reset the connection yet
	aborting int // +checklocks:mu
	// discard runs
	discarding bool // +checklocks:mu
	// ends the linger time after Close
	linger *time.Timer // +checklocks:mu
}

var _ toe.Stream = (*stream)(nil)

func newStream(c net.Conn, buffered bool) *stream {
	s := &stream{conn: c, emss: toe.DefaultEMSS, buffered: buffered, in: reader{conn: c, turn: make(chan struct{}, 1)}, handshake: shaken}
	s.changed.L = &s.mu
	s.feedFunc = s.feed
	if _, ok := c.(handshaker); ok {
		s.handshake = shakeIdle
		s.emss = chunkSize // a receiver gets whole records, however TCP cuts them
	}
	// An error means that the net.Conn is closed, or does not support deadlines.
	err := c.SetDeadline(time.Time{})
	s.can.Deadlines = err == nil || errors.Is(err, net.ErrClosed)
	_, s.can.HalfClose = c.(halfCloser)
	s.can.Reset = canReset(s.below())
	if w, ok := s.below().(*wire); ok && w.above == nil {
		s.wire, w.above = w, s
		s.can.Watch = w.Capabilities().Watch
		if t, ok := c.(*tls.Conn); ok && t.ConnectionState().HandshakeComplete {
			s.handshake, s.oneLook = shaken, looksOnce(c)
		}
	}
	return s
}

// below returns the connection that a reset must end.
func (s *stream) below() net.Conn {
	if w, ok := s.conn.(wrapper); ok {
		return w.NetConn()
	}
	return s.conn
}

func canReset(c net.Conn) bool {
	if s, ok := c.(toe.Stream); ok {
		return s.Capabilities().Reset
	}
	_, ok := c.(lingerer)
	return ok
}

func (s *stream) Capabilities() toe.Capabilities { return s.can }
func (s *stream) EMSS() int                      { return s.emss }
func (s *stream) LocalAddr() net.Addr            { return s.conn.LocalAddr() }
func (s *stream) RemoteAddr() net.Addr           { return s.conn.RemoteAddr() }

// Reading.

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ready(len(p) == 0); err != nil {
		return 0, s.opError("read", err)
	}
	n, err := s.in.read(p)
	return n, s.opError("read", err)
}

// ReadSegment returns bytes that the Stream has read ahead, or waits. It has patience only over a
// wire, because a net.Conn cannot be polled without waiting.
func (s *stream) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	if err = s.ready(false); err != nil {
		return 0, s.in.offset(), s.opError("read", err)
	}
	if s.wire != nil {
		n, off, err = s.in.readRecords(s.wire, l, patience)
	} else {
		n, off, err = s.in.readSegment(l)
	}
	return n, off, s.opError("read", err)
}

func (s *stream) Pending() (int, error) {
	if s.in.closed.Load() {
		return 0, s.opError("pending", net.ErrClosed)
	}
	return s.in.pending(), nil
}

// Writing.

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.takeTurn(true); err != nil {
		return 0, s.opError("write", err)
	}
	defer s.endTurn()
	var n int
	var err error
	switch {
	case s.absorbs:
		n, err = s.seal([][]byte{p}, true)
	case s.buffered:
		n, err = s.put(p, true)
	default:
		n, err = s.writeThrough(p)
	}
	return n, s.opError("write", err)
}

// writeThrough writes p to conn, after the bytes in the send buffer. The caller has the turn.
//
// +checklocks:s.mu
func (s *stream) writeThrough(p []byte) (n int, err error) {
	for s.feeding {
		if err := s.writeErr(true); err != nil {
			return 0, err
		}
		s.changed.Wait()
	}
	if err := s.writeErr(true); err != nil {
		return 0, err
	}
	locks.Unlocked(&s.mu, func() { n, err = s.conn.Write(p) })
	if err != nil && s.closed {
		err = net.ErrClosed // net.Pipe returns its own error
	}
	return n, err
}

func (s *stream) TryWriteBatch(bufs [][]byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, err := s.takeTurn(false); !ok {
		return 0, s.opError("write", err)
	}
	defer s.endTurn()
	if s.mayAbsorb() {
		n, err = s.seal(bufs, false)
		return n, s.opError("write", err)
	}
	for _, b := range bufs {
		m, err := s.put(b, false)
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

// WaitWritable waits until the send buffer has room and no write is under way.
func (s *stream) WaitWritable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		err := s.writeErr(true)
		if err != nil || !s.writing && !s.out.full() && s.sealed.empty() {
			return s.opError("write", err)
		}
		s.changed.Wait()
	}
}

// takeTurn takes the turn to write. If another write is in progress, it waits if wait is set, and
// otherwise returns false.
//
// +checklocks:s.mu
func (s *stream) takeTurn(wait bool) (ok bool, err error) {
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
func (s *stream) endTurn() {
	s.writing = false
	s.changed.Broadcast()
}

// put copies p into the send buffer, and waits for room if wait is set. It returns the number of
// bytes copied.
//
// +checklocks:s.mu
func (s *stream) put(p []byte, wait bool) (n int, err error) {
	for n < len(p) {
		if err := s.writeErr(wait); err != nil {
			return n, err
		}
		if s.out.full() {
			if !wait {
				break
			}
			s.changed.Wait()
			continue
		}
		n += s.out.put(p[n:])
		if !s.feeding {
			s.moveConnDeadline(time.Time{})
			s.startFeed()
		}
	}
	return n, nil
}

// If nothing can be written, whether there is room or not, writeErr returns the reason.
//
// +checklocks:s.mu
func (s *stream) writeErr(obeyDeadline bool) error {
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

// Deadlines.

func (s *stream) SetDeadline(t time.Time) error {
	return cmp.Or(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline leaves no deadline if conn refuses t. A net.Pipe refuses once its peer has
// closed. An earlier deadline could then not be removed, and would hide the io.EOF.
func (s *stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.opError("set", net.ErrClosed)
	}
	if s.handshake != shaken {
		s.readDeadline.Set(t, &s.changed)
		return nil // conn gets it after the handshake
	}
	err := s.conn.SetReadDeadline(t)
	if err != nil {
		t = time.Time{}
	}
	s.readDeadline.Set(t, &s.changed)
	return err
}

// SetWriteDeadline bounds waiting for room in the send buffer. Unless every write goes through the
// buffer, it also bounds a Write of conn. The bytes in the send buffer go out whatever the deadline
// is, so conn has no deadline while feed runs.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.opError("set", net.ErrClosed)
	}
	s.writeDeadline.Set(t, &s.changed)
	if s.buffered || s.feeding {
		return nil
	}
	return s.conn.SetWriteDeadline(t)
}

// moveConnDeadline sets conn's write deadline to t, if the stream has a write deadline and Writes
// of conn obey it.
//
// +checklocks:s.mu
func (s *stream) moveConnDeadline(t time.Time) {
	if !s.buffered && !s.writeDeadline.At().IsZero() {
		s.conn.SetWriteDeadline(t)
	}
}

// opError wraps err in a *net.OpError, as package net does, unless err is io.EOF.
func (s *stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		return err
	}
	e := &net.OpError{Op: op, Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(), Err: err}
	if e.Source != nil {
		e.Net = e.Source.Network()
	}
	return e
}
