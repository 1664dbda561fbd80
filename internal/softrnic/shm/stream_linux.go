package shm

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A Stream is one end of a connection. Its addresses are of type Addr.
type Stream struct {
	local, remote net.Addr
	unmap         func() error // gives up the shared memory
	isLocal       bool         // the peer is in this process, and gets parcels

	in     *half
	data   bell                       // rings when there are bytes
	readMu locks.Mutex[locks.ShmRead] // held by the reader
	off    uint64                     // bytes that ReadSegment has read
	lender toe.Lender                 // of the current ReadSegment; nil in a Read
	watch  *kernel.UnixStream         // data's socket, which implements Watch
	gate   atomic.Pointer[toe.Gate]   // of the watch; nil if there is none

	out     *half
	room    bell                        // rings when there is room
	writeMu locks.Mutex[locks.ShmWrite] // held by Write

	gone   atomic.Bool // the peer has closed the connection, or has died
	closed atomic.Bool
}

var (
	_ toe.Stream = (*Stream)(nil)
	_ toe.Passer = (*Stream)(nil)
)

// newStream makes a Stream from a connection's memory and its two sockets, and takes ownership of
// them. The dialing end has number 0, the other 1.
func newStream(number int, file []byte, data, room *net.UnixConn, local, remote net.Addr) (*Stream, error) {
	s := &Stream{
		local: local, remote: remote, unmap: func() error { return unix.Munmap(file) },
		out: newHalf(file, number), in: newHalf(file, 1-number),
	}
	s.watch = kernel.NewUnix(data).(*kernel.UnixStream)
	gone := func() { s.gone.Store(true) }
	err := errors.Join(s.data.init(data, s.hasSegment, gone), s.room.init(room, s.hasRoom, gone))
	return s, err
}

// Reading.

// readableLocked returns the number of bytes that can be read. If there are none and none will
// come, err is the reason.
//
// +checklocks:s.in.mu
func (s *Stream) readableLocked() (n int, err error) {
	if s.closed.Load() {
		return 0, net.ErrClosed
	}
	// Load the end before the bytes: the peer ends the stream after it has put the last bytes in.
	gone, end := s.gone.Load(), s.in.head.ended.Load()
	n, err = s.in.availableLocked()
	switch {
	case n > 0 || err != nil:
	case end == reset:
		err = syscall.ECONNRESET
	case end != open || gone: // the kernel ends a TCP connection of a dead process in the same way
		err = io.EOF
	}
	return n, err
}

// hasData reports whether there is something to read. If not, the peer will ring when there is.
func (s *Stream) hasData() bool {
	s.in.mu.Lock()
	n, err := s.readableLocked()
	if n == 0 && err == nil {
		s.in.head.asleep.Store(1)
		n, err = s.readableLocked()
	}
	s.in.mu.Unlock()
	return n > 0 || err != nil
}

// hasSegment is hasData for the reader. If the reader must wait, it returns borrowed memory to its
// lender.
func (s *Stream) hasSegment() bool {
	if s.hasData() {
		return true
	}
	if s.lender != nil {
		s.lender.TakeBack()
	}
	return false
}

// ReadSegment borrows no memory before there is something to read. It ignores the patience, which
// gained nothing on two processors that the programs needed too.
func (s *Stream) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	s.readMu.Lock()
	defer s.readMu.Unlock()
	s.lender = l
	err = s.data.wait()
	s.lender = nil
	if err != nil {
		return 0, s.off, err
	}
	if n = s.borrow(l); n == 0 {
		n, err = s.take(l.Lend())
	}
	off = s.off
	s.off += uint64(n)
	return n, off, err
}

// borrow gives the next bytes of the stream to a reader that takes them in their parcel. n is 0 if
// they are not in one, or if the reader wants a copy.
func (s *Stream) borrow(l toe.Lender) (n int) {
	b, can := l.(toe.Borrower)
	r := s.nextParcel()
	if !can || r == nil || !b.Borrow(r.p) {
		return 0
	}
	n = r.n
	s.in.mu.Lock()
	s.in.passed.take()
	wake := !s.closed.Load() && s.in.tookLocked(n) // otherwise the memory is gone
	s.in.mu.Unlock()
	s.took(wake)
	return n
}

