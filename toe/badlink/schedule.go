package badlink

import "time"

// maxFree bounds the time when the transmitter is free, far from overflow.
const maxFree = 100 * maxTime

// A pacer is the transmitter behind the queue. It sends one packet at a time.
type pacer struct {
	free time.Duration // when it has sent all packets
	rest uint64        // the rounding error of free, in parts of 1/rate ns
}

// send returns when a packet of n bytes that comes at the time now has been sent. A rate of 0 is
// infinite.
func (p *pacer) send(n int, rate int64, now time.Duration) time.Duration {
	if p.free < now {
		p.free, p.rest = now, 0
	}
	if rate > 0 {
		t := uint64(n)*8*uint64(time.Second) + p.rest%uint64(rate)
		p.free = min(p.free+time.Duration(t/uint64(rate)), maxFree)
		p.rest = t % uint64(rate)
	}
	return p.free
}

// isIdle reports whether the only packets that wait are those for Read.
//
// +checklocks:d.mu
func (d *direction) isIdle() bool {
	return d.flight.n == 0 && len(d.held.packets) == 0 && d.merging == nil
}

// catchUp does everything that is due by now.
//
// +checklocks:d.mu
func (d *direction) catchUp() {
	if !d.isIdle() {
		d.advance(d.now())
	}
}

// advance does everything that is due by now.
//
// +checklocks:d.mu
func (d *direction) advance(now time.Duration) {
	for {
		by, due := d.firstDue()
		if !due || by > now {
			break
		}
		if p := d.merging; p != nil && d.mergeBy == by {
			d.merging = nil
			d.pass(p, by)
		} else {
			d.enqueue(d.held.expired(), by)
		}
	}
	d.settle(now)
}

// firstDue returns the time at which the first packet that waits for others must continue without
// them. It returns due = false if there is none.
//
// +checklocks:d.mu
func (d *direction) firstDue() (by time.Duration, due bool) {
	if len(d.held.packets) > 0 {
		by, due = d.held.by, true
	}
	if d.merging != nil && (!due || d.mergeBy <= by) {
		by, due = d.mergeBy, true
	}
	return by, due
}

// enqueue gives p to the queue at the time now, which is not before that of any earlier call.
//
// +checklocks:d.mu
func (d *direction) enqueue(p *packet, now time.Duration) {
	f := &d.faults
	d.settle(now)
	if d.readerClosed || d.flight.n-d.departed >= f.Queue {
		d.drop(p)
		return
	}
	p.depart = d.rate.send(len(p.b), f.Rate, now)
	p.arrive = p.depart + f.Delay + p.jitter
	if p.arrive <= now && d.flight.n == 0 {
		d.arrived(p)
		return
	}
	d.flight.push(p)
}

// settle moves the packets that have arrived by now from flight to ready. A packet that would
// arrive before the one in front of it arrives together with that one.
//
// +checklocks:d.mu
func (d *direction) settle(now time.Duration) {
	for d.flight.n > 0 && d.flight.at(0).arrive <= now {
		d.arrived(d.flight.pop())
		d.departed = max(0, d.departed-1)
	}
	for d.departed < d.flight.n && d.flight.at(d.departed).depart <= now {
		d.departed++
	}
}

// arrived gives p to Read.
//
// +checklocks:d.mu
func (d *direction) arrived(p *packet) {
	if d.readerClosed || d.ready.n >= d.faults.Queue {
		d.drop(p)
		return
	}
	d.ready.push(p)
	if d.readers > 0 {
		d.cond.Signal()
	}
}

// +checklocks:d.mu
func (d *direction) drop(p *packet) {
	d.stats.QueueDrops++
	d.pool.put(p)
}

// setAlarm sets the timer for the next packet that arrives or continues, if a Read waits.
//
// +checklocks:d.mu
func (d *direction) setAlarm() {
	if d.readers == 0 || d.isIdle() || d.readerClosed {
		return
	}
	at, due := d.firstDue()
	if d.flight.n > 0 && (!due || d.flight.at(0).arrive < at) {
		at = d.flight.at(0).arrive
	}
	if d.alarm != 0 && d.alarm <= at {
		return
	}
	d.alarm = max(at, 1)
	if wait := at - d.now(); d.timer == nil {
		d.timer = time.AfterFunc(wait, d.ring)
	} else {
		d.timer.Reset(wait)
	}
}

// ring is the timer's function.
func (d *direction) ring() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alarm = 0
	d.cond.Broadcast()
}
