package bytestream

import "time"

// MinOffer is the minimum length in bytes of a Write that a Choice decides about. A shorter Write
// gains too little from a rendezvous: over loopback, where a round trip is shortest, Writes of up
// to 1 MiB are faster as data, and Writes of 4 MiB with a rendezvous.
const MinOffer = 2 << 20

// A Choice decides whether the long Writes of a connection go as data or by rendezvous, by how long
// earlier Writes took. A rendezvous saves a copy and costs a round trip, and which of them is more
// expensive depends on the network, and on whether the reader waits. The zero value works.
//
// The first Writes try both ways. After that, a Choice uses the way that costs less, and tries the
// other way again from time to time. Over a long round trip time such a try is expensive, so the
// interval between two tries doubles, up to maxInterval. It is minInterval again when the costs
// come close.
type Choice struct {
	begun    int        // how many of the first Writes have begun
	cost     [2]float64 // of data and of rendezvous: ns per byte, a moving average
	trying   bool       // the present Write tries the way that costs more
	left     int        // Writes until the next try
	interval int        // Writes between the last try and the next one
}

const (
	firstWrites = 4
	minInterval = 32
	maxInterval = 1024
	closeBy     = 2 // two costs are close if neither is more than closeBy times the other
)

// Next reports whether the next long Write should be offered.
func (c *Choice) Next() (offered bool) {
	if c.begun < firstWrites {
		c.begun++
		c.left, c.interval = minInterval, minInterval
		return c.begun%2 == 0
	}
	c.left--
	if c.trying = c.left == 0; c.trying {
		c.interval = min(2*c.interval, maxInterval)
		c.left = c.interval
	}
	return c.offers() != c.trying
}

// offers reports whether a rendezvous costs less than data.
func (c *Choice) offers() bool { return c.cost[1] < c.cost[0] }

// Took notes that a Write of n bytes, at least one, has taken d.
func (c *Choice) Took(offered bool, d time.Duration, n int) {
	i := 0
	if offered {
		i = 1
	}
	cost, other := float64(d)/float64(n), c.cost[1-i]
	if c.cost[i] == 0 {
		c.cost[i] = cost
	}
	c.cost[i] += (cost - c.cost[i]) / 4
	near := other <= closeBy*c.cost[i]
	if c.trying {
		near = cost <= closeBy*other // the average is old
	}
	if near {
		c.interval, c.left = minInterval, min(c.left, minInterval)
	}
}
