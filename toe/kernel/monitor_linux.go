package kernel

import (
	"math"
	"sync/atomic"
	"time"
)

// A beat keeps the runtime's monitor from sleeping for long while sockets receive data.
//
// The monitor takes the processor from a program that computes, and polls the netpoller when no
// other thread does. It sleeps once every processor is idle, until a system call that the scheduler
// knows of, or until a timer is due. Such a system call costs a thread's wake-up, which on one
// processor is up to a third of a short exchange. So when several reads that have waited wake the
// monitor soon after each other, they start the beat. While the beat runs, a timer is due within
// beatLast, and reads that have waited are hidden from the scheduler like other short reads. Sparse
// messages do not use the beat, because setting the timer after each of them would cost more.
//
// A monitor that wakes sleeps briefly several times before it sleeps for long again, and meanwhile
// takes processor time from the two ends of an exchange. So the timer is not short, and a read sets
// it again when half of its time is over. While reads continue, the timer never fires.
//
//	         such reads              ┌── a read sets the timer again
//	silent ────────────▶ going ◀─────┘
//	  ▲                    │
//	  └────────────────────┘ the timer is due
type beat struct {
	set   atomic.Int64 // when the timer was set, in ns since started; beatSilent if it is not set
	woken atomic.Int64 // when a read has last woken the monitor, in ns since started
	row   atomic.Int32 // number of reads that have woken it, each soon after the one before
	timer *time.Timer  // runs tick
}

var started = time.Now()

// beatSilent is the value of set while the beat does not run.
const beatSilent = math.MinInt64

// beatLast is the longest time for which a processor may be in use before the monitor notices. With
// GOMAXPROCS=1 the monitor takes the processor from a computing program 10 to 20 ms after that.
// beatRow reads start the beat, each at most beatSoon after the one before.
const (
	beatEvery = 10 * time.Millisecond
	beatLast  = 2 * beatEvery
	beatSoon  = time.Millisecond
	beatRow   = 8
)

// monitor is the process's beat. Its timer is made here, outside every synctest bubble.
var monitor = newBeat()

func newBeat() *beat {
	b := new(beat)
	b.set.Store(beatSilent)
	b.timer = time.AfterFunc(time.Hour, b.tick)
	b.timer.Stop()
	return b
}

func sinceStarted() int64 { return int64(time.Since(started)) }

// goes reports whether the beat runs. If it does, it runs for at least beatEvery more.
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

// start is called by a read that has woken the monitor. It starts the beat if other reads have done
// so a moment ago.
func (b *beat) start() {
	now := sinceStarted()
	if time.Duration(now-b.woken.Swap(now)) > beatSoon {
		b.row.Store(0)
	}
	if b.row.Add(1) >= beatRow {
		b.change(beatSilent, now)
	}
}

// change sets the timer at now. It reports whether it did, or another read did a moment ago. set is
// the value that the caller has seen. Only change and tick change the beat.
func (b *beat) change(set, now int64) bool {
	if !b.set.CompareAndSwap(set, now) {
		return b.set.Load() != beatSilent
	}
	b.timer.Reset(beatLast)
	return true
}

// tick is called when the timer is due. If a read has set it again a moment ago, the beat
// continues.
func (b *beat) tick() {
	set := b.set.Load()
	if set != beatSilent && time.Duration(sinceStarted()-set) >= beatEvery {
		b.set.CompareAndSwap(set, beatSilent)
	}
}
