//go:build amd64 || arm64

package run

import (
	"sync/atomic"
	"time"
)

// A turn is the right to do work that comes, one piece after the other, in one goroutine, which
// costs the least. But a piece may wait for a program: a page of its memory may be on a disk or a
// network, and may never arrive. Then another goroutine takes the turn, so other programs don't
// wait.
//
// The watching goroutine runs only while there is work.
type turn struct {
	// serve begins and ends the pieces of work, until end returns false. watch starts it anew.
	serve func()

	// at counts the beginnings and the ends of pieces. It is odd while one is being done. The
	// goroutine that makes it even has the next turn.
	at    atomic.Uint64
	slow  atomic.Int32 // pieces that have lost their turn
	awake atomic.Bool  // watch is watching
	wake  chan struct{}
}

const (
	// turnMost is how long a piece may take before another goroutine takes the turn. It may take up
	// to twice as long until watch notices.
	turnMost = 20 * time.Millisecond
	// slowMost is the maximum number of slow pieces. Each occupies a thread of this process.
	slowMost = 512
)

// start starts the goroutines of t, until over is closed.
func (t *turn) start(over <-chan struct{}) {
	t.wake = make(chan struct{}, 1)
	go t.watch(over)
	go t.serve()
}

// begin begins a piece of work, and end ends it. end returns false if another goroutine has taken
// the turn.
func (t *turn) begin() (at uint64) {
	at = t.at.Add(1)
	if !t.awake.Load() && t.awake.CompareAndSwap(false, true) {
		t.wake <- struct{}{}
	}
	return at
}

func (t *turn) end(at uint64) bool {
	if t.at.CompareAndSwap(at, at+1) {
		return true
	}
	t.slow.Add(-1)
	return false
}

// watch takes the turn away from a piece that takes too long.
func (t *turn) watch(over <-chan struct{}) {
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

// turns answers calls, in turns.
type turns[C any] struct {
	turn
	next   func() (C, error) // returns the next call, to one goroutine at a time
	answer func(C)           // may be called by several goroutines
	ended  chan error
}

// run answers calls until next fails, and returns its error. Slow answers may still be running
// then.
func (t *turns[C]) run() error {
	t.serve, t.ended = t.answerAll, make(chan error, 1)
	over := make(chan struct{})
	defer close(over)
	t.start(over)
	return <-t.ended
}

// answerAll answers calls until another goroutine takes the turn.
func (t *turns[C]) answerAll() {
	for {
		c, err := t.next()
		if err != nil {
			t.ended <- err
			return
		}
		at := t.begin()
		t.answer(c)
		if !t.end(at) {
			return
		}
	}
}
