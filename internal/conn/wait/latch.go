package wait

import "sync/atomic"

// A Latch is a condition that becomes true once and stays true. Goroutines can wait for it with a
// select. To look at a Latch costs one load from the memory of its owner, whereas a channel would
// be other memory. The channel is made when a goroutine first waits. The zero value is a condition
// that is false.
type Latch struct {
	set  atomic.Bool
	done atomic.Pointer[chan struct{}] // nil: no goroutine has waited; &closed: the condition is true
}

// closed is the channel of the Latches that are set.
var closed = make(chan struct{})

func init() { close(closed) }

// Set makes the condition true. It must be called only once.
func (l *Latch) Set() {
	l.set.Store(true)
	if c := l.done.Swap(&closed); c != nil {
		close(*c)
	}
}

// IsSet reports whether the condition is true.
func (l *Latch) IsSet() bool { return l.set.Load() }

// Done returns a channel that is closed once Set has been called.
func (l *Latch) Done() <-chan struct{} {
	c := l.done.Load()
	if c == nil {
		made := make(chan struct{})
		if l.done.CompareAndSwap(nil, &made) {
			return made
		}
		c = l.done.Load()
	}
	return *c
}
