package driver

import (
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// unlock updates the flags that other goroutines read without mu, and then unlocks mu.
//
// +checklocksrelease:s.mu
func (s *byteStream) unlock() {
	if s.paid && s.tx.Copies() == 0 {
		s.payBackLocked()
	}
	s.due.Store(s.tx.HasOutput())
	s.waiting.Store(s.tx.IsWaiting())
	if c := s.tx.Counts(); c != s.counted {
		s.noteLocked(c)
	}
	s.mu.Unlock()
}

// queueLocked returns the completion queue for the next request, whose ID is id. If no other
// request is posted, that is the queue first. This is the common case when messages are short.
//
// +checklocks:s.mu
func (s *byteStream) queueLocked(id uint64) *rdmap.CompletionQueue {
	if s.tx.IsWaiting() {
		return &s.cq
	}
	s.firstID = id
	return &s.first
}

// reap passes the Completions of requests to tx. The byte stream then tries again to post what a
// full send queue held back.
func (s *byteStream) reap() {
	if !s.waiting.Load() {
		return
	}
	s.mu.Lock()
	s.reapLocked()
	s.unlockReaped()
}

// unlockReaped unlocks mu after reapLocked, and wakes the Write under way if it waits for no more
// Completions.
//
// +checklocksrelease:s.mu
func (s *byteStream) unlockReaped() {
	_, owns := s.tx.Write()
	waits := s.writing
	s.unlock()
	if waits && !owns {
		s.room.Wake()
	}
}

// +checklocks:s.mu
func (s *byteStream) reapLocked() {
	var done [1]rdmap.Completion
	s.tx.Completed(done[:s.first.Poll(done[:])])
	if s.tx.IsWaiting() {
		s.reapManyLocked()
	}
}

// reapManyLocked is the rest of reapLocked when more than one request was posted. It is a function
// of its own because its array is large, and a short Write does not need it.
//
// +checklocks:s.mu
func (s *byteStream) reapManyLocked() {
	var done [16]rdmap.Completion
	for n := len(done); n == len(done); {
		n = s.cq.Poll(done[:])
		s.tx.Completed(done[:n])
	}
}

// countCredits tells the Receiver how many credits the Sender has given back. Its caller has the
// receive role. tell does the same, but for data that waits for Reads tell is not called.
func (s *byteStream) countCredits() {
	s.mu.Lock()
	s.rx.GaveBack(s.tx.GivenBack())
	s.mu.Unlock()
}

// tell passes to the Sender what a message of the peer means for it.
func (s *byteStream) tell(a bytestream.Arrival, back, window int, answer rdmap.Handle) error {
	s.mu.Lock()
	defer s.unlock()
	s.rx.GaveBack(s.tx.GivenBack())
	switch a.Kind {
	case bytestream.Grant:
		if err := s.tx.Granted(a.Grant); err != nil {
			return err
		}
	case bytestream.Offer:
		s.tx.Answer(answer)
	}
	s.tx.Freed(back, window, a.Buffer == bytestream.ControlBuffer)
	if err := s.tx.Credit(a.Credits); err != nil {
		return err
	}
	if s.writing && (a.Credits > 0 || a.Kind == bytestream.Grant) {
		s.room.Wake()
	}
	return nil
}

// freed notes that Reads have freed buffers. The peer gets back that many credits, and the window
// now has window messages. freed reports whether the credits are due to be sent. They can be due
// even if back is 0: the window is smaller then, and the credits that were owed before may now be
// half of it.
func (s *byteStream) freed(back, window int) (due bool) {
	s.mu.Lock()
	s.tx.Freed(back, window, false)
	s.unlock()
	return s.due.Load()
}
