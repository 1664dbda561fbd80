package driver

import (
	"sync/atomic"
	"time"
)

// This file predicts whether the next Read will come back quickly. If so, no goroutine has to read
// meanwhile, and no watch is needed: see reading.go.

// A readHistory is what the waits of Reads have shown so far. It reads no clock: times are those of
// sinceStart. Any goroutine may call its methods.
type readHistory struct {
	left   atomic.Int64 // when the last wait of a Read ended, in ns
	waited atomic.Int64 // how long that wait was, in ns
	waits  atomic.Int64 // the number of waits that have ended
	bulk   atomic.Bool  // the last read of the stream has brought bulk data: such a wait counts more
	trust  [kinds]trust // by kind of wait
	kind   atomic.Int32 // of the last wait: an index of trust
}

// The kinds of waits.
const (
	filledRead  = iota
	shortRead   // of a Read that was not filled
	blockedCall // of a call that has polled for its answer
	kinds
)

// A trust is what the last waits have shown of the next one. Reads that return less than was asked
// for, Reads that are filled, and blocking calls have one each: a program that reads a long message
// in pieces is back at once after each piece, and long after the last one.
type trust struct {
	// streak is how many waits began quickly, at most about streakCap times after. A quick wait
	// counts in the streaks of all kinds. A wait that begins late undoes lateWaits quick ones of
	// its kind, and at most half of the streak, because on a busy machine the scheduler makes quick
	// Reads late, several in a row. A one-sided operation that no Read receives sets them to 0.
	streak atomic.Int32
	after  atomic.Int32 // with so many quick waits a Read is trusted
}

// grow counts a quick wait.
func (t *trust) grow(step int32) {
	if streak := t.streak.Load(); streak < streakCap*t.after.Load() {
		t.streak.CompareAndSwap(streak, streak+step)
	}
}

// shrink counts a late wait.
func (t *trust) shrink(step int32) {
	streak := t.streak.Load()
	t.streak.CompareAndSwap(streak, max(streak/2, streak-lateWaits*step))
}

const (
	quick      = 100 * time.Microsecond // a Read that comes back within this time is quick
	trustFirst = 64                     // trust.after at the beginning
	trustMore  = 16                     // it is multiplied by this when trust was wrong
	trustMost  = 1 << 24                // but at most this
	streakCap  = 4
	lateWaits  = 16 // quick waits that a late one undoes
	// A wait for bulk data counts as bulkStep waits. While home receives such data, each byte is
	// copied twice, so Reads must be trusted soon.
	bulkStep = trustFirst / 4
)

// init begins the history now.
func (h *readHistory) init(now time.Duration) {
	for i := range h.trust {
		h.trust[i].after.Store(trustFirst)
	}
	h.left.Store(int64(now))
}

// isTrusted reports whether the Read will probably be back soon.
func (h *readHistory) isTrusted() bool {
	t := h.lastRead()
	return t.streak.Load() >= t.after.Load()
}

// lastRead returns the trust in waits like the last one.
func (h *readHistory) lastRead() *trust { return &h.trust[h.kind.Load()] }

// lastWait returns how long the last wait of a Read was.
func (h *readHistory) lastWait() time.Duration { return time.Duration(h.waited.Load()) }

// pause returns how long ago the last wait of a Read ended.
func (h *readHistory) pause(now time.Duration) time.Duration {
	return now - time.Duration(h.left.Load())
}

// begins notes that a Read begins to wait.
func (h *readHistory) begins(now time.Duration) {
	step := int32(1)
	if h.bulk.Load() {
		step = bulkStep
	}
	if h.pause(now) >= quick {
		h.lastRead().shrink(step)
		return
	}
	for i := range h.trust {
		h.trust[i].grow(step)
	}
}

// ends notes that a wait of a Read, which began at began, ends.
func (h *readHistory) ends(began, now time.Duration) {
	h.waited.Store(int64(now - began))
	h.left.Store(int64(now))
	h.waits.Add(1)
}

// noteRead notes whether a Read that asked for want bytes was filled.
func (h *readHistory) noteRead(result readResult, want int) {
	if result.over && result.n < want {
		h.kind.Store(shortRead)
	} else {
		h.kind.Store(filledRead)
	}
}

// distrust forgets all quick Reads.
func (h *readHistory) distrust() {
	for i := range h.trust {
		h.trust[i].streak.Store(0)
	}
}

// missed notes that bytes have waited for the alarm: trust was wrong.
func (h *readHistory) missed() {
	after := &h.lastRead().after
	after.Store(min(trustMore*after.Load(), trustMost))
}
