package extsock

import (
	"io"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock/internal/bufpool"
)

// This file is Write on a byte stream: which way octets go, and what a Write waits for.

const (
	// combine is the length in octets below which a Write is copied, to be sent together with what
	// else is waiting, rather than sent from where it is.
	combine = 8 << 10
	// A writer that has come back within burstGap burstTimes in a row is not kept from its next Write
	// by writing to TCP: another goroutine does that, and sends what has gathered meanwhile.
	burstGap   = 20 * time.Microsecond
	burstTimes = 4
)

// write is Write.
func (s *byteStream) write(p []byte, over <-chan struct{}) (n int, err error) {
	if isClosed(over) {
		return 0, errDeadline
	}
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
	case <-over:
		return 0, errDeadline
	}
	if len(p) < combine {
		return s.writeShort(p, over)
	}
	crossover, err := s.crossover(len(p), over)
	if err != nil || crossover <= 0 || len(p) < crossover || s.offersNothing() {
		return s.writeLong(p, over)
	}
	offered := s.c.cfg.Crossover > 0 || s.choice.next()
	begin := time.Now()
	if offered {
		n, err = s.writeOffered(p, crossover, over)
	} else {
		n, err = s.writeLong(p, over)
	}
	if err == nil {
		s.choice.took(offered, time.Since(begin), n)
	}
	return n, err
}

// crossover returns from which length on a Write may be offered, for one of n octets. An error is that of the
// measurement.
func (s *byteStream) crossover(n int, over <-chan struct{}) (int, error) {
	if v := s.c.crossover(); v != 0 || n < measureFrom {
		return v, nil
	}
	return s.c.measureCrossover(over)
}

// measureFrom is the length in octets of a Write that is worth a measurement.
const measureFrom = 256 << 10

// offersNothing reports whether rendezvous have been given up.
func (s *byteStream) offersNothing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offering.off
}

// writeShort copies p to what is pending.
func (s *byteStream) writeShort(p []byte, over <-chan struct{}) (n int, err error) {
	quick := s.isQuick()
	for {
		s.mu.Lock()
		err := s.errLocked()
		if err == nil {
			n += s.appendLocked(p[n:])
		}
		s.mu.Unlock()
		if err != nil {
			return n, err
		}
		if quick {
			s.p.transmitAside()
		} else {
			s.p.transmit()
		}
		if n == len(p) {
			s.wrote = time.Since(s.begin)
			return n, nil
		}
		if err := s.await(over, false); err != nil {
			return n, err
		}
	}
}

// isQuick reports whether the writer has come back quickly, time after time, and not for an answer to the peer.
func (s *byteStream) isQuick() bool {
	if s.heard.Swap(false) || time.Since(s.begin)-s.wrote > burstGap {
		s.burst = 0
		return false
	}
	s.burst++
	return s.burst >= burstTimes
}

// appendLocked adds as much of p to what is pending as there is room.
//
// +checklocks:s.mu
func (s *byteStream) appendLocked(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	if s.pending != nil {
		s.p.count.combined.Add(1)
	} else {
		if s.offering.open { // its end goes first
			return 0
		}
		if !s.mayPostLocked(reserve) {
			s.stall()
			return 0
		}
		s.credits--
		s.pending = bufpool.GetChunk(headerLen + s.longest)
		s.pending.B = s.pending.B[:headerLen]
	}
	n := min(len(p), headerLen+s.longest-len(s.pending.B))
	s.pending.B = append(s.pending.B, p[:n]...)
	return n
}

// writeLong sends p from where it is, behind what is pending.
func (s *byteStream) writeLong(p []byte, over <-chan struct{}) (n int, err error) {
	for {
		s.mu.Lock()
		if err = s.errLocked(); err == nil {
			n += s.postOwnLocked(p[n:])
		}
		waits := n < len(p) && err == nil
		owns := s.own > 0
		s.mu.Unlock()
		if !waits && !owns {
			return n, err
		}
		s.p.transmit()
		if !waits && !s.owns() {
			return n, err
		}
		if e := s.await(over, owns); e != nil {
			n -= s.takeBack()
			s.p.transmit() // the end of the stream may have waited for this
			if n == len(p) {
				return n, nil // TCP, too, would have taken it by now
			}
			return n, e
		}
	}
}

// postOwnLocked posts as much of p, where it is, as may go out. It returns how many octets that is.
//
// +checklocks:s.mu
func (s *byteStream) postOwnLocked(p []byte) (n int) {
	if s.offering.open || s.pending != nil && !s.postPendingLocked() { // an offer's end goes first
		return 0
	}
	if len(p) > 0 && !s.mayPostLocked(reserve) {
		s.stall()
	}
	for n < len(p) && s.mayPostLocked(reserve) {
		k := min(len(p)-n, s.longest)
		s.credits--
		if !s.postLocked(header{kind: kindData}, p[n:n+k], nil) {
			s.credits++
			break
		}
		s.own++
		n += k
	}
	return n
}

// owns reports whether TCP has not taken all of a Write's own memory yet.
func (s *byteStream) owns() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own > 0
}

// await waits until the writer is to look again. At the end of the connection that is at once, unless what
// it has posted will still be flushed.
func (s *byteStream) await(over <-chan struct{}, owns bool) error {
	ended := s.p.life.over
	if owns {
		ended = nil
	}
	s.p.role.awaitCredits(true)
	defer s.p.role.awaitCredits(false)
	select {
	case <-s.room:
	case <-s.cq.Ready():
		s.reap()
	case <-ended:
	case <-over:
		return errDeadline
	}
	return nil
}

// takeBack ends a Write whose time is over: its memory is the caller's again. It returns how many octets do
// not go out. What has begun to, and all before it, does so from a copy.
func (s *byteStream) takeBack() (n int) {
	s.mu.Lock()
	for id := s.tail; id > s.head; id-- {
		if e := s.at(id - 1); e.own && !s.p.qp.Cancel(s.cq, id-1) {
			break // and those before it have been given out, too
		}
	}
	n = s.reapLocked()
	owns := s.own > 0
	s.mu.Unlock()
	if owns {
		s.p.detach(nil) // no message of the stream is too long for it
		s.mu.Lock()
		for id := s.head; id < s.tail; id++ {
			s.at(id).own = false
		}
		s.own = 0
		s.mu.Unlock()
	}
	return n
}

// errLocked says why nothing can be written any more.
//
// +checklocks:s.mu
func (s *byteStream) errLocked() error {
	if s.closed != nil {
		return s.closed
	}
	if isClosed(s.p.life.over) {
		return asWriteError(s.p.why())
	}
	return nil
}

// asWriteError is what TCP says to a writer whose peer has gone.
func asWriteError(err error) error {
	if err == io.EOF { //nolint:errorlint // as the pump notes it
		return syscall.EPIPE
	}
	return err
}

// stall notes that a Write finds no credits.
func (s *byteStream) stall() {
	s.p.count.stalls.Add(1)
	s.p.traceStall()
}
