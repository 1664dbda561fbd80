package extsock

import (
	"github.com/rddp/rddp/extsock/internal/driver"
	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Stats counts what one connection, or several, did in DDP mode. No count ever decreases. Sent and
// Received count whole FPDUs, with all headers, pads, CRCs and markers.
//
// The fields of Stats are plain numbers, so that expvar can publish them:
//
//	expvar.Publish("rddp", expvar.Func(func() any { return extsock.TotalStats() }))
type Stats struct {
	Sent, Received Traffic

	// CopiedOctets is the number of bytes that arrived before a Read waited for them, and so were
	// copied once more. DirectOctets is the number of bytes that were placed in a waiting Read's
	// memory.
	CopiedOctets, DirectOctets uint64
	// CreditStalls is how often a Write to a byte stream had to wait until the peer's program had
	// read.
	CreditStalls uint64
	// CombinedWrites is the number of Writes that were copied, and whose first byte was sent in one
	// message with an earlier Write.
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
	// EarlyFPDUs is the number of FPDUs whose payload was placed while bytes before them were
	// missing. EarlyOctets is the number of bytes of their ULPDUs. Without a TCP that shows bytes
	// early, and Markers, both are 0; see toe.Capabilities.
	EarlyFPDUs, EarlyOctets uint64
	// SavedCopies is the number of FPDUs whose payload was in place when their turn in the stream
	// came, because it had been placed early or by an engine. Their bytes were not verified and
	// copied then. If no engine places payload, the difference between EarlyFPDUs and SavedCopies
	// is the number of FPDUs that have been placed early and whose gap is open.
	SavedCopies uint64
	// BufferedOctets is the number of bytes that TCP has shown early and that were not placed then,
	// with all headers, pads, CRCs and markers. They waited in TCP's buffer until the gap before
	// them had closed. An FPDU is not placed if the run that TCP shows does not contain all of it,
	// if no marker leads to it, if its CRC is wrong, if its buffer is not posted yet, or if 256
	// FPDUs have been placed already. Without early placement all bytes that TCP shows early count.
	// A byte that TCP shows early twice counts each time.
	BufferedOctets uint64
	// EngineFPDUs is the number of FPDUs whose payload an offload engine has placed.
	EngineFPDUs uint64
	// EngineStops is how often an offload engine has left its work to the connection: once for each
	// direction, or once if it did not begin. See toe.EngineError.
	EngineStops uint64
	// Panics is the number of panics that ended a connection. Each is a bug.
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
	return statsOf(c.verbs.driver.Counts())
}

// TotalStats returns the counts of all connections of the process so far.
func TotalStats() Totals {
	var sum driver.Counters
	begun, open := driver.Totals(&sum)
	t := Totals{Stats: statsOf(&sum), Connections: begun, Open: open, Fallbacks: make(map[string]uint64)}
	t.Panics += startupPanics.Load()
	t.HandshakeTimeouts, t.HalfOpenEvictions = startup.HandshakeTimeouts(), startup.HalfOpenEvictions()
	t.BadSTagDelays = startup.BadSTagDelays()
	for r, n := range startup.Fallbacks() {
		t.Fallbacks[r.String()] = n
	}
	return t
}

// statsOf returns the counts of a driver, or of several, as Stats.
func statsOf(c *driver.Counters) Stats {
	return Stats{
		Sent: trafficOf(&c.Sent), Received: trafficOf(&c.Received),
		CopiedOctets: c.Copied.Load(), DirectOctets: c.Direct.Load(), CreditStalls: c.Stalls.Load(),
		CombinedWrites: c.Combined.Load(), Offers: c.Offers.Load(), RendezvousOctets: c.Rendezvous.Load(),
		MemoryStalls: c.MemoryStalls.Load(), IdleTimeouts: c.IdleTimeouts.Load(), WriteTimeouts: c.WriteLimits.Load(),
		EarlyFPDUs: c.Early.Load(), EarlyOctets: c.EarlyOctets.Load(),
		SavedCopies: c.SavedCopies.Load(), BufferedOctets: c.Buffered.Load(), EngineFPDUs: c.EnginePlaced.Load(),
		EngineStops: c.EngineStops.Load(), Panics: c.Panics.Load(),
	}
}

func trafficOf(t *driver.Traffic) Traffic {
	return Traffic{
		FPDUs: t.FPDUs.Load(), Octets: t.Octets.Load(),
		Sends:           t.Messages(rdmaphdr.OpSend, rdmaphdr.OpSendInvalidate, rdmaphdr.OpSendSE, rdmaphdr.OpSendSEInvalidate),
		Writes:          t.Messages(rdmaphdr.OpWrite),
		ReadRequests:    t.Messages(rdmaphdr.OpReadRequest),
		ReadResponses:   t.Messages(rdmaphdr.OpReadResponse),
		AtomicRequests:  t.Messages(rdmaphdr.OpAtomicRequest),
		AtomicResponses: t.Messages(rdmaphdr.OpAtomicResponse),
		ImmediateData:   t.Messages(rdmaphdr.OpImmediate, rdmaphdr.OpImmediateSE),
		Terminates:      t.Messages(rdmaphdr.OpTerminate),
	}
}

// SetMemoryLimit sets how many bytes all connections of the process together may hold for their
// peers beyond the fixed allowance of each, and returns the previous limit. The initial limit is
// 128 MiB. A negative n changes nothing. The limit covers:
//
//   - The windows of byte streams. A window is Config.RecvDepth messages of Config.RecvSize, 2 MiB
//     by default. Eight of these messages, 512 KiB by default, are the allowance. A connection
//     reserves the memory of the others at startup, at most a 32nd of what is left. All windows
//     together get at most three quarters of the limit. The peer gets credits for as many messages
//     as there is memory for.
//   - Unread messages in message mode, beyond 64 KiB and one message for each connection. When the
//     limit is reached, a connection whose program does not read stops reading from TCP.
//   - Memory for what a peer places in the memory of a Read, by a long Write, after the Read has
//     returned: as much as the Read has granted. It is reserved with the grant. All grants together
//     get at most half of what the rest leaves, and one grant gets at most half of what is left for
//     grants. Without memory for a grant the Write comes as data.
//   - The buffer that a connection receives to, 512 KiB. The connection keeps it while more than
//     16 KiB of an FPDU have arrived and the rest has not. When the limit is reached, the buffer
//     has 66 KiB.
//   - A batch of FPDUs until TCP has taken it, 512 KiB. When the limit is reached, the batch has
//     66 KiB.
//
// A limit of 0 means the smallest possible memory; connections still work.
//
// If n is below the present use, the limit takes effect as memory is released. A byte stream whose
// program reads then returns only a part of its credits to the peer, until the windows are within
// the limit or have eight messages.
//
// The limit does not cover memory that the program has registered, or the payload of the program's
// own operations.
func SetMemoryLimit(n int64) (before int64) { return driver.SetMemoryLimit(n) }
