package counters

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/rdmap"
)

// A Kind is what a count counts. The kinds of traffic count for Sent or for Received, as in
// Sent+FPDUs.
type Kind uint8

// The kinds of traffic. The RDMA Messages are by opcode, all four kinds of Send together.
const (
	FPDUs  Kind = iota
	Octets      // bytes of FPDUs
	Sends
	Writes
	ReadRequests
	ReadResponses
	AtomicRequests
	AtomicResponses
	ImmediateData
	Terminates
	traffic
)

// The two ways of traffic.
const (
	Sent     Kind = 0
	Received      = traffic
)

// The other kinds.
const (
	Copied       = 2*traffic + iota // bytes that arrived before a Read waited for them
	Direct                          // bytes that a waiting Read got
	Stalls                          // Writes that waited for credits
	Combined                        // short Writes that went out with an earlier Write
	Offers                          // rendezvous
	Rendezvous                      // the bytes that they placed
	MemoryStalls                    // times that receiving stopped for want of memory
	Early                           // FPDUs that were placed while there was a gap before them
	EarlyOctets                     // the bytes of their ULPDUs
	SavedCopies                     // FPDUs that were in place when their turn came
	Buffered                        // bytes of early runs that were not placed
	IdleTimeouts                    // connections that ended because of IdleTimeout
	WriteLimits                     // connections that ended because of WriteTimeout
	Panics
	kinds
)

// messages has the kind of each opcode.
var messages = [...]Kind{
	rdmap.OpWrite:            Writes,
	rdmap.OpReadRequest:      ReadRequests,
	rdmap.OpReadResponse:     ReadResponses,
	rdmap.OpSend:             Sends,
	rdmap.OpSendInvalidate:   Sends,
	rdmap.OpSendSE:           Sends,
	rdmap.OpSendSEInvalidate: Sends,
	rdmap.OpTerminate:        Terminates,
	rdmap.OpImmediate:        ImmediateData,
	rdmap.OpImmediateSE:      ImmediateData,
	rdmap.OpAtomicRequest:    AtomicRequests,
	rdmap.OpAtomicResponse:   AtomicResponses,
}

// Sums are counts by Kind: of one connection, or of several.
type Sums [kinds]uint64

// Counters holds the counts of one connection. Any goroutine may count and read. No count ever
// decreases.
type Counters struct {
	state      states.Atomic[state] // changes only under live.mu
	n          [kinds]atomic.Uint64
	next, prev *Counters // in live.changed; guarded by live.mu
	// summed is the part of the counts that live.sum has, nil for none. It has memory only if
	// Totals was called while the connection was open, or if the connection has ended. Guarded by
	// live.mu.
	summed *Sums
}

// Load returns the count of kind k.
func (c *Counters) Load(k Kind) uint64 { return c.n[k].Load() }

// Sums returns all counts.
func (c *Counters) Sums() (s Sums) {
	for k := range c.n {
		s[k] = c.n[k].Load()
	}
	return s
}

// Add adds n to the count of kind k. It touches nothing that other connections use, except once
// after each Totals, and after the connection has ended.
func (c *Counters) Add(k Kind, n uint64) {
	c.n[k].Add(n)
	if c.state.Load() >= stateSummed {
		c.change()
	}
}

// Set makes n, which is not less than before, the count of kind k.
func (c *Counters) Set(k Kind, n uint64) {
	c.n[k].Store(n)
	if c.state.Load() >= stateSummed {
		c.change()
	}
}

// Message counts one RDMA Message by its RDMAP Control Field. way is Sent or Received.
func (c *Counters) Message(way Kind, control uint8) {
	if op, _ := rdmap.ParseControl(control); int(op) < len(messages) {
		c.Add(way+messages[op], 1)
	}
}
