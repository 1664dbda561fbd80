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
// as much as a third of a short exchange. So one read that has waited wakes the monitor and starts the
// beat. While the beat goes, there is a timer that is due within beatEvery, and reads that have waited
// are hidden from the scheduler as other short ones are.
//
//	         a read starts it                 a read
//	silent ───────────────────▶ heard ◀─────────────── unheard
//	  ▲                           └──── the timer is due ──▲ │
//	  └─────────────────────── the timer is due ─────────────┘
type beat struct {
	state atomic.Uint32
	timer *time.Timer // runs tick; set unless the beat is silent
}

// The states of a beat.
const (
	beatSilent  uint32 = iota // the timer is not set
	beatHeard                 // reads have come since the timer was set
	beatUnheard               // none has
)

// beatEvery is how long a processor may be in use before the monitor notices. With GOMAXPROCS=1 it
// takes the processor from a program that computes 10 to 20 ms after that.
const beatEvery = 5 * time.Millisecond

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

// start starts the beat if it is silent. The monitor has just been woken.
func (b *beat) start() {
	if b.state.CompareAndSwap(beatSilent, beatHeard) {
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
