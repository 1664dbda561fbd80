// Package stats has the types of what package extsock counts: extsock.Conn.Stats returns Counts,
// extsock.TotalStats returns a Process, and extsock.Connections returns Connections. Package
// metrics exports them to Prometheus.
package stats

import (
	"net"
	"time"
)

// Counts is what one connection, or several, did in DDP mode. No count ever decreases. Sent and
// Received count whole FPDUs, with all headers, pads, CRCs and markers.
//
// The fields are plain numbers, so that expvar can publish them:
//
//	expvar.Publish("rddp", expvar.Func(func() any { return extsock.TotalStats() }))
type Counts struct {
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
	// extsock.SetMemoryLimit. A byte stream never does; its peer counts CreditStalls.
	MemoryStalls uint64
	// IdleTimeouts and WriteTimeouts are the numbers of connections that ended because of
	// extsock.Config.IdleTimeout and extsock.Config.WriteTimeout.
	IdleTimeouts, WriteTimeouts uint64
	// EarlyFPDUs is the number of FPDUs whose payload was placed while bytes before them were
	// missing. EarlyOctets is the number of bytes of their ULPDUs. Without a TCP that shows bytes
	// early, and Markers, both are 0; see toe.Capabilities.
	EarlyFPDUs, EarlyOctets uint64
	// SavedCopies is the number of FPDUs whose payload was in place when their turn in the stream
	// came, because it had been placed early. Their bytes were not verified and copied then. The
	// difference between EarlyFPDUs and SavedCopies is the number of FPDUs that have been placed
	// early and whose gap is open.
	SavedCopies uint64
	// BufferedOctets is the number of bytes that TCP has shown early and that were not placed then,
	// with all headers, pads, CRCs and markers. They waited in TCP's buffer until the gap before
	// them had closed. An FPDU is not placed if the run that TCP shows does not contain all of it,
	// if no marker leads to it, if its CRC is wrong, if its buffer is not posted yet, or if 256
	// FPDUs have been placed already. Without early placement all bytes that TCP shows early count.
	// A byte that TCP shows early twice counts each time.
	BufferedOctets uint64
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

// A Connection is a connection of the process that is in DDP mode, and what it has done so far.
type Connection struct {
	// Number is 1 for the first connection of the process that has entered DDP mode, and so on.
	Number uint64
	// Since is when the connection entered DDP mode.
	Since time.Time
	// Local and Remote are the addresses of the connection below. They are nil if it has none.
	Local, Remote net.Addr
	// Initiator says that this end was the Initiator in MPA startup: the end that dialed.
	Initiator bool
	// ByteStream says that Read and Write are a byte stream. Otherwise they carry messages.
	ByteStream bool

	Counts
}

// Process is the Counts of all connections of the process, open and closed, and what happened to
// them before DDP mode.
type Process struct {
	Counts
	// Connections is the number of connections that have entered DDP mode. Open is the number of
	// them that have not ended. Open may decrease.
	Connections, Open uint64
	// Failures is the number of connections that ended with an error, timeouts and panics included:
	// all that neither this program nor the peer has closed.
	Failures uint64
	// MemoryReserved is how many bytes of extsock.SetMemoryLimit are in use or promised to a peer,
	// and MemoryLimit is that limit. Both may decrease.
	MemoryReserved, MemoryLimit int64
	// HandshakeTimeouts is the number of MPA startups that took too long. HalfOpenEvictions is the
	// number of connections that were closed because of extsock.Config.MaxHalfOpen. BadSTagDelays
	// is the number of MPA Requests that were delayed because of extsock.Config.BadSTagDelay.
	HandshakeTimeouts, HalfOpenEvictions, BadSTagDelays uint64
	// Fallbacks is the number of connections that are plain TCP although extsock.Config.Startup is
	// extsock.StartupPrefer, by the reason in words. The map belongs to the caller.
	Fallbacks map[string]uint64
	// OnDevice is the number of connections that run, or ran, on an RDMA device. InProcess is the
	// number of connections that do not, although their extsock.Config.Backend has a device, by the
	// reason in words. The map belongs to the caller.
	OnDevice  uint64
	InProcess map[string]uint64
}
