package wait

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A Signal is a condition that many can wait for with a select.
type Signal struct {
	waiting atomic.Bool
	mu      locks.Mutex[locks.Signal]
	c       chan struct{} // +checklocks:mu
}

// Wait returns a channel that the next broadcast closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	s.waiting.Store(true)
	return s.c
}

func (s *Signal) Broadcast() {
	if !s.waiting.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
	s.waiting.Store(false)
}

// Wake puts a value into a channel of capacity 1, unless one is there.
func Wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
