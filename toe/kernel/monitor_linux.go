package kernel

import (
	"math"
	"sync/atomic"
	"time"
)

// A beat keeps the runtime's monitor from resting for long while sockets bring something.
//
// The monitor takes the processor from a program that computes, and looks into the netpoller when
// nobody else does. It rests once every processor is idle, until a system call that the scheduler
// learns of, or until a timer is due. The first costs a thread's wake-up, which on one processor is
// as much as a third of a short exchange. So when some reads that have waited wake it soon after
// each other, they start the beat. While the beat goes, a timer is due within beatLast, and reads
// that have waited are hidden from the scheduler as other short ones are. Sparse messages do
// without the beat: to set the timer after each of them would cost more.
//
// A monitor that wakes takes several short rests before it rests again, and takes the processor
// from the two ends of an exchange meanwhile. So the timer is not short, and a read sets it again
// when half of it is over: while reads come it is never due.
//
//	         such reads              ┌── a read sets the timer again
//	silent ────────────▶ going ◀─────┘
//	  ▲                    │
//	  └────────────────────┘ the timer is due
type beat struct {
	set   atomic.Int64 // when the timer was set, in ns since started; beatSilent: it is not
	woken atomic.Int64 // when a read has last woken the monitor, in ns since started
	row   atomic.Int32 // how many reads have, each soon after the one before
	timer *time.Timer  // runs tick
}

var started = time.Now()

// beatSilent is set of a beat that does not go.
const beatSilent = math.MinInt64

// beatLast is the longest time for which a processor may be in use before the monitor notices. With
// GOMAXPROCS=1 it takes the processor from a program that computes 10 to 20 ms after that. beatRow
// reads start the beat, each at most beatSoon after the one before.
const (
	beatEvery = 10 * time.Millisecond
	beatLast  = 2 * beatEvery
	beatSoon  = time.Millisecond
	beatRow   = 8
)

// monitor is the process's beat. Its timer is made here, outside of every synctest bubble.
var monitor = newBeat()

func newBeat() *beat {
	b := new(beat)
	b.set.Store(beatSilent)
	b.timer = time.AfterFunc(time.Hour, b.tick)
	b.timer.Stop()
	return b
}

func sinceStarted() int64 { return int64(time.Since(started)) }

// goes reports whether the beat goes. If it does, it goes on for at least beatEvery.
func (b *beat) goes() bool {
	set := b.set.Load()
	if set == beatSilent {
		return false
	}
	now := sinceStarted()
	if time.Duration(now-set) < beatEvery {
		return true
	}
	return b.change(set, now)
}

// start is for a read that has woken the monitor. It starts the beat if others have a moment ago.
func (b *beat) start() {
	now := sinceStarted()
	if time.Duration(now-b.woken.Swap(now)) > beatSoon {
		b.row.Store(0)
	}
	if b.row.Add(1) >= beatRow {
		b.change(beatSilent, now)
	}
}

// change is the one place where the beat changes, but for its end in tick. It sets the timer at now
// and reports whether it did, or another read has a moment ago. set is what the caller has seen.
func (b *beat) change(set, now int64) bool {
	if !b.set.CompareAndSwap(set, now) {
		return b.set.Load() != beatSilent
	}
	b.timer.Reset(beatLast)
	return true
}

// tick is called when the timer is due. If a read has set it again a moment ago, the beat goes on.
func (b *beat) tick() {
	set := b.set.Load()
	if set != beatSilent && time.Duration(sinceStarted()-set) >= beatEvery {
		b.set.CompareAndSwap(set, beatSilent)
	}
}
