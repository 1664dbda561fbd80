package extsock

import (
	"iter"

	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/panics"
)

// Stats returns the counts of the connection: what it has done so far in DDP mode. It may be called
// at any time, from any goroutine, and also after Close. Before DDP mode all counts are zero.
func (c *Conn) Stats() stats.Counts {
	if !c.ok() {
		return stats.Counts{}
	}
	return statsOf(c.engine().Counts().Sums())
}

// TotalStats returns the counts of all connections of the process so far. It takes a microsecond or
// so, and less than one more for each connection that has done something since the last call.
// Connections that are only open cost nothing.
func TotalStats() stats.Process {
	sum, begun, open, failed := counters.Totals()
	t := stats.Process{Counts: statsOf(sum), Connections: begun, Open: open, Failures: failed, Fallbacks: make(map[string]uint64), InProcess: make(map[string]uint64)}
	t.Panics += panics.Count()
	t.MemoryReserved, t.MemoryLimit = driver.MemoryReserved(), driver.SetMemoryLimit(-1)
	t.HandshakeTimeouts, t.HalfOpenEvictions = startup.HandshakeTimeouts(), startup.HalfOpenEvictions()
	t.BadSTagDelays = startup.BadSTagDelays()
	for r, n := range startup.Fallbacks() {
		t.Fallbacks[r.String()] = n
	}
	t.OnDevice = countOnDevice.Load()
	for i := range countsInProcess {
		t.InProcess[inProcessReason(i)] = countsInProcess[i].Load()
	}
	return t
}

// Connections returns the connections of the process that are in DDP mode and have not ended, with
// their counts, in the order in which they entered DDP mode. The iteration shows the connections of
// the moment at which it begins. No connection waits for the iteration, except one that enters DDP
// mode or ends at that moment.
func Connections() iter.Seq[stats.Connection] {
	return func(yield func(stats.Connection) bool) {
		for _, o := range counters.AllOpen() {
			s := stats.Connection{
				Number: o.Number, Since: o.Since, Local: o.Owner.LocalAddr(), Remote: o.Owner.RemoteAddr(),
				Initiator: o.Owner.IsInitiator(), ByteStream: o.Owner.IsByteStream(), Counts: statsOf(o.Counts.Sums()),
			}
			if !yield(s) {
				return
			}
		}
	}
}

// An owner is the Conn to which counts belong.
type owner struct{ *Conn }

func (o owner) IsInitiator() bool  { return o.initiator }
func (o owner) IsByteStream() bool { return o.isByteStream() }

// statsOf returns the counts of a connection, or of several, as Counts.
func statsOf(s counters.Sums) stats.Counts {
	return stats.Counts{
		Sent: trafficOf(s, counters.Sent), Received: trafficOf(s, counters.Received),
		CopiedOctets: s[counters.Copied], DirectOctets: s[counters.Direct], CreditStalls: s[counters.Stalls],
		CombinedWrites: s[counters.Combined], Offers: s[counters.Offers], RendezvousOctets: s[counters.Rendezvous],
		MemoryStalls: s[counters.MemoryStalls], IdleTimeouts: s[counters.IdleTimeouts], WriteTimeouts: s[counters.WriteLimits],
		EarlyFPDUs: s[counters.Early], EarlyOctets: s[counters.EarlyOctets],
		SavedCopies: s[counters.SavedCopies], BufferedOctets: s[counters.Buffered],
		Panics: s[counters.Panics],
	}
}

// trafficOf returns the traffic of one way, which is counters.Sent or counters.Received.
func trafficOf(s counters.Sums, way counters.Kind) stats.Traffic {
	return stats.Traffic{
		FPDUs: s[way+counters.FPDUs], Octets: s[way+counters.Octets],
		Sends:           s[way+counters.Sends],
		Writes:          s[way+counters.Writes],
		ReadRequests:    s[way+counters.ReadRequests],
		ReadResponses:   s[way+counters.ReadResponses],
		AtomicRequests:  s[way+counters.AtomicRequests],
		AtomicResponses: s[way+counters.AtomicResponses],
		ImmediateData:   s[way+counters.ImmediateData],
		Terminates:      s[way+counters.Terminates],
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
//   - Copies of Writes that follow one another quickly, 896 KiB. When the limit is reached, such
//     Writes go out in smaller groups.
//
// Data that is unread when a connection ends counts until Reads have taken it, or Close has
// discarded it.
//
// A limit of 0 means the smallest possible memory; connections still work.
//
// If n is below the present use, the limit takes effect as memory is released. A byte stream whose
// program reads then returns only a part of its credits to the peer, until the windows are within
// the limit or have eight messages.
//
// The limit does not cover memory that the program has registered, the receive buffers of rsockets
// (Config.RSockets), or the payload of the program's own operations.
func SetMemoryLimit(n int64) (before int64) { return driver.SetMemoryLimit(n) }
