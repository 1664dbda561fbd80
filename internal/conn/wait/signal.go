package wait

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A Signal is a condition that any number of goroutines can wait for with a select. The zero value
// is ready.
type Signal struct {
	waiting atomic.Bool
	mu      locks.Mutex[locks.Signal]
	c       chan struct{} // +checklocks:mu
}

// Wait returns a channel that the next Broadcast closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	s.waiting.Store(true)
	return s.c
}

// Broadcast wakes all goroutines that wait on a channel of Wait.
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

// Wake puts a value into c, a channel of capacity 1, unless c already holds a value.
func Wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
