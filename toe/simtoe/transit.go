package simtoe

import (
	"math/rand/v2"
	"sync"
	"time"
)

// transit is what is on its way: runs that were written and have not arrived,
// because of Config.Delay. The connection's lock is held in its methods, except
// in land.
type transit struct {
	delay  time.Duration // longest; zero: nothing is ever on its way
	random *rand.Rand
	runs   runs // as the sender sees them: the same sequence as the receiver's

	arrived uint64    // stream offset up to which octets have arrived
	flight  []arrival // in stream order
	timer   *time.Timer
}

// An arrival is a run, or part of one, on its way.
type arrival struct {
	end uint64
	at  time.Time // or when the arrival before it has arrived: TCP keeps the order
}

func newTransit(c Config, side uint64) transit {
	if c.Delay <= 0 {
		return transit{}
	}
	return transit{
		delay:  c.Delay,
		random: rand.New(rand.NewPCG(c.Seed, ^side)),
		runs:   newRuns(c, side),
	}
}

// send sends the octets up to stream offset end on their way. When some
// arrive it wakes those who wait on c.
func (t *transit) send(end uint64, c *sync.Cond) {
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
		late := time.Duration(t.random.Int64N(int64(t.delay) + 1))
		t.flight = append(t.flight, arrival{end: sent, at: now.Add(late)})
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(t.flight[0].at), func() { t.land(c) })
	}
}

// land is the timer's and takes the lock: the first run arrives, and those that
// are due as well.
func (t *transit) land(c *sync.Cond) {
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

// stop forgets what is on its way.
func (t *transit) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.flight = nil
}
