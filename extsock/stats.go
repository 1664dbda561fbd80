package extsock

import (
	"iter"

	"github.com/rddp/rddp/extsock/internal/counters"
	"github.com/rddp/rddp/extsock/internal/driver"
	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Stats returns the counts of the connection: what it has done so far in DDP mode. It may be called
// at any time, from any goroutine, and also after Close. Before DDP mode all counts are zero.
func (c *Conn) Stats() stats.Counts {
	if !c.ok() {
		return stats.Counts{}
	}
	if !c.inDDPMode() {
		return stats.Counts{}
	}
	return statsOf(c.verbs.engine.Counts())
}

// TotalStats returns the counts of all connections of the process so far.
func TotalStats() stats.Process {
	var sum counters.Counters
	begun, open, failed := counters.Totals(&sum)
	t := stats.Process{Counts: statsOf(&sum), Connections: begun, Open: open, Failures: failed, Fallbacks: make(map[string]uint64), InProcess: make(map[string]uint64)}
	t.Panics += panics.Count()
	t.MemoryReserved, t.MemoryLimit = driver.MemoryReserved(), driver.SetMemoryLimit(-1)
	t.HandshakeTimeouts, t.HalfOpenEvictions = startup.HandshakeTimeouts(), startup.HalfOpenEvictions()
	t.BadSTagDelays = startup.BadSTagDelays()
	for r, n := range startup.Fallbacks() {
		t.Fallbacks[r.String()] = n
	}
	t.OnDevice = onDevice.Load()
	for i := range inProcess {
		t.InProcess[inProcessReason(i)] = inProcess[i].Load()
	}
	return t
}

// Connections returns the connections of the process that are in DDP mode and have not ended, with
// their counts, in the order in which they entered DDP mode. They are those of the moment at which the
// iteration begins. No connection waits for it, except one that enters DDP mode or ends at that moment.
func Connections() iter.Seq[stats.Connection] {
	return func(yield func(stats.Connection) bool) {
		for _, o := range counters.AllOpen() {
			c := o.Owner.(*Conn)
			s := stats.Connection{
				Number: o.Number, Since: o.Since, Local: c.LocalAddr(), Remote: c.RemoteAddr(),
				Initiator: c.initiator, ByteStream: c.isByteStream(), Counts: statsOf(o.Counts),
			}
			if !yield(s) {
				return
			}
		}
	}
}

// statsOf returns the counts of a driver, or of several, as Counts.
func statsOf(c *counters.Counters) stats.Counts {
	return stats.Counts{
		Sent: trafficOf(&c.Sent), Received: trafficOf(&c.Received),
		CopiedOctets: c.Copied.Load(), DirectOctets: c.Direct.Load(), CreditStalls: c.Stalls.Load(),
		CombinedWrites: c.Combined.Load(), Offers: c.Offers.Load(), RendezvousOctets: c.Rendezvous.Load(),
		MemoryStalls: c.MemoryStalls.Load(), IdleTimeouts: c.IdleTimeouts.Load(), WriteTimeouts: c.WriteLimits.Load(),
		EarlyFPDUs: c.Early.Load(), EarlyOctets: c.EarlyOctets.Load(),
		SavedCopies: c.SavedCopies.Load(), BufferedOctets: c.Buffered.Load(),
		Panics: c.Panics.Load(),
	}
}

func trafficOf(t *counters.Traffic) stats.Traffic {
	return stats.Traffic{
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
// What is unread when a connection ends counts until Reads have taken it, or Close has thrown it away.
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
