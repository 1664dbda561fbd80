package driver

import (
	"testing"
	"time"

	"github.com/rddp/rddp/toe"
)

// A deadlineStream records its read deadline.
type deadlineStream struct {
	toe.Stream
	deadline time.Time
}

func (s *deadlineStream) SetReadDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

// TestInterruptKeepsTheBound: resume ends an interrupt and restores the deadline that was set last,
// before the interrupt or during it.
func TestInterruptKeepsTheBound(t *testing.T) {
	var s deadlineStream
	b := readBound{stream: &s}
	first, second := time.Unix(1000, 0), time.Unix(2000, 0)
	if b.resume() || !s.deadline.IsZero() {
		t.Errorf("there was no interrupt, and resume has set %v", s.deadline)
	}
	b.set(first)
	b.interrupt()
	if !s.deadline.Before(first) {
		t.Errorf("interrupted, and the deadline is %v", s.deadline)
	}
	if !b.resume() || s.deadline != first {
		t.Errorf("the deadline is %v, want the one from before the interrupt", s.deadline)
	}
	b.interrupt()
	b.set(second)
	if !s.deadline.Before(first) {
		t.Errorf("still interrupted, and the deadline is %v", s.deadline)
	}
	if !b.resume() || s.deadline != second || b.resume() {
		t.Errorf("the deadline is %v, want the one that was set during the interrupt", s.deadline)
	}
}
