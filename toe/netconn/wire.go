package netconn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/toe"
)

// wireSize is the maximum number of bytes of records that a wire reads at a time. It also reads no
// more than fits the memory that its caller has lent, so the buffer is empty again when ReadSegment
// returns. Shorter reads would cost more system calls, and a driver could not recognize bulk data.
const wireSize = 256 << 10

// wireBuffers holds *[wireSize]byte buffers.
var wireBuffers = sync.Pool{New: func() any { return new([wireSize]byte) }}

// A wire carries the records of a *tls.Conn over a Stream: see ForTLS. At first it is a plain
// net.Conn: the handshake, and a program that has the *tls.Conn, read and write as over TCP. The
// first ReadSegment of the stream above changes reading, and the first TryWriteBatch changes
// writing. From then on neither call waits in TLS.
//
//	ReadSegment   ──▶ below.ReadSegment ──▶ unread ──▶ TLS ──▶ the caller's memory
//	TryWriteBatch ──▶ TLS ──▶ below.TryWriteBatch, and what TCP does not take ──▶ stream.sealed
type wire struct {
	toe.Stream         // below
	above      *stream // set before the stream is used

	// The reader's turn guards these.
	begun    bool            // the peer's first byte has been read
	segments bool            // records arrive through ReadSegment, and reading does not wait
	waits    bool            // reading waits again, for the end
	dry      bool            // TLS returns nothing until more bytes arrive
	buf      *[wireSize]byte // nil while there is nothing unread
	unread   []byte          // the part of buf that TLS has not taken
	room     int             // the length of the memory lent last; 0 if not known
	err      error           // the error after unread
	off      uint64          // bytes that ReadSegment has returned
	lender   toe.Lender      // of the call under way
	first    [1]byte         // a byte that Watch has read ahead

	one [1][]byte // the argument of TryWriteBatch; TLS makes one Write at a time
}

// ForTLS returns a net.Conn over s, to make a *tls.Conn of which New then makes a Stream. Such a
// Stream encrypts in the goroutine that writes, and TLS never waits for TCP. Its ReadSegment
// returns io.ErrUnexpectedEOF if the peer's TCP ends without a close_notify of TLS. New also makes
// a Stream of any other *tls.Conn. That Stream needs a second goroutine, copies more, and returns
// the io.EOF of crypto/tls in that case.
func ForTLS(s toe.Stream) net.Conn { return &wire{Stream: s} }

// NetConn returns the Stream that carries the records.
func (w *wire) NetConn() net.Conn { return w.Stream }

// nothing is the error of a Read of TLS that would wait. TLS treats it as temporary, and continues
// with the next Read.
type nothing struct{}

