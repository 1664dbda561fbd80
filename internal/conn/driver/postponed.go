package driver

import (
	"sync/atomic"
	"time"
)

// A postponed counts the posted Work Requests that wait for others that are about to follow, and
// decides which ones wait. One write to TCP then takes them all. Work Requests that wait are sent
// by
//
//   - the Post that fills a batch;
//   - the program, when it finds a completion queue of the connection empty, waits for one, or
//     calls anything else that sends or receives;
//   - a timer, if the program does none of this for flushAfter.
//
// A Work Request waits only if it belongs to a burst of Posts, or to the beginning of one that
// follows another burst. So a program that posts one Work Request at a time never waits.
//
// Any goroutine may call its methods.
type postponed struct {
	count atomic.Int32 // Work Requests that wait
	burst burst
	last  atomic.Int64 // when the last Post ended, as sinceStart in ns
	bytes atomic.Int64 // of their payload

	sendBell doorbell // hangs in the completion queue of the send queue
	recvBell doorbell // hangs in that of the receive queue, if that is another one

	owner flusher
	timed atomic.Bool // the timer is set
	timer *time.Timer // the goroutine that sets timed owns it
}

const (
	flushAfter = 200 * time.Microsecond

	// A batch of this size gains nothing from more Work Requests.
	maxPostponed      = 64      // Work Requests
	maxPostponedBytes = 1 << 20 // bytes of payload
)

// A flusher is the Driver that a postponed belongs to.
type flusher interface {
	Flush()       // sends what waits
	flushIfIdle() // runs when the timer fires
}

// init makes p ready. send and recv are the doorbells of the connection's completion queues, which
// may be the same, or nil if the connection has no such queue.
func (p *postponed) init(owner flusher, send, recv *Doorbells) {
	p.owner = owner
	p.last.Store(p.now())
	p.sendBell = doorbell{queue: send, owner: owner}
	if recv != send {
		p.recvBell = doorbell{queue: recv, owner: owner}
	}
}

// setTimer sets the timer, unless it is set.
func (p *postponed) setTimer(in time.Duration) {
	if !p.timed.CompareAndSwap(false, true) {
		return
	}
	if p.timer == nil { // most connections never need one
		p.timer = time.AfterFunc(time.Hour, p.owner.flushIfIdle)
	}
	p.timer.Reset(in) // from here on, another goroutine may have set it
}

func (p *postponed) now() int64 { return int64(sinceStart()) }

// add notes a posted Work Request with n bytes of payload, and reports whether it waits. An answer
// (see burst.IsQuick) does not.
func (p *postponed) add(n int, answers bool) bool {
	now := p.now()
	gap := time.Duration(now - p.last.Swap(now))
	if quick := p.burst.IsQuick(gap, answers) || p.burst.IsNext(); !quick || answers {
		return false
	}
	return p.count.Add(1) < maxPostponed && p.bytes.Add(int64(n)) < maxPostponedBytes
}

// waits reports whether a Work Request waits.
func (p *postponed) waits() bool { return p.count.Load() > 0 }

// none notes that nothing waits any more. It is called before the transmission, so that Work
// Requests that Post puts off during the transmission count.
func (p *postponed) none() {
	p.count.Store(0)
	p.bytes.Store(0)
}

// resume notes the end of a transmission, whose time does not count as a pause of the program.
func (p *postponed) resume() { p.last.Store(p.now()) }

// takeDown takes down the doorbells of d, which has ended.
func (p *postponed) takeDown(d *Driver) {
	if q := p.sendBell.queue; q != nil {
		q.forget(d)
	}
	p.sendBell.takeDown()
	p.recvBell.takeDown()
}
