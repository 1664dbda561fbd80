package extsock

import (
	"net"
	"os"

	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/wait"
)

// look is Look of the driver for the byte stream of rsockets.
func (s *rsocket) look(p []byte, limit *wait.Deadline, show driver.Show) error {
	if limit.HasPassed() {
		return os.ErrDeadlineExceeded
	}
	looks := s.beginLook()
	defer s.endLook(looks)
	for seen := -1; ; {
		received := s.received.Load()
		if err := s.receiveWaiting(limit); err != nil {
			return err
		}
		n, end, err := s.unread(p)
		if err != nil {
			return err
		}
		if n > seen || end != nil {
			used, enough := show(p[:n], end)
			s.use(used)
			if enough {
				return nil
			}
			if seen = n; used > 0 {
				seen = max(n-used-1, 0) // show has not seen what is left at the beginning
				continue
			}
		}
		if end == nil {
			err = s.await(s.arrived, nil, received, limit)
		} else {
			err = s.awaitClose(limit)
		}
		if err != nil {
			return err
		}
	}
}

// beginLook takes the turn in looks. Reads and other looks wait for it until endLook.
func (s *rsocket) beginLook() (looks chan struct{}) {
	s.mu.Lock()
	if looks = s.looks; looks == nil {
		looks = make(chan struct{}, 1)
		s.looks = looks
	}
	s.mu.Unlock()
	looks <- struct{}{}
	return looks
}

// endLook ends a look. After the first look, Reads always take turns.
func (s *rsocket) endLook(looks chan struct{}) {
	<-looks
	wait.Wake(s.arrived) // a Read that began before it may wait
}

// receiveWaiting acts on the words that have arrived, unless another call receives. The error is
// that of the deadline.
func (s *rsocket) receiveWaiting(limit *wait.Deadline) error {
	select {
	case <-s.receiving:
	default:
		return nil
	}
	defer func() { s.receiving <- struct{}{} }()
	var end error
	err := s.Driver.Look(s.word[:], limit, func(word []byte, e error) (int, bool) {
		if len(word) == 0 {
			end = e
		}
		return 0, true
	})
	if err == os.ErrDeadlineExceeded { //nolint:errorlint // as Look returns it
		return err
	}
	if n, ok := s.Driver.TakeMessage(s.word[:]); ok {
		end = s.actAll(n)
	}
	if end != nil {
		s.mu.Lock()
		s.inErr = end
		s.mu.Unlock()
	}
	s.received.Add(1) // before another call can receive: see receiveAfter
	wait.Wake(s.room)
	return nil
}

// unread copies to p what a Read of p would return. end is the error of a Read that finds no data.
func (s *rsocket) unread(p []byte) (n int, end, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c.isClosed() {
		return 0, nil, net.ErrClosed
	}
	off, m := s.rx.Unread()
	if n = copy(p, s.memory[off:off+m]); n == 0 {
		end = s.endedLocked()
	}
	return n, end, nil
}

// use takes n bytes that a look has shown.
func (s *rsocket) use(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.unlock()
	s.rx.Take(n)
	s.tellLocked()
}

// awaitClose waits for Close. The error is that of the deadline.
func (s *rsocket) awaitClose(limit *wait.Deadline) error {
	select {
	case <-s.c.startup.Closed().Done():
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
}
