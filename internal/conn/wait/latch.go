package wait

import "sync/atomic"

// A Latch is a condition that becomes true once and stays true. Goroutines can wait for it with a
// select. To look at a Latch costs one load from the memory of its owner, whereas a channel would
// be other memory.
type Latch struct {
	set  atomic.Bool
	done chan struct{}
}

// Init must be called before the other methods.
func (l *Latch) Init() { l.done = make(chan struct{}) }

// Set makes the condition true. It must be called only once.
func (l *Latch) Set() {
	l.set.Store(true)
	close(l.done)
}

// IsSet reports whether the condition is true.
func (l *Latch) IsSet() bool { return l.set.Load() }

// Done returns a channel that Set closes.
func (l *Latch) Done() <-chan struct{} { return l.done }
