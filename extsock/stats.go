package extsock

import (
	"iter"
	"sync/atomic"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Stats counts what one connection, or several, did in DDP mode. No count ever decreases. Sent and
// Received count whole FPDUs, with all headers, pads, CRCs and markers.
//
// The fields of Stats are plain numbers, so that expvar can publish them:
//
//	expvar.Publish("rddp", expvar.Func(func() any { return extsock.TotalStats() }))
//
// All returns them one by one, for other systems.
type Stats struct {
	Sent, Received Traffic

	// CopiedOctets is the number of bytes that arrived before a Read waited for them, and so were
	// copied once more. DirectOctets is the number of bytes that were placed in a waiting Read's
	// memory.
	CopiedOctets, DirectOctets uint64
	// CreditStalls is how often a Write to a byte stream had to wait until the peer's program had
	// read.
	CreditStalls uint64
	// CombinedWrites is the number of short Writes that were sent in one message with an earlier
	// Write.
	CombinedWrites uint64
	// Offers is the number of rendezvous that began. RendezvousOctets is the number of bytes that
	// they placed in the peer's memory.
	Offers, RendezvousOctets uint64
	// MemoryStalls is how often a connection in message mode stopped reading from TCP because of
	// SetMemoryLimit. A byte stream never does; its peer counts CreditStalls.
	MemoryStalls uint64
	// IdleTimeouts and WriteTimeouts are the numbers of connections that ended because of
	// Config.IdleTimeout and Config.WriteTimeout.
	IdleTimeouts, WriteTimeouts uint64
	// Panics is the number of panics that ended a connection. Each is a bug; see PanicError.
	Panics uint64
}

// Traffic counts what was sent, or received: FPDUs, their bytes, and RDMA Messages by kind (RFC
// 5040 §4.3, RFC 7306 §4).
type Traffic struct {
	FPDUs, Octets uint64 // FPDUs, and their bytes

	Sends           uint64 // of all four kinds, with and without Invalidate and Solicited Event
	Writes          uint64
	ReadRequests    uint64
	ReadResponses   uint64
	AtomicRequests  uint64
	AtomicResponses uint64
	ImmediateData   uint64
	Terminates      uint64
}

// Totals is the Stats of all connections of the process, open and closed.
type Totals struct {
	Stats
	// Connections is the number of connections that have entered DDP mode. Open is the number of
	// them that have not ended; Open alone may decrease.
	Connections, Open uint64
	// HandshakeTimeouts is the number of MPA startups that took too long. HalfOpenEvictions is the
	// number of connections that were closed because of Config.MaxHalfOpen. BadSTagDelays is the
	// number of MPA Requests that were delayed because of Config.BadSTagDelay.
	HandshakeTimeouts, HalfOpenEvictions, BadSTagDelays uint64
	// Fallbacks is the number of connections that are plain TCP although Config.Startup is
	// StartupPrefer, by the reason in words. The map belongs to the caller.
	Fallbacks map[string]uint64
}

// Stats returns the counts of the connection: what it has done so far in DDP mode. It may be called
// at any time, from any goroutine, and also after Close. Before DDP mode all counts are zero.
func (c *Conn) Stats() Stats {
	if !c.inDDPMode() {
		return Stats{}
	}
	return c.verbs.pump.count.stats()
}

// TotalStats returns the counts of all connections of the process so far.
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

// All returns an iterator over all counts. Each has a name in the style of Prometheus, such as
// "sent_fpdus_total", and the names do not change.
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

// fields returns all counts with their names.
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

// counters holds the counts of a pump. Any goroutine may read them.
type counters struct {
	sent, received trafficCounters

	copied, direct, stalls, combined, offers, rendezvous atomic.Uint64
	memoryStalls, idleTimeouts, writeTimeouts, panics    atomic.Uint64

	retired     atomic.Bool // the counts have been added to live.ended
	copiedAtEnd uint64      // the part of copied that live.ended has; guarded by live.mu
}

type trafficCounters struct {
	fpdus, octets atomic.Uint64
	ops           [16]atomic.Uint64 // by opcode
}

// message counts one RDMA Message by its RDMAP Control Field.
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

// live holds all pumps of the process that have not ended, and the counts of those that have.
var live = struct {
	mu    locks.Mutex[locks.Live]
	pumps map[*pump]struct{} // +checklocks:mu
	begun uint64             // +checklocks:mu
	ended Stats              // +checklocks:mu
}{pumps: make(map[*pump]struct{})}

// enlist adds the pump to live, and retire moves its counts to live.ended.
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

// readCopied counts n bytes that Read has copied. A Read may do so after the connection has ended.
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
