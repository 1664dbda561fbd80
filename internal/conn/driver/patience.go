package driver

import (
	"sync/atomic"
	"time"
)

// A patience decides whether a Read that holds the receive role polls for bytes before it sleeps,
// and for how long. How to poll is up to the Stream: see toe.Stream.ReadSegment. The answer of a
// quick peer arrives within that time. Then the runtime's poller, the futexes of its threads and
// the kernel's wake-up have no part in the message. These wake-ups are the largest part of a short
// round trip.
//
// Unless Config.PollTime says otherwise, one goroutine of the process polls at a time, and only on
// a connection where polling was worth its cost recently, and where the last wait was short. In a
// process that is busy with several connections a goroutine that polls would keep the others from
// running, and its quick answers would keep the peer from the requests of the others. So a
// connection polls only while it is alone: in several waits in a row without polling, no other
// connection has waited. After some polls the connection has to look again, because a goroutine
// that polls keeps the others from waiting. No goroutine polls for bulk data. One read brings so
// much data that the wake-up counts for little, and polling takes time from the peer if both share
// a processor. The receive role guards a patience.
type patience struct {
	fixed time.Duration // Config.PollTime: if not 0, it decides alone, and the other fields are not used
	id    uint64        // names the connection in lastWaiter
	polls pollsFor      // whether this connection is the one that polls, and for whom
	bulk  bool          // the last read of the stream has brought bulk data
	// luck is how often polling was rewarded recently, at most maxLuck. If luck is negative, the
	// next -luck waits do not poll.
	luck int32
	wary int32 // number of waits that must find the connection alone before it may poll
	left int32 // polls that are left, while wary is 0
}

// A pollsFor says for whom a connection polls.
type pollsFor uint8

const (
	pollsNot     pollsFor = iota
	pollsForRead          // a Read, or home
	pollsForCall          // a blocking call that waits for an answer
)

const (
	patienceTime = 50 * time.Microsecond
	callPatience = 2 * patienceTime // an answer takes the way to the peer and back
	shortWait    = 2 * patienceTime // because a wait without polling ends with a wake-up
	maxPollTime  = time.Millisecond // a Read that polls notices no deadline
	maxLuck      = 4
	unlucky      = 64        // waits that do not poll after polling was not rewarded
	lonePolls    = 128       // polls of a connection that is alone, until it looks for others
	stillAlone   = 2         // waits without polling in which it looks
	aloneAgain   = 256       // such waits after it has found another connection: more than the peer polls
	bulkFrom     = 128 << 10 // bytes of one read that are bulk data
)

var (
	// patient says that a goroutine of this process polls.
	patient atomic.Bool
	// lastWaiter is the id of the connection that has waited last.
	lastWaiter atomic.Uint64
	waiters    atomic.Uint64 // the id of the newest waiter
)

// begin returns how long the Read may poll. 0 means that it must not. waited is how long the last
// wait was.
func (p *patience) begin(waited time.Duration) time.Duration {
	if p.fixed != 0 {
		return min(max(p.fixed, 0), maxPollTime)
	}
	p.look()
	if !p.mayPoll(waited) || !p.take(pollsForRead) {
		return 0
	}
	return patienceTime
}

// beginCall is begin for a blocking call that waits for an answer. Whether that pays is learned by
// the waits of calls: see calls.
func (p *patience) beginCall() time.Duration {
	if p.fixed != 0 {
		return min(max(p.fixed, 0), maxPollTime)
	}
	p.look()
	if p.wary != 0 || !p.take(pollsForCall) {
		return 0
	}
	return callPatience
}

// take makes this connection the one that polls, and reports whether it is.
func (p *patience) take(polls pollsFor) bool {
	if !patient.CompareAndSwap(false, true) {
		return false
	}
	p.polls = polls
	if p.left--; p.left == 0 {
		p.wary = stillAlone + 1
	}
	return true
}

// look notes whether this connection is alone, and makes it known to the others.
func (p *patience) look() {
	last := lastWaiter.Load()
	if p.id == 0 {
		p.id, p.wary = waiters.Add(1), stillAlone+1
		last = p.id
	}
	if lastWaiter.Load() != p.id {
		lastWaiter.Store(p.id)
	}
	switch {
	case p.wary == 0: // others cannot wait while it keeps them from running
	case last != p.id:
		p.wary = aloneAgain
	default:
		if p.wary--; p.wary == 0 {
			p.left = lonePolls
		}
	}
}

// isAlone reports whether no other connection has begun to wait since this one did.
func (p *patience) isAlone() bool { return p.id != 0 && lastWaiter.Load() == p.id }

// mayPoll reports whether polling is worth its cost on this connection.
func (p *patience) mayPoll(waited time.Duration) bool {
	if p.luck < 0 {
		if p.luck++; p.luck == 0 {
			p.wary = stillAlone + 1
		}
		return false
	}
	return p.wary == 0 && !p.bulk && waited <= shortWait
}

// end ends the polling, if begin or beginCall has allowed it. rewarded says that bytes have
// arrived. Otherwise the goroutine sleeps now.
func (p *patience) end(rewarded bool) {
	polls := p.polls
	if polls == pollsNot {
		return
	}
	p.polls = pollsNot
	patient.Store(false)
	if polls == pollsForCall {
		return
	}
	if rewarded {
		p.luck = min(p.luck+1, maxLuck)
	} else if p.luck--; p.luck < 0 {
		p.luck = -unlucky
	}
}
