package softrnic

import "slices"

// A step is a part of the end of a queue pair, or of its link. A life and an outgoing say which
// steps there are, and in which order, so whoever carries them out decides nothing: see end.
type step uint8

const (
	// What a connection does that has ended.
	stepSettleDebts step = iota // the peer hears what has been carried out in front of what was wrong
	stepClose                   // nothing comes or leaves any more
	stepDrain                   // what has left before is known
	stepJudge                   // what follows: see outgoing.ended
	stepBlame                   // the work request is blamed that the peer's Terminate names

	// What follows for the queue pair.
	stepFail    // see life.fails
	stepMiss    // see life.misses
	stepPart    // see outgoing.goes
	stepLose    // see life.loses
	stepRaise   // its program hears that a peer has done what it must not, if it has failed
	stepTell    // the connection manager hears that the connection has ended
	stepLog     // people hear of it
	stepAwait   // nothing, until the work requests of the last link have completed
	stepKick    // work requests behind them get what the life says
	stepFirst   // the first work request completes with the status of the end
	stepSends   // work requests are flushed
	stepFlush   // receives are flushed, if it has failed
	stepButLast // all of them but the last
	stepLast    // the last, later
	stepForget  // they are forgotten
	stepLeft    // see life.left

	// What a link does that ends.
	stepFlushReceive // frames that wait are forgotten, and the receive that is being filled is flushed
	stepDropReceive  // both are forgotten
	stepDiscard      // the peer reaches the program's memory no more
	stepOver         // nothing begins or completes any more: see outgoing.ends
	stepSettle       // work requests complete: see outgoing.settles
	stepLeave        // work requests are forgotten: see outgoing.leaves
	stepBye          // the peer hears what has been received, and that nothing follows
	stepHangUp       // the connection is closed without that
)

var stepNames = [...]string{
	"settle debts", "close", "drain", "judge", "blame", "fail", "miss", "part", "lose", "raise", "tell", "log", "await", "kick", "first",
	"sends", "flush", "but last", "last", "forget", "left", "flush receive", "drop receive", "discard", "over", "settle", "leave", "bye",
	"hang up",
}

func (s step) String() string { return stepNames[s] }

// The ends of a queue pair. The first steps are those of its link, if it has one.
var (
	linkFails = []step{stepFlushReceive, stepDiscard, stepOver, stepSettle, stepBye}
	linkLeft  = []step{stepDropReceive, stepDiscard, stepLeave}

	pairFails = []step{stepLog, stepAwait, stepKick}
	pairLost  = []step{stepLog, stepKick}
	pairReset = []step{stepAwait, stepForget, stepLeft}

	// A failure, and one that the program wants: another goroutine may have been faster.
	endFails = []step{stepFail, stepFlush}
	endToErr = []step{stepFail, stepFlush, stepAwait}
)

// A closing is how the connection of a link has ended, and whose it is.
type closing struct {
	how    connectionEnd
	kind   linkKind
	shared bool // the receives are not the queue pair's own
}

// A connectionEnd says how a connection has ended.
type connectionEnd uint8

const (
	endOrderly connectionEnd = iota // the peer has ended it after what it has sent
	endBroken                       // it has ended before that
	endOurs                         // this end has told the peer that it has done what it must not
	endTheirs                       // the peer has told this end so
)

// steps returns what a connection does that has ended. A peer that has got what it waits for may
// leave before this end knows what has left, so the judgment comes after that.
func (c *closing) steps() []step {
	s := []step{stepSettleDebts, stepClose, stepDrain, stepJudge}
	if c.how != endOurs || c.kind == linkPlain {
		return s[1:]
	}
	return s
}

// A verdict says what the end of a connection means for the queue pair.
type verdict uint8

const (
	verdictNone    verdict = iota // nothing: what has ended the link fails the queue pair
	verdictRefused                // it fails, because the peer has refused a work request
	verdictOurs                   // it fails, because the peer has done what it must not
	verdictLeft                   // it fails, because the peer has disconnected with nothing under way
	verdictFails                  // it fails, because the connection has ended
	verdictMiss                   // it misses the peer, and may fail later: see miss
	verdictGone                   // it fails if work requests are under way, and is lost if not
)

// steps returns what follows from a verdict.
func (v verdict) steps(c *closing) (s []step) {
	flush, last := stepFlush, []step(nil)
	if c.kind.isManaged() && !c.shared { // after the last receive, the program hears nothing any more
		flush, last = stepButLast, []step{stepLast}
	}
	switch v {
	case verdictNone:
	case verdictMiss:
		s = []step{stepMiss}
	case verdictGone:
		s = []step{stepPart}
	case verdictOurs:
		s = []step{stepFail, flush, stepRaise}
	case verdictFails:
		switch {
		case c.how == endTheirs && c.kind == linkSelf:
			s = []step{stepBlame, stepFail, flush, stepRaise}
		case c.how == endTheirs:
			s = []step{stepBlame, stepFail, flush}
		default:
			s = []step{stepFail, flush}
		}
	default:
		s = []step{stepFail, flush}
	}
	if c.kind.isManaged() {
		s = slices.Concat(s, []step{stepTell}, last)
	}
	return s
}
