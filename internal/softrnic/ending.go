package softrnic

import "slices"

// A step is a part of the end of a queue pair, or of its link. A life and an outgoing return the
// steps in their order, so the code that carries them out decides nothing: see end.
type step uint8

const (
	// The steps of a connection that has ended.
	stepSettleDebts step = iota // what the peer has sent in front of something wrong is carried out and acknowledged
	stepClose                   // nothing comes or leaves any more
	stepDrain                   // all Completions of the connection are taken
	stepJudge                   // what follows: see outgoing.ended
	stepBlame                   // the Write that the peer's Terminate names is blamed

	// The steps of the queue pair.
	stepFail    // see life.fails
	stepMiss    // see life.misses
	stepPart    // see outgoing.goes
	stepLose    // see life.loses
	stepRaise   // if it has failed, the program gets an event that says that the peer has broken the rules
	stepTell    // the connection manager learns that the connection has ended
	stepLog     // the end is logged
	stepAwait   // nothing, until the work requests of the last link have completed
	stepKick    // the queue pair looks at its send queue: see life.turn
	stepFirst   // the first work request completes with the status of the end
	stepSends   // work requests are flushed
	stepFlush   // receives are flushed, if it has failed
	stepButLast // all receives but the last are flushed
	stepLast    // the last receive is flushed, later
	stepForget  // receives are forgotten
	stepLeft    // see life.left

	// The steps of a link that ends.
	stepFlushReceive // frames that wait are forgotten, and the receive that is being filled is flushed
	stepDropReceive  // both are forgotten
	stepDiscard      // the peer cannot access the program's memory any more, whatever is on its way
	stepOver         // nothing begins or completes any more: see outgoing.ends
	stepSettle       // work requests complete: see outgoing.settles
	stepLeave        // work requests are forgotten: see outgoing.leaves
	stepBye          // the peer learns what has been received, and that nothing follows
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

	// The ends by a failure, and by the program's wish, which waits for a failure that another
	// goroutine has begun.
	endFails = []step{stepFail, stepFlush}
	endToErr = []step{stepFail, stepFlush, stepAwait}
)

// A closing is how the connection of a link has ended, and what kind of link it was.
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
	endOurs                         // this end ends it with a Terminate, because the peer has broken the rules
	endTheirs                       // the peer has ended it with a Terminate
)

// steps returns the steps of a connection that has ended. A peer that has got what it waits for may
// leave before this end has taken its own Completions, so the judgment comes after them.
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
	verdictOurs                   // it fails, because the peer has broken the rules
	verdictLeft                   // it fails, because the peer has disconnected with nothing under way
	verdictFails                  // it fails, because the connection has ended
	verdictMiss                   // it misses the peer, and may fail later: see miss
	verdictGone                   // it fails if work requests are under way, and is lost if not
)

// steps returns what follows from a verdict.
func (v verdict) steps(c *closing) (s []step) {
	flush, last := stepFlush, []step(nil)
	if c.kind.isManaged() && !c.shared { // after the last receive, the program gets no more completions
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
