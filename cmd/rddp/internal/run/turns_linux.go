//go:build amd64 || arm64

package run

import (
	"sync/atomic"
	"time"
)

// turns answers calls, one after the other, by one goroutine: that costs the least. But an answer
// may wait, because of the program whose call it is: a page of its memory may be on a disk or a
// network, and never come. Then another goroutine takes the turn, and the calls of all others go
// on.
//
// The goroutine that watches does so only while there are calls.
type turns[C any] struct {
	next   func() (C, error) // returns the next call, to one goroutine at a time
	answer func(C)           // may be called by several goroutines

	// at counts the beginnings and the ends of turns. It is odd while a call is being answered.
	// Whoever makes it even has the next turn.
	at    atomic.Uint64
	slow  atomic.Int32 // answers that have lost their turn
	awake atomic.Bool  // somebody watches
	wake  chan struct{}
	ended chan error
}

const (
	// turnMost is how long an answer may take before another goroutine takes the turn. It may be
	// twice as long.
	turnMost = 20 * time.Millisecond
	// slowMost is how many answers may wait. Each of them keeps a thread of this process.
	slowMost = 512
)

// run answers calls until next fails. It returns that error; slow answers may still be under way.
func (t *turns[C]) run() error {
	t.wake, t.ended = make(chan struct{}, 1), make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	go t.watch(over)
	go t.serve()
	return <-t.ended
}

// serve answers calls until another goroutine has the turn.
func (t *turns[C]) serve() {
	for {
		c, err := t.next()
		if err != nil {
			t.ended <- err
			return
		}
		at := t.at.Add(1)
		if t.awake.CompareAndSwap(false, true) {
			t.wake <- struct{}{}
		}
		t.answer(c)
		if !t.at.CompareAndSwap(at, at+1) {
			t.slow.Add(-1)
			return
		}
	}
}

// watch takes the turn of answers that take too long.
func (t *turns[C]) watch(over <-chan struct{}) {
	tick := time.NewTicker(turnMost)
	defer tick.Stop()
	tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-t.wake:
		}
		tick.Reset(turnMost)
	busy:
		for last := uint64(0); ; {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			at := t.at.Load()
			if at == last && at%2 == 0 {
				break busy // nobody calls
			}
			if at == last && t.slow.Load() < slowMost {
				t.slow.Add(1)
				if t.at.CompareAndSwap(at, at+1) {
					go t.serve()
				} else {
					t.slow.Add(-1) // it has just ended
				}
			}
			last = at
		}
		tick.Stop()
		t.awake.Store(false)
		if t.at.Load()%2 == 1 && t.awake.CompareAndSwap(false, true) { // a call has come meanwhile
			t.wake <- struct{}{}
		}
	}
}
