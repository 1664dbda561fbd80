package badlink

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A direction carries packets from one end of the link to the other. A packet passes these places,
// and may be lost at some of them:
//
//	accept    the faults are applied to it
//	merging   it waits for the next packet, to become one with it
//	held      it waits until others have overtaken it
//	flight    it waits for Rate, and then travels for Delay
//	ready     it waits for Read
//
// No goroutine moves packets. Each call first does everything that is due, in the order of the due
// times, so the result does not depend on when the calls come.
type direction struct {
	start time.Time // when the link was made; all times count from here
	draws draws
	other *direction // in which answers go back

	mu   locks.Mutex[locks.Leaf]
	cond sync.Cond // a packet is ready, a timer has fired, or an end was closed

	// +checklocks:mu
	faults Faults
	// +checklocks:mu
	clean bool // there are no faults
	// +checklocks:mu
	k uint64 // number of the next packet
	// +checklocks:mu
	burst bool // the direction is in a burst of losses
	// +checklocks:mu
	stats Stats
	// +checklocks:mu
	pool pool

	// +checklocks:mu
	merging *packet
	// +checklocks:mu
	mergeBy time.Duration // when merging continues alone
	// +checklocks:mu
	held held
	// +checklocks:mu
	flight queue
	// +checklocks:mu
	departed int // packets of flight, from the first, that have left the queue
	// +checklocks:mu
	rate pacer
	// +checklocks:mu
	ready queue

	// +checklocks:mu
	readers int // Reads that wait
	// +checklocks:mu
	timer *time.Timer
	// +checklocks:mu
	alarm time.Duration // when timer fires; 0 if it is not set
	// +checklocks:mu
	writerClosed bool
	// +checklocks:mu
	readerClosed bool
}

// newDirection makes direction number n of the link.
func newDirection(start time.Time, cfg Config, mtu int, n uint64, f Faults) *direction {
	d := &direction{start: start, draws: newDraws(cfg.Seed, n), faults: f.withDefaults(), clean: f.none(), pool: pool{mtu: mtu}}
	d.cond.L = &d.mu
	return d
}

func (d *direction) now() time.Duration { return time.Since(d.start) }

// set changes the faults for the packets that are written from now on.
func (d *direction) set(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catchUp()
	d.faults, d.clean = f.withDefaults(), f.none()
	if f.Burst == (Burst{}) { // here, because a packet that passes at once does not check it
		d.burst = false
	}
}

func (d *direction) snapshot() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catchUp()
	s := d.stats
	s.Waiting = d.ready.n + d.flight.n + len(d.held.packets)
	if d.merging != nil {
		s.Waiting++
	}
	return s
}

// write sends a copy of p.
func (d *direction) write(p []byte) error {
	d.mu.Lock()
	if d.writerClosed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	q := d.pool.get(len(p))
	d.mu.Unlock()
	copy(q.b, p)
	d.mu.Lock()
	if d.writerClosed {
		d.mu.Unlock()
		return net.ErrClosed
	}
	pathMTU := d.accept(q)
	d.setAlarm()
	d.mu.Unlock()
	if pathMTU != 0 {
		if b := tooBig(nil, p, pathMTU); b != nil {
			d.other.inject(b)
		}
	}
	return nil
}

// inject sends b, which the link itself has made. It bypasses the faults.
func (d *direction) inject(b []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(b) > d.pool.mtu || d.writerClosed {
		return
	}
	q := d.pool.get(len(b))
	copy(q.b, b)
	q.jitter = d.jitter(d.stats.Injected, forAnswer)
	d.stats.Injected++
	d.catchUp()
	d.enqueue(q, d.now())
	d.setAlarm()
}

// read waits for the next packet and copies it to p.
func (d *direction) read(p []byte) (n int, err error) {
	d.mu.Lock()
	for {
		d.catchUp()
		if d.readerClosed {
			err = net.ErrClosed
		} else if d.ready.n > 0 {
			break
		} else if d.writerClosed && d.isIdle() {
			err = io.EOF
		}
		if err != nil {
			d.mu.Unlock()
			return 0, err
		}
		d.readers++
		d.setAlarm()
		d.cond.Wait()
		d.readers--
	}
	if len(d.ready.at(0).b) > len(p) {
		d.cond.Signal() // another Read may have room for it
		d.mu.Unlock()
		return 0, io.ErrShortBuffer
	}
	q := d.ready.pop()
	d.stats.Out++
	d.stats.OutBytes += uint64(len(q.b))
	d.mu.Unlock()
	n = copy(p, q.b)
	d.mu.Lock()
	d.pool.put(q)
	d.mu.Unlock()
	return n, nil
}

// closeWriter ends the input. Packets that are held back continue at once.
func (d *direction) closeWriter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catchUp()
	d.writerClosed = true
	now := d.now()
	if p := d.merging; p != nil {
		d.merging = nil
		d.enqueue(p, now)
	}
	for _, h := range d.held.packets {
		d.enqueue(h.p, now)
	}
	d.held = held{}
	d.setAlarm()
	d.cond.Broadcast()
}

// closeReader drops all packets.
func (d *direction) closeReader() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.catchUp()
	d.readerClosed = true
	d.stats.QueueDrops += uint64(d.ready.n + d.flight.n + len(d.held.packets))
	if d.merging != nil {
		d.stats.QueueDrops++
	}
	d.ready, d.flight, d.held, d.merging, d.departed = queue{}, queue{}, held{}, nil, 0
	d.pool = pool{mtu: d.pool.mtu}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.cond.Broadcast()
}

// tooLong counts a packet of n bytes, which is longer than the MTU of the link.
func (d *direction) tooLong(n int) {
	d.mu.Lock()
	d.stats.In++
	d.stats.InBytes += uint64(n)
	d.stats.TooLong++
	d.mu.Unlock()
}

// refuse counts a packet that the device behind the link did not take.
func (d *direction) refuse() {
	d.mu.Lock()
	d.stats.Refused++
	d.mu.Unlock()
}
