//go:build amd64 || arm64

package run

import (
	"sync/atomic"
	"time"
)

// turns answers calls one after the other in one goroutine, which costs the least. But an answer
// may wait for the calling program: a page of its memory may be on a disk or a network, and may
// never arrive. Then another goroutine takes the turn, so other calls don't wait.
//
// The watching goroutine runs only while there are calls.
type turns[C any] struct {
	next   func() (C, error) // returns the next call, to one goroutine at a time
	answer func(C)           // may be called by several goroutines

	// at counts the beginnings and the ends of turns. It is odd while a call is being answered. The
	// goroutine that makes it even has the next turn.
	at    atomic.Uint64
	slow  atomic.Int32 // answers that have lost their turn
	awake atomic.Bool  // watch is watching
	wake  chan struct{}
	ended chan error
}

const (
	// turnMost is how long an answer may take before another goroutine takes the turn. It may take
	// up to twice as long until watch notices.
	turnMost = 20 * time.Millisecond
	// slowMost is the maximum number of slow answers. Each occupies a thread of this process.
	slowMost = 512
)

// run answers calls until next fails, and returns its error. Slow answers may still be running
// then.
func (t *turns[C]) run() error {
	t.wake, t.ended = make(chan struct{}, 1), make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	go t.watch(over)
	go t.serve()
	return <-t.ended
}

// serve answers calls until another goroutine takes the turn.
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

// watch takes the turn away from answers that take too long.
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
				break busy // no call in the last interval
			}
			if at == last && t.slow.Load() < slowMost {
				t.slow.Add(1)
				if t.at.CompareAndSwap(at, at+1) {
					go t.serve()
				} else {
					t.slow.Add(-1) // the answer has just ended
				}
			}
			last = at
		}
		tick.Stop()
		t.awake.Store(false)
		if t.at.Load()%2 == 1 && t.awake.CompareAndSwap(false, true) { // a call arrived in the meantime
			t.wake <- struct{}{}
		}
	}
}
