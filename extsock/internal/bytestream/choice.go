package bytestream

import "time"

// A Choice is which way long Writes go, by how long they have taken: a rendezvous saves a copy and
// costs a round trip, and which of them is more expensive depends on whether the reader waits. The
// zero value works.
type Choice struct {
	writes int
	cost   [2]float64 // of data and of rendezvous: ns per byte, a moving average
}

// explore is after how many Writes the way that costs more is tried again.
const explore = 32

// Next says whether the next long Write is offered.
func (c *Choice) Next() (offered bool) {
	c.writes++
	switch {
	case c.writes <= 4:
		return c.writes%2 == 0
	case c.writes%explore == 0:
		return c.cost[1] >= c.cost[0]
	}
	return c.cost[1] < c.cost[0]
}

// Took notes that a Write of n bytes, at least one, has taken d.
func (c *Choice) Took(offered bool, d time.Duration, n int) {
	i := 0
	if offered {
		i = 1
	}
	cost := float64(d) / float64(n)
	if c.cost[i] == 0 {
		c.cost[i] = cost
	}
	c.cost[i] += (cost - c.cost[i]) / 4
}

// A Burst finds out whether Writes of up to one message follow each other quickly. A writer in a
// burst does not write to TCP itself: another goroutine does, and sends what the next Writes add
// meanwhile. The zero value works.
type Burst struct{ count int } // how many Writes in a row have come quickly

// A writer is in a burst when it has come back within burstGap burstTimes in a row.
const (
	burstGap   = 20 * time.Microsecond
	burstTimes = 4
)

// IsQuick reports whether a Write belongs to a burst. gap is the time since the end of the
// Write before it. answers says that data has come from the peer since then: the Write is probably
// the answer to that data, and another one does not follow.
func (b *Burst) IsQuick(gap time.Duration, answers bool) bool {
	if answers || gap > burstGap {
		b.count = 0
		return false
	}
	b.count++
	return b.IsOn()
}

// IsOn returns what the last IsQuick has reported.
func (b *Burst) IsOn() bool { return b.count >= burstTimes }
