package driver

import (
	"sync/atomic"
	"time"
)

// A putOff decides whether a posted Work Request waits for those that are about to follow it. One
// write to TCP then takes them all. Work Requests that wait are sent by
//
//   - the Post that fills a batch;
//   - the program, when it finds a completion queue of the connection empty, waits for one, or
//     calls anything else that sends or receives;
//   - the net, a timer, if the program does none of this for netIn.
//
// A Work Request waits only if it belongs to a burst of Posts, or to the beginning of one that
// follows another burst. So a program that posts one Work Request at a time never waits.
//
// Any goroutine may call its methods.
type putOff struct {
	count atomic.Int32 // Work Requests that wait
	burst burst
	last  atomic.Int64 // when the last Post ended, as sinceStart in ns
	bytes atomic.Int64 // of their payload

	sendBell doorbell // hangs in the completion queue of the send queue
	recvBell doorbell // and in that of the receive queue, if that is another one

	catch func()      // what the net calls
	armed atomic.Bool // the net is set
	net   *time.Timer // the goroutine that sets armed owns it
}

const (
	netIn = 200 * time.Microsecond

	// A batch with so much in it gains nothing from more.
	maxPutOff      = 64      // Work Requests
	maxPutOffBytes = 1 << 20 // bytes of payload
)

// init makes p ready. flush sends what waits, and the net calls catch. send and recv are the
// doorbells of the connection's completion queues, which may be the same, or nil if the connection
// has no such queue.
func (p *putOff) init(flush, catch func(), send, recv *Doorbells) {
	p.catch = catch
	p.last.Store(p.now())
	p.sendBell = doorbell{queue: send, ring: flush}
	if recv != send {
		p.recvBell = doorbell{queue: recv, ring: flush}
	}
}

// cast sets the net, unless it is set.
func (p *putOff) cast(in time.Duration) {
	if !p.armed.CompareAndSwap(false, true) {
		return
	}
	if p.net == nil { // most connections never need one
		p.net = time.AfterFunc(time.Hour, p.catch)
	}
	p.net.Reset(in) // from here on, another goroutine may have armed
}

func (p *putOff) now() int64 { return int64(sinceStart()) }

// add notes a posted Work Request with n bytes of payload, and reports whether it waits. An answer
// (see burst.IsQuick) does not.
func (p *putOff) add(n int, answers bool) bool {
	now := p.now()
	gap := time.Duration(now - p.last.Swap(now))
	if quick := p.burst.IsQuick(gap, answers) || p.burst.IsNext(); !quick || answers {
		return false
	}
	return p.count.Add(1) < maxPutOff && p.bytes.Add(int64(n)) < maxPutOffBytes
}

// waits reports whether a Work Request waits.
func (p *putOff) waits() bool { return p.count.Load() > 0 }

// none notes that nothing waits any more. It is called before the transmission: what Post puts off
// meanwhile counts.
func (p *putOff) none() {
	p.count.Store(0)
	p.bytes.Store(0)
}

// resume notes the end of a transmission, whose time does not count as a pause of the program.
func (p *putOff) resume() { p.last.Store(p.now()) }

// takeDown takes the doorbells down of a connection that has ended.
func (p *putOff) takeDown() {
	p.sendBell.takeDown()
	p.recvBell.takeDown()
}