func (nothing) Error() string   { return "nothing has arrived" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

var errNothing net.Error = nothing{}

// errCut is the error that TLS gets at TCP's FIN. If the peer has sent close_notify before, TLS
// sees that first, and returns io.EOF. Otherwise anybody on the path could have sent the FIN to
// truncate the stream (RFC 8446 §6.1). crypto/tls takes an io.EOF between two records for the
// peer's end.
var errCut = fmt.Errorf("netconn: a FIN without TLS's close_notify: %w", io.ErrUnexpectedEOF)

// Read gives TLS the bytes that have arrived.
func (w *wire) Read(p []byte) (n int, err error) {
	switch {
	case len(w.unread) > 0:
		n = copy(p, w.unread)
		if w.unread = w.unread[n:]; len(w.unread) == 0 {
			w.release()
		}
		return n, nil
	case !w.segments:
		return w.readPlain(p)
	case w.err != nil:
		return 0, w.err
	case w.waits:
		for n == 0 && err == nil && len(p) > 0 {
			n, err = w.read(kept(p), 0)
		}
		return n, err
	}
	return 0, errNothing
}

// readPlain is Read before the first ReadSegment. It reports to TLS at once if the peer's first
// byte does not begin a TLS record.
func (w *wire) readPlain(p []byte) (int, error) {
	n, err := w.Stream.Read(p)
	if n > 0 && !w.begun {
		w.begun = true
		if plain := tlshandshake.First(w.Stream, p[:n]); plain != nil {
			return n, plain
		}
	}
	return n, err
}

// read is ReadSegment without early runs.
func (w *wire) read(l toe.Lender, patience time.Duration) (int, error) {
	n, off, err := w.Stream.ReadSegment(l, patience)
	if off != w.off {
		return 0, err
	}
	w.off += uint64(n)
	return n, err
}

// await waits until bytes have arrived, and reads them. While it waits, l has its memory back.
// await leaves the end of the stream to TLS, and returns any other error.
func (w *wire) await(l toe.Lender, patience time.Duration) error {
	if w.err != nil {
		return nil
	}
	w.lender = l
	n, err := w.read((*wireLender)(w), patience)
	w.lender = nil
	if n == 0 {
		w.release()
	} else {
		w.unread = w.buf[:n]
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		return err
	case errors.Is(err, io.EOF):
		w.err = errCut
	case err != nil:
		w.err = err
	}
	w.dry = false
	return nil
}

func (w *wire) release() {
	if w.buf != nil {
		wireBuffers.Put(w.buf)
		w.buf, w.unread = nil, nil
	}
}

// begin makes reading non-waiting. The stream above has done its handshake.
func (w *wire) begin() {
	if w.segments {
		return
	}
	w.segments = true
	if s, ok := w.Stream.(interface{ ShowEarly(show bool) }); ok {
		s.ShowEarly(false)
	}
}

// A wireLender lends the buffer of a wire.
type wireLender wire

// Lend gets the buffer.
func (w *wireLender) Lend() []byte {
	if w.buf == nil {
		w.buf = wireBuffers.Get().(*[wireSize]byte)
	}
	if w.room > 0 && w.room < wireSize {
		return w.buf[:w.room]
	}
	return w.buf[:]
}

// TakeBack returns the buffer, and the memory of the call in progress.
func (w *wireLender) TakeBack() bool {
	(*wire)(w).release()
	w.lender.TakeBack()
	return false
}

// kept is a Lender of memory that is not taken back.
type kept []byte

func (k kept) Lend() []byte { return k }
func (kept) TakeBack() bool { return true }

// readRecords is readSegment over a wire: it fills l's memory with bytes from TLS, and waits
// without that memory.
func (r *reader) readRecords(w *wire, l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	r.lock()
	defer r.unlock()
	off = r.offset()
	if r.closed.Load() {
		return 0, off, net.ErrClosed
	}
	w.begin()
	for {
		if w.dry && len(r.ahead) == 0 && r.err == nil {
			if err := w.await(l, patience); err != nil {
				if r.closed.Load() {
					err = net.ErrClosed
				}
				return 0, off, err
			}
		}
		p := l.Lend()
		w.room = len(p)
		n, err = r.fill(w, p)
		if n > 0 || err != nil || len(p) == 0 {
			r.off.Add(uint64(n))
			return n, off, err
		}
	}
}

// fill reads until p is full or reading would wait. The caller has the turn.
func (r *reader) fill(w *wire, p []byte) (n int, err error) {
	for n < len(p) {
		m, err := r.readLocked(p[n:])
		n += m
		switch {
		case err == errNothing: //nolint:errorlint // as wire.Read returns it
			w.dry = true
			return n, nil
		case err != nil && n > 0:
			r.err = err
			return n, nil
		case err != nil:
			w.release() // TLS reads no more
			return 0, err
		}
	}
	return n, nil
}

// Watch watches the Stream below, unless there is something to read already.
func (s *stream) Watch(g *toe.Gate) bool {
	if s.can.Watch == toe.WatchNone {
		return false
	}
	s.mu.Lock()
	open := s.closed || s.handshake != shaken
	s.gate = g
	s.mu.Unlock()
	switch {
	case open, s.in.isReady(s.wire):
		g.Open()
	case !s.wire.Stream.Watch(g):
		return false
	}
	return true
}

// Unwatch ends the watch.
func (s *stream) Unwatch() {
	if s.can.Watch == toe.WatchNone {
		return
	}
	s.mu.Lock()
	s.gate = nil
	s.mu.Unlock()
	s.wire.Stream.Unwatch()
}

// Ready reports whether ReadSegment may have something to read. It is for the caller of
// ReadSegment. The arrived bytes may be only a part of a record, and only a net.Conn from ForTLS
// can be polled.
func (s *stream) Ready() bool {
	if s.wire == nil || s.in.isReady(s.wire) {
		return true
	}
	below, ok := s.wire.Stream.(interface{ Ready() bool })
	return !ok || below.Ready()
}

// isReady reports whether readRecords would return without waiting. No other goroutine may read.
func (r *reader) isReady(w *wire) bool {
	r.lock()
	defer r.unlock()
	w.begin()
	if !w.dry && len(r.ahead) == 0 && r.err == nil {
		n, err := r.fill(w, w.first[:])
		r.setAhead(w.first[:n])
		r.err = err
	}
	return !w.dry || len(r.ahead) > 0 || r.err != nil
}
