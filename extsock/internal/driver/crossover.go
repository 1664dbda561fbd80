package driver

import (
	"math"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// This file measures the crossover: the length from which a Write is worth a rendezvous. See
// bytestream.Sender.Post.

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

// CrossoverOf returns what was measured for the peer's host: the length in bytes from which a
// rendezvous may place a Write in the reader's memory. The measurement compares the cost of copying
// here with a round trip to that host. The result is 0 while nothing has been measured, and
// negative if no length is worth it.
func CrossoverOf(peer net.Addr) int { return crossoverOf(hostOf(peer)) }

func crossoverOf(host string) int {
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	return crossovers.m[host]
}

// A knownCrossover is the crossover of a connection: that of its configuration, or what was
// measured. For a Write of that length or more, the writer still chooses the way that has been
// faster on this connection. The long Write under way owns it.
type knownCrossover struct {
	value   int    // in bytes; 0: nothing is known
	host    string // of the peer
	hasHost bool
}

// get returns the crossover, or 0 while nothing has been measured. Finding out the peer's host costs
// several allocations, so get does that once.
func (k *knownCrossover) get(d *Driver) int {
	if k.value == 0 {
		k.value = d.cfg.Crossover
	}
	if k.value == 0 {
		if !k.hasHost {
			k.host, k.hasHost = hostOf(d.stream.RemoteAddr()), true
		}
		k.value = crossoverOf(k.host)
	}
	return k.value
}

// hostOf returns the host of an address. It returns "" if the connection does not know its peer's
// address.
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

// measureCrossover finds the crossover towards the peer's host: the number of bytes that this
// machine copies in the time of a round trip. If it cannot measure that, the result is measureFrom.
//
// It measures only if startup has agreed on depths. Otherwise the peer may take no RDMA Reads without
// having said so, and the first one would end the connection.
func (d *Driver) measureCrossover(over <-chan struct{}) (int, error) {
	if a := d.cfg.Agreement; !a.Enhanced || a.ORD == 0 {
		return measureFrom, nil
	}
	round := time.Duration(math.MaxInt64)
	for range 3 {
		begin := time.Now()
		// The peer answers a Read of no bytes without its program.
		if _, err := d.Do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}}, over, nil); err != nil {
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
	crossovers.m[hostOf(d.stream.RemoteAddr())] = n
	return n, nil
}

// copySpeed returns how fast this machine copies, in bytes per nanosecond.
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
