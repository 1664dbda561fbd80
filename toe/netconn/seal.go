package netconn

import (
	"errors"

	"github.com/rddp/rddp/internal/locks"
)

// errKeyUpdates means that the peer asks for new keys again and again and does not read the
// answers.
var errKeyUpdates = errors.New("netconn: the peer asks for new keys and does not read")

// mayAbsorb reports whether TLS may write without waiting for TCP: the handshake is done, and the
// send buffer is empty.
//
// +checklocks:s.mu
func (s *stream) mayAbsorb() bool {
	if s.wire == nil || s.handshake != shaken || s.shut || s.closed {
		return false
	}
	if !s.absorbs && s.out.empty() && !s.feeding {
		s.absorbs = true
	}
	return s.absorbs
}

// seal makes records of bufs, until TCP takes no more. It returns how many bytes are in these
// records. If wait is set, it waits for TCP until it has written everything. The caller has the
// turn.
//
// +checklocks:s.mu
func (s *stream) seal(bufs [][]byte, wait bool) (n int, err error) {
	g := gatherer{bufs: bufs, copies: !s.oneLook}
	defer g.end()
	for {
		if err := s.writeErr(wait); err != nil {
			return n, err
		}
		if !s.sealed.empty() {
			if !wait {
				return n, nil
			}
			s.changed.Wait()
			continue
		}
		var record []byte
		locks.Unlocked(&s.mu, func() {
			if record = g.next(); len(record) > 0 {
				_, err = s.conn.Write(record)
			}
		})
		if err != nil {
			s.fail(err)
			return n, s.err
		}
		if n += len(record); len(record) == 0 {
			return n, nil
		}
	}
}

// A gatherer cuts a batch into pieces of the length of a record. It copies short slices together,
// and all slices if copies is set.
type gatherer struct {
	bufs    [][]byte // does not change
	copies  bool     // does not change
	first   int      // index in bufs of the next slice
	used    int      // bytes of bufs[first] that have been returned
	scratch *[chunkSize]byte
}

// next returns the next piece, which is valid until the next call, and is empty after the last one.
func (g *gatherer) next() []byte {
	n := 0
	for g.first < len(g.bufs) && n < chunkSize {
		b := g.bufs[g.first][g.used:]
		if n == 0 && len(b) >= chunkSize && !g.copies {
			g.used += chunkSize
			return b[:chunkSize]
		}
		if len(b) > 0 && g.scratch == nil {
			g.scratch = scratch.Get().(*[chunkSize]byte)
		}
		if len(b) > 0 {
			m := copy(g.scratch[n:], b)
			n += m
			if g.used += m; m < len(b) {
				continue
			}
		}
		g.first, g.used = g.first+1, 0
	}
	if n == 0 {
		return nil
	}
	return g.scratch[:n]
}

func (g *gatherer) end() {
	if g.scratch != nil {
		scratch.Put(g.scratch)
	}
}

// Write takes a record from TLS. When the stream above absorbs, Write does not wait: bytes that TCP
// does not take remain in sealed.
func (w *wire) Write(p []byte) (n int, err error) {
	s := w.above
	if s == nil {
		return w.Stream.Write(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.absorbs {
		locks.Unlocked(&s.mu, func() { n, err = w.Stream.Write(p) })
		return n, err
	}
	s.sealing = true
	defer s.endSealing()
	if s.sealed.empty() {
		locks.Unlocked(&s.mu, func() {
			w.one[0] = p
			n, err = w.Stream.TryWriteBatch(w.one[:])
			w.one[0] = nil
		})
	}
	if err == nil {
		err = s.absorb(p[n:])
	}
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// endSealing records that TLS is not writing a record.
//
// +checklocks:s.mu
func (s *stream) endSealing() {
	s.sealing = false
	s.changed.Broadcast()
}

// absorb keeps bytes of a record until TCP takes them. There is room for a record and for many
// answers to requests for new keys.
//
// +checklocks:s.mu
func (s *stream) absorb(p []byte) error {
	for len(p) > 0 {
		if s.sealed.full() {
			return errKeyUpdates
		}
		p = p[s.sealed.put(p):]
		s.startFeed()
	}
	return nil
}

// flushSealed writes the sealed bytes to TCP, and waits for TCP.
//
// +checklocks:s.mu
func (s *stream) flushSealed() {
	chunk := s.sealed.chunk()
	err := s.callUnlocked(func() error {
		_, err := s.wire.Stream.Write(chunk)
		return err
	})
	s.sealed.drop(len(chunk))
	if s.sealed.empty() {
		s.sealed.release()
	}
	s.fail(err)
}

// stopAbsorbing makes TLS write through to TCP again, because its last messages may wait. It first
// waits for the record in progress and the write that makes it, because TLS would refuse a record
// after its last messages.
//
// +checklocks:s.mu
func (s *stream) stopAbsorbing() {
	if s.sealing || s.writing {
		s.changed.Wait()
		return
	}
	s.absorbs = false
}
