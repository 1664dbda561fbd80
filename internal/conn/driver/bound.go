package driver

import (
	"errors"
	"net"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// A readBound is the stream's read deadline. It bounds how long receiving goes on, and for a moment
// it interrupts the goroutine that receives. An interrupt is not a state of the connection's life,
// which goes on after it. Any goroutine may call its methods, which take its lock.
type readBound struct {
	stream toe.Stream

	mu locks.Mutex[locks.ReadBound]
	// the deadline apart from interrupts
	until       time.Time // +checklocks:mu
	interrupted bool      // +checklocks:mu
}

// interrupt makes the goroutine that reads from the stream return.
func (b *readBound) interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = true
	b.stream.SetReadDeadline(time.Unix(1, 0))
}

// interruptAt is interrupt at t. It replaces an interrupt that is not undone yet.
func (b *readBound) interruptAt(t time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = true
	b.stream.SetReadDeadline(t)
}

// nudge is interrupt, unless there is an interrupt already, or interruptAt has set a time for one.
func (b *readBound) nudge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.interrupted {
		b.interrupted = true
		b.stream.SetReadDeadline(time.Unix(1, 0))
	}
}

// resume undoes interrupt and reports whether there was one.
func (b *readBound) resume() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.interrupted
	if was {
		b.interrupted = false
		b.stream.SetReadDeadline(b.until)
	}
	return was
}

// set bounds how long receiving goes on. It reports false if the stream has no deadlines.
func (b *readBound) set(t time.Time) (bounded bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = t
	if b.interrupted {
		return true
	}
	err := b.stream.SetReadDeadline(t)
	// A stream that is closed needs none, and a timer would keep all of the connection until it is
	// due.
	return err == nil || errors.Is(err, net.ErrClosed)
}
