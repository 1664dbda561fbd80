package extsock

import (
	"math"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// This file finds out from which length on a Write is worth a rendezvous: see bytestream.Sender.Post.

// crossovers holds what was measured, by the peer's host.
var crossovers = struct {
	mu locks.Mutex[locks.Crossovers]
	m  map[string]int // +checklocks:mu
}{m: make(map[string]int)}

const (
	maxCrossovers = 1024 // hosts
	minCrossover  = 64 << 10
	maxCrossover  = bytestream.MaxGrant
)

// crossover returns the length in octets from which a Write in DDP mode may be placed in the reader's memory by a
// rendezvous. It is 0 while that has not been measured, and negative for never. It is Config.Crossover if that is set.
// Otherwise it weighs what copying costs here against a round trip to the peer's host, as measured at the first long
// Write. A Write of that length still goes the way that has been faster on this connection.
func (c *Conn) crossover() int {
	if v := c.config().Crossover; v != 0 {
		return v
	}
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	return crossovers.m[hostOf(c.RemoteAddr())]
}

// hostOf returns the host of an address, or "" for a connection that does not know its peer's.
func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// measureCrossover finds the crossover towards the peer's host: the octets that are copied in the time of a round
// trip.
func (c *Conn) measureCrossover(over <-chan struct{}) (int, error) {
	if c.ord() == 0 {
		return -1, nil
	}
	round := time.Duration(math.MaxInt64)
	for range 3 {
		begin := time.Now()
		// A Read of nothing, which the peer answers without its program.
		if _, err := c.do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}}, over, nil); err != nil {
			return 0, err
		}
		round = min(round, time.Since(begin))
	}
	n := int(min(float64(round.Nanoseconds())*copySpeed(), maxCrossover))
	n = max(n, minCrossover)
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	if len(crossovers.m) >= maxCrossovers {
		clear(crossovers.m)
	}
	crossovers.m[hostOf(c.RemoteAddr())] = n
	return n, nil
}

// copySpeed is what this machine copies, in octets per nanosecond.
var copySpeed = sync.OnceValue(func() float64 {
	from, to := make([]byte, 1<<20), make([]byte, 1<<20)
	best := time.Duration(math.MaxInt64)
	for range 4 {
		begin := time.Now()
		copy(to, from)
		best = min(best, time.Since(begin))
	}
	return float64(len(to)) / float64(max(best, 1))
})
