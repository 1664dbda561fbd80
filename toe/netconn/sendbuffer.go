package netconn

import (
	"sync"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/panics"
)

const (
	// sendSize is the size of a send buffer in bytes: four of the largest TLS records, so that one
	// can be written while the next ones are gathered.
	sendSize = 64 << 10

	// chunkSize is the maximum number of bytes that feed writes at a time: the largest TLS record.
	chunkSize = 16 << 10
)

// sendBuffers holds *[sendSize]byte buffers, scratch *[chunkSize]byte ones.
var (
	sendBuffers = sync.Pool{New: func() any { return new([sendSize]byte) }}
	scratch     = sync.Pool{New: func() any { return new([chunkSize]byte) }}
)

// A sendBuffer is a ring of bytes that holds no memory while it is empty.
type sendBuffer struct {
	buf   *[sendSize]byte // nil while empty
	first int             // index in buf of the first byte
	size  int             // bytes in buf
}

func (b *sendBuffer) full() bool  { return b.size == sendSize }
func (b *sendBuffer) empty() bool { return b.size == 0 }

// put copies as much of p as fits without wrapping, and returns the number of bytes.
func (b *sendBuffer) put(p []byte) (n int) {
	if b.buf == nil {
		b.buf = sendBuffers.Get().(*[sendSize]byte)
	}
	free := b.buf[(b.first+b.size)%sendSize:]
	n = copy(free[:min(len(free), sendSize-b.size)], p)
	b.size += n
	return n
}

// chunk returns the bytes to write next.
func (b *sendBuffer) chunk() []byte {
	return b.buf[b.first:min(b.first+b.size, b.first+chunkSize, sendSize)]
}

// drop removes the first n bytes.
func (b *sendBuffer) drop(n int) {
	b.first = (b.first + n) % sendSize
	b.size -= n
}

// release returns the memory to the pool, and drops the bytes in it.
func (b *sendBuffer) release() {
	if b.buf != nil {
		sendBuffers.Put(b.buf)
		*b = sendBuffer{}
	}
}

// startFeed starts feed unless it runs. feed itself finds out what to do.
//
// +checklocks:s.mu
func (s *stream) startFeed() {
	if !s.feeding {
		s.feeding = true
		go s.feedFunc()
	}
}

// feed empties the send buffer into conn. Then it half-closes and closes conn if that was asked
// for.
func (s *stream) feed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.out.empty() || s.err != nil {
			s.out.release()
		}
		if s.err != nil {
			s.sealed.release()
		}
		switch owed := !s.out.empty() || s.err == nil && s.shut && !s.shutOut; {
		case !s.sealed.empty():
			s.flushSealed()
		case owed && s.handshake != shaken:
			s.startHandshake()
			s.changed.Wait()
		case !s.out.empty():
			chunk := s.out.chunk()
			err := s.callUnlocked(func() error {
				_, err := s.conn.Write(chunk)
				return err
			})
			s.out.drop(len(chunk))
			s.fail(err)
		case (owed || s.closed) && s.absorbs:
			s.stopAbsorbing()
		case owed:
			s.shutOut = true
			s.fail(s.callUnlocked(s.closeConnWrite))
		case s.aborting > 0: // an orderly end would be faster
			s.changed.Wait()
		case s.closed:
			_ = s.callUnlocked(s.conn.Close) // an error could only be about an alert that nobody reads
			if s.linger != nil {
				s.linger.Stop()
			}
			s.rest()
			return
		default:
			s.rest()
			s.fail(panics.Guard(s.restoreConnDeadline))
			return
		}
	}
}

// callUnlocked calls f, which calls conn, for feed. A panic becomes an error.
//
// +checklocks:s.mu
func (s *stream) callUnlocked(f func() error) (err error) {
	locks.Unlocked(&s.mu, func() { err = panics.Guard(f) })
	return err
}

// restoreConnDeadline restores the write deadline of conn, which feed had removed.
//
// +checklocks:s.mu
func (s *stream) restoreConnDeadline() error {
	s.moveConnDeadline(s.writeDeadline.At())
	return nil
}

// rest records that feed ends: everything is done, or nothing can be done.
//
// +checklocks:s.mu
func (s *stream) rest() {
	s.feeding = false
	s.changed.Broadcast()
}

// fail records err, the result of a call of conn, if it is not nil, and wakes all waiting
// goroutines.
//
// +checklocks:s.mu
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}