// nextParcel returns the parcel whose bytes come next in the stream, or nil.
func (s *Stream) nextParcel() *ref {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if n, err := s.readableLocked(); n == 0 || err != nil { // take says why
		return nil
	}
	return s.in.parcelLocked()
}

// NewParcel returns a Parcel that the stream passes without a copy when its payload is written,
// from the first byte on. It returns nil if the peer is in another process, or if n bytes are too
// few or too many.
func (s *Stream) NewParcel(n int) toe.Parcel {
	if !s.isLocal || n < passedFrom || n > parcelSize-parcelStart {
		return nil
	}
	p := NewParcel()
	p.offer = offer{p, s}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.offered = append(s.out.offered, p)
	return &p.offer
}

// withdraw ends the offer of p.
func (s *Stream) withdraw(p *Parcel) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.withdrawLocked(p)
}

// take copies bytes to p. The caller has waited for them.
func (s *Stream) take(p []byte) (n int, err error) {
	s.in.mu.Lock()
	n, err = s.readableLocked()
	wake := false
	switch {
	case n > 0:
		n, wake, err = s.in.takeLocked(p)
	case err == nil: // there were bytes, but they have disappeared
		err = errPeer
	}
	s.in.mu.Unlock()
	s.took(wake)
	if err != nil {
		n = 0
	}
	return n, s.opError("read", err)
}

// took is called when bytes have been taken. wake says that the writer must be woken.
func (s *Stream) took(wake bool) {
	if wake {
		s.room.ring()
	}
	if g := s.gate.Load(); g != nil && s.hasData() { // wait may have consumed the bell for the remaining bytes
		g.Open()
	}
}

func (s *Stream) Read(p []byte) (n int, err error) {
	s.readMu.Lock()
	defer s.readMu.Unlock()
	if len(p) == 0 && !s.closed.Load() {
		return 0, nil
	}
	if err := s.data.wait(); err != nil {
		return 0, err
	}
	return s.take(p)
}

func (s *Stream) Pending() (int, error) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	n, err := s.readableLocked()
	if err == net.ErrClosed || err == errPeer {
		return 0, s.opError("pending", err)
	}
	return n, nil
}

// Watch watches the socket on which the peer rings for bytes.
func (s *Stream) Watch(g *toe.Gate) bool {
	s.gate.Store(g)
	if s.hasData() || s.data.hear() {
		s.watch.Unwatch()
		g.Open()
		return true
	}
	return s.watch.Watch(g)
}

func (s *Stream) Unwatch() {
	s.gate.Store(nil)
	s.watch.Unwatch()
}

// Writing.

// writableLocked returns the number of bytes that can be written, or the error why none can.
//
// +checklocks:s.out.mu
func (s *Stream) writableLocked() (int, error) {
	switch {
	case s.closed.Load():
		return 0, net.ErrClosed
	case s.gone.Load(), s.out.head.closed.Load() != 0, s.out.head.ended.Load() != open:
		return 0, syscall.EPIPE
	}
	return s.out.roomLocked()
}

// hasRoom reports whether there is enough room to write. If not, the peer will ring when there is.
func (s *Stream) hasRoom() bool {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	want := s.out.want
	n, err := s.writableLocked()
	if n < want && err == nil {
		s.out.head.wanted.Store(uint32(want))
		n, err = s.writableLocked()
	}
	return n >= want || err != nil
}

