package kernel

import (
	"sync/atomic"
	"time"
)

// A beat keeps the runtime's monitor from resting for long while sockets bring something.
//
// The monitor takes the processor from a program that computes, and looks into the netpoller when
// nobody else does. It rests once every processor is idle, until a system call that the scheduler
// learns of, or until a timer is due. The first costs a thread's wake-up, which on one processor is
// as much as a third of a short exchange. So when some reads that have waited wake it soon after each
// other, they start the beat. While the beat goes, there is a timer that is due within beatEvery, and
// reads that have waited are hidden from the scheduler as other short ones are. Sparse messages do
// without the beat: two ticks after each of them would cost more.
//
//	         such reads                       a read
//	silent ───────────────▶ heard ◀──────────────────────── unheard
//	  ▲                       └────── the timer is due ──────▲ │
//	  └────────────────────── the timer is due ────────────────┘
type beat struct {
	state atomic.Uint32
	woken atomic.Int64 // when a read has last woken the monitor, in ns since started
	row   atomic.Int32 // how many reads have, each soon after the one before
	timer *time.Timer  // runs tick; set unless the beat is silent
}

var started = time.Now()

// The states of a beat.
const (
	beatSilent  uint32 = iota // the timer is not set
	beatHeard                 // reads have come since the timer was set
	beatUnheard               // none has
)

// beatEvery is how long a processor may be in use before the monitor notices. With GOMAXPROCS=1 it
// takes the processor from a program that computes 10 to 20 ms after that. beatRow reads start the beat,
// each at most beatSoon after the one before.
const (
	beatEvery = 5 * time.Millisecond
	beatSoon  = beatEvery / 5
	beatRow   = 8
)

// monitor is the process's beat. Its timer is made here, outside of every synctest bubble.
var monitor = newBeat()

func newBeat() *beat {
	b := new(beat)
	b.timer = time.AfterFunc(time.Hour, b.tick)
	b.timer.Stop()
	return b
}

// goes reports whether the beat goes. If it does, it goes on for at least beatEvery.
func (b *beat) goes() bool {
	switch b.state.Load() {
	case beatHeard:
		return true
	case beatUnheard:
		return b.state.CompareAndSwap(beatUnheard, beatHeard) || b.state.Load() == beatHeard
	}
	return false
}

// start is for a read that has woken the monitor. It starts the beat if others have a moment ago.
func (b *beat) start() {
	now := int64(time.Since(started))
	if time.Duration(now-b.woken.Swap(now)) > beatSoon {
		b.row.Store(0)
	}
	if b.row.Add(1) >= beatRow && b.state.CompareAndSwap(beatSilent, beatHeard) {
		b.timer.Reset(beatEvery)
	}
}

// tick is called when the timer is due. The timer is set again, or not, while a processor runs this:
// so the monitor does not rest before it is.
func (b *beat) tick() {
	if b.state.CompareAndSwap(beatHeard, beatUnheard) {
		b.timer.Reset(beatEvery)
	} else if !b.state.CompareAndSwap(beatUnheard, beatSilent) {
		b.tick() // a read has come between the two
	}
}
