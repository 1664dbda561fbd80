package driver

import (
	"sync/atomic"
	"time"
)

// A patience lets a Read that holds the receive role poll for bytes for a moment before the Read
// sleeps. The answer of a quick peer arrives within that moment. Then the runtime's poller, the
// futexes of its threads and the kernel's wake-up have no part in the message. These wake-ups are
// the largest part of a short round trip.
//
// Unless Config.PollTime says otherwise, one goroutine of the process polls at a time, and only on
// a connection where polling was worth its cost recently, and where the last wait was short. In a
// process that is busy with many connections each of them waits long, and a goroutine that polls
// would keep the others from running. No goroutine polls for bulk data, of which one read brings so
// much that the wake-up counts for little, and polling takes time from the peer if both share a
// processor. The receive role guards it.
type patience struct {
	fixed time.Duration // Config.PollTime: if not 0, it decides alone, and what follows is not used
	mine  bool          // this connection's Read is the one that polls
	bulk  bool          // the last read of the stream has brought bulk data
	// luck is how often polling was rewarded recently, at most maxLuck. If luck is negative, so
	// many waits do not poll.
	luck int
}

const (
	patienceTime = 50 * time.Microsecond
	shortWait    = 2 * patienceTime // because a wait without polling ends with a wake-up
	maxPollTime  = time.Millisecond // a Read that polls notices no deadline
	maxLuck      = 4
	unlucky      = 64        // so many waits do not poll after polling was not rewarded
	bulkFrom     = 128 << 10 // bytes of one read that are bulk data
)

// patient says that a goroutine of this process polls.
var patient atomic.Bool

// begin returns how long the Read may poll. 0 means that it must not. waited is how long the last
// wait was.
func (p *patience) begin(waited time.Duration) time.Duration {
	if p.fixed != 0 {
		return min(max(p.fixed, 0), maxPollTime)
	}
	if p.bulk || waited > shortWait {
		return 0
	}
	if p.luck < 0 {
		p.luck++
		return 0
	}
	if p.mine = patient.CompareAndSwap(false, true); !p.mine {
		return 0
	}
	return patienceTime
}

// end ends the polling, if begin has allowed it. rewarded says that bytes have arrived. Otherwise
// the goroutine sleeps now.
func (p *patience) end(rewarded bool) {
	if !p.mine {
		return
	}
	p.mine = false
	patient.Store(false)
	if rewarded {
		p.luck = min(p.luck+1, maxLuck)
	} else if p.luck--; p.luck < 0 {
		p.luck = -unlucky
	}
}