// TryWriteBatch lets the peer begin to read before all bytes are copied.
func (s *Stream) TryWriteBatch(bufs [][]byte) (n int, err error) {
	s.out.mu.Lock()
	room, err := s.writableLocked()
	shown, wake := 0, false
	for i := 0; i < len(bufs) && err == nil && room > 0; i++ {
		if p := s.out.offersLocked(bufs[i]); p != nil {
			m := len(bufs[i])
			if m > room {
				room = 0 // it goes whole
				break
			}
			s.out.passLocked(p, m)
			n, room = n+m, room-m
			continue
		}
		for b := bufs[i]; len(b) > 0 && room > 0; {
			m := s.out.putLocked(b[:min(len(b), publishEvery)], room)
			b, n, room = b[m:], n+m, room-m
			if n-shown >= publishEvery {
				shown = n
				if s.out.publishLocked() {
					s.data.ring()
				}
			}
		}
	}
	if n > shown {
		wake = s.out.publishLocked()
	}
	s.out.want = 1
	if room == 0 {
		s.out.want = roomFrom
	}
	s.out.mu.Unlock()
	if wake {
		s.data.ring()
	}
	return n, s.opError("write", err)
}

// WaitWritable waits for any room or, if the last write has filled the ring, until a quarter of it
// is free.
func (s *Stream) WaitWritable() error {
	err := s.room.wait()
	if errors.Is(err, os.ErrDeadlineExceeded) && s.isFinished() {
		return nil // CloseWrite has ended the wait
	}
	return err
}

// isFinished reports whether this end has ended the stream.
func (s *Stream) isFinished() bool {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return !s.closed.Load() && s.out.head.ended.Load() != open
}

func (s *Stream) Write(p []byte) (n int, err error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	for {
		if err := s.WaitWritable(); err != nil { // also checks the deadline
			return n, err
		}
		m, err := s.TryWriteBatch([][]byte{p[n:]})
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush returns nil, since all written bytes are already in the shared memory.
func (s *Stream) Flush(time.Duration) error { return nil }

// The end.

// CloseWrite ends the stream after the bytes that were written.
func (s *Stream) CloseWrite() error {
	s.out.mu.Lock()
	if s.closed.Load() {
		s.out.mu.Unlock()
		return s.opError("close", net.ErrClosed)
	}
	s.out.head.ended.CompareAndSwap(open, finished)
	wake := s.out.publishLocked()
	s.out.mu.Unlock()
	if wake {
		s.data.ring()
	}
	return s.opError("close", s.room.setDeadline(time.Unix(1, 0))) // wakes a writer that waits for room
}

// Close ends both directions. The peer can still read what was written before.
func (s *Stream) Close() error { return s.close(finished) }

// Abort is Close, but the peer sees a reset.
func (s *Stream) Abort() error { return s.close(reset) }

func (s *Stream) close(how ending) error {
	if s.closed.Swap(true) {
		return s.opError("close", net.ErrClosed)
	}
	s.out.mu.Lock()
	if how == reset {
		s.out.head.ended.Store(reset)
	} else {
		s.out.head.ended.CompareAndSwap(open, how)
	}
	s.out.mu.Unlock()
	s.in.mu.Lock()
	s.in.head.closed.Store(1)
	s.in.mu.Unlock()
	// Closing the sockets wakes the peer and the waiting goroutines of this end.
	err := errors.Join(s.watch.Close(), s.room.conn.Close())
	s.out.forget()
	s.in.forget()
	return s.opError("close", errors.Join(err, s.unmap()))
}

func (s *Stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

func (s *Stream) SetReadDeadline(t time.Time) error  { return s.data.setDeadline(t) }
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.room.setDeadline(t) }

func (s *Stream) LocalAddr() net.Addr  { return s.local }
func (s *Stream) RemoteAddr() net.Addr { return s.remote }

// EMSS returns the default, since there are no segments.
func (s *Stream) EMSS() int { return toe.DefaultEMSS }

// Capabilities returns the capabilities of TCP.
func (s *Stream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true, Pending: true, Watch: toe.WatchOutside}
}

// opError wraps err as package net does.
func (s *Stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if e, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, e)
	}
	return &net.OpError{Op: op, Net: "shm", Source: s.local, Addr: s.remote, Err: err}
}
