package extsock

import (
	"iter"
	"sync/atomic"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Stats counts what connections have done in DDP mode. Octets are 8-bit units; those of Sent and Received are of
// FPDUs, with all headers, pads, CRCs and Markers. All counts only grow.
//
// The fields of Stats are plain numbers and maps, so that expvar can show them:
//
//	expvar.Publish("rddp", expvar.Func(func() any { return extsock.TotalStats() }))
//
// and All gives them one by one, for other systems.
type Stats struct {
	Sent, Received Traffic

	// CopiedOctets were copied once more on their way to Read, because it did not wait for them.
	// DirectOctets were placed in Read's memory.
	CopiedOctets, DirectOctets uint64
	// CreditStalls is how often a Write to a byte stream had to wait until the peer had read.
	CreditStalls uint64
	// CombinedWrites is how many short Writes went out in a message with one before them.
	CombinedWrites uint64
	// Offers is how many rendezvous were begun, Rendezvous how many octets they have placed in the peer's memory.
	Offers, RendezvousOctets uint64
	// MemoryStalls is how often a connection in message mode stopped reading from TCP because of SetMemoryLimit. A byte
	// stream never does; its peer counts CreditStalls.
	MemoryStalls uint64
	// IdleTimeouts and WriteTimeouts count the ends because of Config.IdleTimeout and WriteTimeout.
	IdleTimeouts, WriteTimeouts uint64
	// Panics counts the panics that ended a connection instead of the program: each is a bug of this module.
	Panics uint64
}

// Traffic counts what went in one direction: FPDUs, their octets, and RDMA Messages by kind (RFC 5040
// §4.3, RFC 7306 §4).
type Traffic struct {
	FPDUs, Octets uint64

	Sends           uint64 // of all four kinds
	Writes          uint64
	ReadRequests    uint64
	ReadResponses   uint64
	AtomicRequests  uint64
	AtomicResponses uint64
	ImmediateData   uint64
	Terminates      uint64
}

// Totals is Stats of all connections of the process, those included that are closed.
type Totals struct {
	Stats
	// Connections is how many connections have entered DDP mode, Open how many of them have not ended.
	Connections, Open uint64
	// HandshakeTimeouts is how many MPA startups took too long, HalfOpenEvictions how many connections were closed
	// because of Config.MaxHalfOpen, BadSTagDelays how many Requests waited because of Config.BadSTagDelay.
	HandshakeTimeouts, HalfOpenEvictions, BadSTagDelays uint64
	// Fallbacks counts the connections that were to be in DDP mode and are in TCP mode, by reason.
	Fallbacks map[string]uint64
}

// Stats returns what the connection has done so far in DDP mode. It may be called at any time, by any goroutine, also
// after Close.
func (c *Conn) Stats() Stats {
	if !c.inDDPMode() {
		return Stats{}
	}
	return c.verbs.pump.count.stats()
}

// TotalStats returns what all connections of the process have done so far.
func TotalStats() Totals {
	live.mu.Lock()
	t := Totals{Stats: live.ended, Connections: live.begun, Open: uint64(len(live.pumps)), Fallbacks: make(map[string]uint64)}
	for p := range live.pumps {
		t.Stats.add(p.count.stats())
	}
	live.mu.Unlock()
	t.Panics += startupPanics.Load()
	t.HandshakeTimeouts, t.HalfOpenEvictions = startup.HandshakeTimeouts(), startup.HalfOpenEvictions()
	t.BadSTagDelays = startup.BadSTagDelays()
	for r, n := range startup.Fallbacks() {
		t.Fallbacks[r.String()] = n
	}
	return t
}

// All gives each count with a name that does not change, such as "sent_fpdus_total" (the style of Prometheus).
func (s *Stats) All() iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		for _, f := range s.fields() {
			if !yield(f.name, *f.n) {
				return
			}
		}
	}
}

// A field is one count of Stats.
type field struct {
	name string
	n    *uint64
}

// fields lists all counts, each under its name.
func (s *Stats) fields() []field {
	return append(append(s.Sent.fields("sent_"), s.Received.fields("received_")...),
		field{"copied_octets_total", &s.CopiedOctets},
		field{"direct_octets_total", &s.DirectOctets},
		field{"credit_stalls_total", &s.CreditStalls},
		field{"combined_writes_total", &s.CombinedWrites},
		field{"offers_total", &s.Offers},
		field{"rendezvous_octets_total", &s.RendezvousOctets},
		field{"memory_stalls_total", &s.MemoryStalls},
		field{"idle_timeouts_total", &s.IdleTimeouts},
		field{"write_timeouts_total", &s.WriteTimeouts},
		field{"panics_total", &s.Panics},
	)
}

