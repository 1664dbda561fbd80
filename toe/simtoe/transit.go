package simtoe

import (
	"math/rand/v2"
	"time"
)

// transit holds the data on their way: the bytes that were written and, because of Config.Delay or
// Config.Timing, have not arrived. Callers of its methods hold the connection's lock, except
// callers of land and tick.
type transit struct {
	timing Timing // if not nil, delay, random, runs and flight are not used
	begin  time.Time
	sent   uint64 // stream offset below which the Timing knows of all bytes
	unsent int    // number of bytes after sent

	delay  time.Duration // the maximum; if zero, everything arrives at once
	random *rand.Rand
	runs   runs // as the sender sees them; the receiver has the same sequence

	arrived uint64    // stream offset below which all bytes have arrived
	flight  []arrival // in stream order
	timer   *time.Timer
}

// An arrival is a run, or part of one, that is on its way.
type arrival struct {
	end uint64
	at  time.Time // but not before the previous arrival, because TCP keeps the order
}

func newTransit(c Config, side uint64) transit {
	if c.Timing != nil {
		return transit{timing: c.Timing(), begin: time.Now()}
	}
	if c.Delay <= 0 {
		return transit{}
	}
	return transit{
		delay:  c.Delay,
		random: rand.New(rand.NewPCG(c.Seed, ^side)),
		runs:   newRuns(c, side),
	}
}

// send sends the bytes below stream offset end on their way; a Timing hears of them when flush is
// called. It wakes the goroutines that wait on c when bytes arrive.
func (t *transit) send(end uint64, c *arrivals) {
	if t.timing != nil {
		t.unsent = int(end - t.sent)
		return
	}
	if t.delay == 0 {
		t.arrived = end
		c.Broadcast()
		return
	}
	sent := t.arrived
	if n := len(t.flight); n > 0 {
		sent = t.flight[n-1].end
	}
	for now := time.Now(); sent < end; {
		t.runs.pass(sent)
		sent = min(t.runs.at(0).end, end)
		late := time.Duration(t.random.Uint64N(uint64(t.delay) + 1))
		t.flight = append(t.flight, arrival{end: sent, at: now.Add(late)})
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(t.flight[0].at), func() { t.land(c) })
	}
}

// land runs in the timer's goroutine and takes the lock. The first run arrives, together with all
// others that are due.
func (t *transit) land(c *arrivals) {
	c.L.Lock()
	defer c.L.Unlock()
	if t.timer == nil {
		return // stopped
	}
	t.arrived = t.flight[0].end
	t.flight = t.flight[1:]
	for now := time.Now(); len(t.flight) > 0 && !t.flight[0].at.After(now); t.flight = t.flight[1:] {
		t.arrived = t.flight[0].end
	}
	c.Broadcast()
	if len(t.flight) == 0 {
		t.flight, t.timer = nil, nil
		return
	}
	t.timer.Reset(time.Until(t.flight[0].at))
}

// flush tells the Timing of the bytes that were written since the last flush.
func (t *transit) flush(c *arrivals) {
	if t.unsent == 0 {
		return
	}
	t.timing.Send(time.Since(t.begin), t.unsent)
	t.sent += uint64(t.unsent)
	t.unsent = 0
	t.advance(c)
}

// advance asks the Timing how many bytes have arrived, and sets the timer for the next event.
func (t *transit) advance(c *arrivals) {
	arrived, next, ok := t.timing.Advance(time.Since(t.begin))
	if arrived > t.arrived {
		t.arrived = arrived
		c.Broadcast()
	}
	switch wait := time.Until(t.begin.Add(next)); {
	case !ok:
		t.stop()
	case t.timer == nil:
		t.timer = time.AfterFunc(wait, func() { t.tick(c) })
	default:
		t.timer.Reset(wait)
	}
}

// tick runs in the timer's goroutine and takes the lock.
func (t *transit) tick(c *arrivals) {
	c.L.Lock()
	defer c.L.Unlock()
	if t.timer != nil {
		t.advance(c)
	}
}

// stop drops everything that is on its way.
func (t *transit) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.flight = nil
}
