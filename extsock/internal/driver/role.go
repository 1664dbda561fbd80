package driver

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/extsock/internal/wait"

	"github.com/rddp/rddp/internal/locks"
)

// A role is the right to receive on a connection: one goroutine at a time has it. Mostly that is
// the connection's own, in receive. But a goroutine that waits in Conn.Read may take the role while it
// waits, and then reads from the stream itself: a message reaches it without a hand-over between
// goroutines, which costs more than all else in a short message.
//
//	own goroutine ──a waiter was served, and is quick──▶ vacant ──waits again──▶ waiter
//	      ▲                                                │ ▲                     │
//	      └───────────────── sentinel ─────────────────────┘ └──── is served ──────┘
//
// The own goroutine gives the role up only to one who comes back quickly, time after time, with nothing
// but messages in between: on a connection with one-sided operations it keeps it, so that none of them
// has to wait for the program. Whoever leaves the role vacant sets the sentinel, which gets the own
// goroutine back if it stays so. The sentinel is slow on purpose: a timer that is due soon makes every
// wait of the process's threads dearer.
type role struct {
	// lends says that a waiter may take the role: a deadline can end a read of this stream, so the waiter can be
	// interrupted.
	lends   bool
	held    atomic.Bool
	driving atomic.Bool   // held, and by a waiter
	recall  chan struct{} // capacity 1: the own goroutine is to look whether the role is vacant
	offer   chan struct{} // capacity 1: the waiter is to look

	waiting atomic.Bool // somebody waits who may take the role
	writing atomic.Bool // a Write waits for the peer's credits: the role is not to stay vacant

	begin  time.Time
	left   atomic.Int64 // when the waiter was last served, ns after begin
	serves atomic.Int64 // how often it was served
	streak atomic.Int32 // how often in a row it has come back quickly, and nothing one-sided has come

	armed    atomic.Bool // the sentinel is set
	sentinel *time.Timer
}

const (
	quick      = 100 * time.Microsecond // a waiter who comes back so soon
	quickTimes = 4                      // and so often, is to take the role
	sentinelIn = 20 * time.Millisecond
)

// init gives the role to the own goroutine.
func (r *role) init(lends bool) {
	r.lends = lends
	r.held.Store(true)
	r.recall, r.offer = make(chan struct{}, 1), make(chan struct{}, 1)
	r.begin = time.Now()
	r.sentinel = time.AfterFunc(time.Hour, r.look)
	r.sentinel.Stop()
}

// wait begins a wait, of which there is one at a time. mayTake says whether the waiter is one to take the role.
func (r *role) wait(mayTake bool) {
	r.waiting.Store(true)
	if mayTake && time.Since(r.begin)-time.Duration(r.left.Load()) < quick {
		r.streak.Add(1)
	} else {
		r.streak.Store(0)
	}
}

// oneSided notes that something else than a message has come, or is to come: the own goroutine is to have
// the role.
func (r *role) oneSided() {
	r.streak.Store(0)
	if !r.held.Load() {
		r.callBack()
	}
}

// awaitCredits begins and ends the wait of a Write, of which there is one at a time.
func (r *role) awaitCredits(begins bool) {
	r.writing.Store(begins)
	if begins && !r.held.Load() {
		r.callBack()
	}
}

// served ends a wait.
func (r *role) served() {
	r.left.Store(int64(time.Since(r.begin)))
	r.serves.Add(1)
	r.waiting.Store(false)
}

// yields reports whether the own goroutine should give the role up: what it has received since serves
// was the count served a waiter who is quick.
func (d *Driver) yields(serves int64) bool {
	r := &d.role
	if r.streak.Load() < quickTimes {
		return false
	}
	return r.serves.Load() != serves || r.waiting.Load() && d.in.has()
}

// yield makes the role vacant for the waiter, who may be back already.
func (r *role) yield() {
	r.leave(false)
	wait.Wake(r.offer)
}

// take takes the role if it is vacant.
func (r *role) take() bool { return r.held.CompareAndSwap(false, true) }

// leave makes the role vacant. If hurry is set, or one-sided operations are about, the own goroutine
// takes it now.
func (r *role) leave(hurry bool) {
	r.driving.Store(false)
	r.held.Store(false)
	if hurry || r.streak.Load() == 0 || r.writing.Load() {
		r.callBack()
	} else if r.armed.CompareAndSwap(false, true) {
		r.sentinel.Reset(sentinelIn)
	}
}

// look is the sentinel's: a vacant role goes to the own goroutine. If a waiter has it, the sentinel is
// set again when that one leaves.
func (r *role) look() {
	r.armed.Store(false)
	if !r.held.Load() {
		r.callBack()
	}
}

func (r *role) callBack() { wait.Wake(r.recall) }

// standBy waits until the own goroutine is called back and has the role again.
func (r *role) standBy() {
	for {
		<-r.recall
		if r.take() {
			return
		}
	}
}

// drive takes the role, if it is vacant, and receives until the inbox has something or the wait is
// interrupted. It reports whether it did. If the wait of the Read is over, result says what the Read has got.
func (d *Driver) drive(limit *wait.Deadline) (drove bool, result readResult) {
	r := &d.role
	if !r.lends || !r.take() {
		return false, readResult{}
	}
	r.driving.Store(true)
	// A caller of Interrupt sets one of these conditions before it loads driving, and drive stores driving
	// before it looks at the conditions. So one of the two sees the other.
	if d.in.has() || d.closing() || wait.IsClosed(d.cfg.Closed) || limit.IsSet() || d.rx.intake != intakeOpen {
		r.leave(true)
		return false, readResult{}
	}
	d.receiveOnce(true)
	result, d.rx.result = d.rx.result, readResult{}
	r.leave(d.rx.intake != intakeOpen)
	return true, result
}

// A readBound is the stream's read deadline: how long receiving may go on, and, for a moment, the interrupt of a
// waiter that receives. The interrupt is not a state of the connection's life, which goes on after it.
type readBound struct {
	mu locks.Mutex[locks.ReadBound]
	// the deadline apart from interrupts
	until       time.Time // +checklocks:mu
	interrupted bool      // +checklocks:mu
}

// Interrupt gets a waiter that is receiving out of its read, because something has happened that does
// not come with the stream.
func (d *Driver) Interrupt() {
	if !d.role.driving.Load() {
		return
	}
	b := &d.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = true
	d.stream.SetReadDeadline(time.Unix(1, 0))
}

// resume undoes interrupt and reports whether there was one.
func (d *Driver) resume() bool {
	b := &d.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.interrupted
	if was {
		b.interrupted = false
		d.stream.SetReadDeadline(b.until)
	}
	return was
}

// setReadUntil bounds how long receive goes on.
func (d *Driver) setReadUntil(t time.Time) {
	b := &d.bound
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = t
	if b.interrupted {
		return
	}
	// A stream that is closed needs none, and a timer would keep all of the connection until it is due.
	if err := d.stream.SetReadDeadline(t); err != nil && !errors.Is(err, net.ErrClosed) { // a stream without deadlines
		time.AfterFunc(time.Until(t), func() { d.Kill(errCloseTimeout) })
	}
}