func (t *Traffic) fields(prefix string) []field {
	return []field{
		{prefix + "fpdus_total", &t.FPDUs},
		{prefix + "octets_total", &t.Octets},
		{prefix + "sends_total", &t.Sends},
		{prefix + "writes_total", &t.Writes},
		{prefix + "read_requests_total", &t.ReadRequests},
		{prefix + "read_responses_total", &t.ReadResponses},
		{prefix + "atomic_requests_total", &t.AtomicRequests},
		{prefix + "atomic_responses_total", &t.AtomicResponses},
		{prefix + "immediate_data_total", &t.ImmediateData},
		{prefix + "terminates_total", &t.Terminates},
	}
}

func (s *Stats) add(other Stats) {
	from := other.fields()
	for i, f := range s.fields() {
		*f.n += *from[i].n
	}
}

// counters is what a pump counts; anybody may read them.
type counters struct {
	sent, received trafficCounters

	copied, direct, stalls, combined, offers, rendezvous atomic.Uint64
	memoryStalls, idleTimeouts, writeTimeouts, panics    atomic.Uint64

	retired     atomic.Bool // the counts are in live.ended
	copiedAtEnd uint64      // the part of copied that is; live.mu guards it
}

type trafficCounters struct {
	fpdus, octets atomic.Uint64
	ops           [16]atomic.Uint64 // by opcode
}

// message counts one message by its RDMAP Control Field.
func (t *trafficCounters) message(control uint8) {
	op, _ := rdmaphdr.ParseControl(control)
	t.ops[op&0xf].Add(1)
}

func (t *trafficCounters) traffic() Traffic {
	n := func(ops ...rdmaphdr.Opcode) (n uint64) {
		for _, op := range ops {
			n += t.ops[op].Load()
		}
		return n
	}
	return Traffic{
		FPDUs: t.fpdus.Load(), Octets: t.octets.Load(),
		Sends:           n(rdmaphdr.OpSend, rdmaphdr.OpSendInvalidate, rdmaphdr.OpSendSE, rdmaphdr.OpSendSEInvalidate),
		Writes:          n(rdmaphdr.OpWrite),
		ReadRequests:    n(rdmaphdr.OpReadRequest),
		ReadResponses:   n(rdmaphdr.OpReadResponse),
		AtomicRequests:  n(rdmaphdr.OpAtomicRequest),
		AtomicResponses: n(rdmaphdr.OpAtomicResponse),
		ImmediateData:   n(rdmaphdr.OpImmediate, rdmaphdr.OpImmediateSE),
		Terminates:      n(rdmaphdr.OpTerminate),
	}
}

func (c *counters) stats() Stats {
	return Stats{
		Sent: c.sent.traffic(), Received: c.received.traffic(),
		CopiedOctets: c.copied.Load(), DirectOctets: c.direct.Load(), CreditStalls: c.stalls.Load(),
		CombinedWrites: c.combined.Load(), Offers: c.offers.Load(), RendezvousOctets: c.rendezvous.Load(),
		MemoryStalls: c.memoryStalls.Load(), IdleTimeouts: c.idleTimeouts.Load(), WriteTimeouts: c.writeTimeouts.Load(),
		Panics: c.panics.Load(),
	}
}

// live is all pumps of the process that have not ended, and what the others have counted.
var live = struct {
	mu    locks.Mutex[locks.Live]
	pumps map[*pump]struct{} // +checklocks:mu
	begun uint64             // +checklocks:mu
	ended Stats              // +checklocks:mu
}{pumps: make(map[*pump]struct{})}

// enlist and retire begin and end what TotalStats sees of the pump.
func (p *pump) enlist() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.pumps[p] = struct{}{}
	live.begun++
}

func (p *pump) retire() {
	live.mu.Lock()
	defer live.mu.Unlock()
	delete(live.pumps, p)
	p.count.retired.Store(true)
	s := p.count.stats()
	live.ended.add(s)
	p.count.copiedAtEnd = s.CopiedOctets
}

// readCopied counts n octets that Read has copied; it may be the last to come, behind the end of the connection.
func (c *counters) readCopied(n int) {
	if c.copied.Add(uint64(n)); !c.retired.Load() {
		return
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	total := c.copied.Load()
	live.ended.CopiedOctets += total - c.copiedAtEnd
	c.copiedAtEnd = total
}
