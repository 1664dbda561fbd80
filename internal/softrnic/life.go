package softrnic

import (
	"slices"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/states"
)

// A life is the state of a queue pair: its state for verbs, and how it is joined with its peer. It
// is a value without lock, goroutine or clock. Its methods are the events, and they return what the
// queue pair has to do.
type life struct {
	kind  uverbs.QPType
	attrs uverbs.Attributes
	join  joinState
	// number counts how often the queue pair has lost, or given up, its connection. A connection
	// that was begun under an earlier number comes too late.
	number uint64
	// work requests wait for a link
	waits bool
	// a connection manager has connected it
	managed bool
	// the state to which the program has taken it, if managed. The device takes it to RTS with the
	// connection, and a program of InfiniBand's connection manager does so itself once it learns of
	// the connection. By then the connection may have ended, and the queue pair be in ERR.
	told uverbs.State
}

// A joinState says how a queue pair is joined with its peer:
//
//	unjoined ──▶ expecting, dialing ──▶ up ──▶ missed
//	    │                 │              │        │
//	    │                 │              ├────────┼──▶ losing ──▶ lost     (in RTS)
//	    │                 │              │        │       │        │
//	    │                 │              └────────┴──▶ failing     │       (in ERR)
//	    │                 │                               │        │
//	    └─────────────────┴──────────────────────────▶ gone ◀──────┘
//
// A connection manager may take an unjoined queue pair to up. Queue pairs without a link become
// lost once work requests have waited for too long. From each state but destroyed, a reset leads to
// leaving and from there to unjoined.
type joinState uint8

const (
	unjoined  joinState = iota // it has no link, and this end does nothing to get one
	expecting                  // the peer dials
	dialing                    // this end dials
	up                         // it has a link
	missed                     // the peer has left, and the work that it has done before may still arrive on other connections
	losing                     // the peer has gone without work requests under way, and the link ends
	lost                       // the peer has gone, or has never come: the next work request fails
	failing                    // the queue pair has failed, and the work requests of the link complete
	gone                       // it has failed, and work requests are flushed
	leaving                    // it is being reset
	destroyed                  // nothing looks at its rings any more
)

var joinNames = [...]string{
	"unjoined", "expecting", "dialing", "up", "missed", "losing", "lost", "failing", "gone", "leaving", "destroyed",
}

func (s joinState) String() string { return joinNames[s] }

var joinNext = states.Table[joinState]{
	unjoined:  states.To(expecting, dialing, up, lost, gone, leaving, destroyed),
	expecting: states.To(up, lost, gone, leaving),
	dialing:   states.To(up, lost, gone, leaving),
	up:        states.To(missed, losing, failing, leaving),
	missed:    states.To(losing, failing, leaving),
	losing:    states.To(lost, failing, leaving),
	lost:      states.To(gone, leaving),
	failing:   states.To(gone, leaving),
	gone:      states.To(leaving),
	leaving:   states.To(unjoined),
	destroyed: 0,
}

// isIn reports whether the join is in one of the given states.
func (v *life) isIn(s ...joinState) bool { return states.To(s...)>>v.join&1 != 0 }

// isLinked reports whether the queue pair has a link.
func (v *life) isLinked() bool { return v.isIn(up, missed) }

// mayJoin reports whether the queue pair may be joined by its attributes, as the program wanted
// under the given number.
func (v *life) mayJoin(number uint64) bool { return v.number == number && v.join == unjoined }

// mayLink reports whether a connection that was begun under the given number may become the link.
func (v *life) mayLink(number uint64) bool {
	return v.number == number && v.isIn(unjoined, expecting, dialing)
}

// isEnding reports whether work requests of the last link may still complete. Work requests behind
// them in the queues must not complete first.
func (v *life) isEnding() bool { return v.isIn(losing, failing, leaving) }

// stateNext has the changes of state that can happen. A program may ask for fewer: see
// uverbs.Change.Allowed.
//
//	RESET ──▶ INIT ──▶ RTR ──▶ RTS ◀──▶ SQD
//	  ▲        │        │       │        │
//	  └────────┴────────┴── ERR ◀────────┘     and from each of them back to RESET
var stateNext = states.Table[uverbs.State]{
	uverbs.Reset: states.To(uverbs.Reset, uverbs.Init),
	uverbs.Init:  states.To(uverbs.Reset, uverbs.Init, uverbs.RTR, uverbs.Err),
	uverbs.RTR:   states.To(uverbs.Reset, uverbs.RTS, uverbs.Err),
	uverbs.RTS:   states.To(uverbs.Reset, uverbs.RTS, uverbs.SQD, uverbs.Err),
	uverbs.SQD:   states.To(uverbs.Reset, uverbs.RTS, uverbs.SQD, uverbs.Err),
	uverbs.SQE:   0, // no queue pair of this device goes there
	uverbs.Err:   states.To(uverbs.Reset, uverbs.Err),
}

// setState is the one place that changes the state.
func (v *life) setState(to uverbs.State) {
	stateNext.Become(&v.attrs.State, to)
	v.attrs.Draining = to == uverbs.SQD
	v.attrs.SQDNotify = v.attrs.SQDNotify && to == uverbs.SQD // a later stay in SQD may be without the event
}

// hears reports whether a datagram with the given key goes to a receive of the queue pair.
func (v *life) hears(key uint32) bool {
	return key == v.attrs.QKey && v.attrs.State >= uverbs.RTR && v.attrs.State <= uverbs.SQD
}

// A turn says what becomes of the work requests in the send queue.
type turn uint8

const (
	turnRest      turn = iota // nothing, for now
	turnAwait                 // they wait for a link: see posted
	turnEarly                 // nothing, and the program must not have posted any
	turnSend                  // they go out on the link
	turnDrain                 // the one that has begun goes out, and nothing behind it
	turnDatagrams             // they go out as datagrams
	turnAbandon               // the first one fails, because the peer has gone
	turnFlush                 // they are flushed
)

// turn returns what becomes of the work requests.
func (v *life) turn() turn {
	s := v.attrs.State
	switch {
	case v.join == destroyed:
		return turnRest
	case s < uverbs.RTS:
		return turnEarly
	case v.isEnding(): // the goroutine that ends the link kicks
		return turnRest
	case s == uverbs.Err:
		return turnFlush
	case s == uverbs.SQD:
		return turnDrain
	case s == uverbs.RTS && v.kind == uverbs.UD:
		return turnDatagrams
	case s == uverbs.RTS && v.isLinked():
		return turnSend
	case s == uverbs.RTS && v.join == lost:
		return turnAbandon
	}
	return turnAwait
}

// leastPatience is how long a queue pair waits for its peer at least, before its work requests
// fail. A NIC may give up within milliseconds, because another NIC answers within microseconds.
// Here the peer's device shares its processors with the program, and with whatever else a busy CI
// runner does, and may have to start first.
const leastPatience = 5 * time.Second

// patience returns how long work requests wait for a sign of the peer: as long as a NIC would
// repeat them, but at least leastPatience. 0 means forever.
func (v *life) patience() time.Duration {
	if v.attrs.Timeout == 0 && v.kind == uverbs.RC {
		return 0
	}
	return max(leastPatience, v.retryTime())
}

// retryTime returns how long a NIC repeats a request that gets no answer.
func (v *life) retryTime() time.Duration {
	return (time.Duration(v.attrs.Retry) + 1) * (4096 * time.Nanosecond) << (v.attrs.Timeout & 31)
}

// posted is the event that work requests wait in the queue. If they begin to wait for a link, it
// returns the limit of that wait, and otherwise 0.
func (v *life) posted() (limit time.Duration) {
	if v.turn() != turnAwait || v.waits {
		return 0
	}
	limit = v.patience()
	v.waits = limit != 0
	return limit
}

// waited is the event that the limit of a wait has passed, under the given number. It returns false
// if the wait has ended before. In states other than RTS, the work requests may wait once more.
func (v *life) waited(number uint64) bool {
	if !v.waits || v.number != number {
		return false
	}
	v.waits = false
	if v.attrs.State == uverbs.RTS {
		joinNext.Become(&v.join, lost)
	}
	return true
}

// joins is the event that the queue pair is to be joined: this end dials, or else the peer does.
func (v *life) joins(dials bool) {
	if dials {
		joinNext.Become(&v.join, dialing)
	} else {
		joinNext.Become(&v.join, expecting)
	}
}

// mayStart reports whether the device may link the queue pair by a connection that was begun under
// the given number.
func (v *life) mayStart(number uint64) bool {
	return v.mayLink(number) && v.attrs.State >= uverbs.RTR && v.attrs.State <= uverbs.SQD
}

// links is the event that the queue pair has a link.
func (v *life) links() {
	joinNext.Become(&v.join, up)
	v.waits = false
}

// mayManage reports whether a connection manager may connect the queue pair.
func (v *life) mayManage(number uint64) bool { return v.mayLink(number) && v.attrs.State <= uverbs.SQD }

// managedBits are the attributes that each state on the way to RTS sets.
var managedBits = [...]struct {
	state uverbs.State
	mask  uverbs.Mask
}{
	{uverbs.Init, uverbs.MaskAccess | uverbs.MaskPort},
	{uverbs.RTR, uverbs.MaskAddress | uverbs.MaskMTU | uverbs.MaskDestQPN | uverbs.MaskRQPSN | uverbs.MaskMaxDestRead | uverbs.MaskMinRNRTimer},
	{uverbs.RTS, uverbs.MaskTimeout | uverbs.MaskRetry | uverbs.MaskRNRRetry | uverbs.MaskSQPSN | uverbs.MaskMaxRead},
}

// manages is the event that a connection manager has connected the queue pair, as mayManage allows.
// The queue pair goes to RTS, with the attributes that the program has not set itself. plain says
// that the connection has no frames.
func (v *life) manages(attrs *uverbs.Attributes, plain bool) {
	from := v.attrs.State
	for _, next := range managedBits {
		if from < next.state {
			v.setState(next.state)
			(&uverbs.Change{Mask: next.mask, To: *attrs}).Apply(&v.attrs)
		}
	}
	v.managed, v.told = true, uverbs.RTS
	if !plain {
		v.told = from
	}
	v.links()
}

// seen returns the state of the queue pair as the program sees it.
func (v *life) seen() uverbs.State {
	if v.isAhead() {
		return v.told
	}
	return v.attrs.State
}

// follows is the event that the program takes its queue pair to ERR, or to a state that the queue
// pair has passed already: see isAhead.
func (v *life) follows(to uverbs.State) { v.told = to }

// isAhead reports whether a connection manager has taken the queue pair to RTS before the program
// has. The end of the connection changes nothing in that: it is no reason to refuse the program the
// changes that it makes once it learns of the connection, before it learns of the end.
func (v *life) isAhead() bool {
	return v.managed && v.told < uverbs.RTS && (v.attrs.State == uverbs.RTS || v.attrs.State == uverbs.Err)
}

// misses is the event that the peer has left in order. Work requests may be under way.
func (v *life) misses() { joinNext.Become(&v.join, missed) }

// loses is the event that the peer has gone, and that nothing was under way. The link ends. loses
// returns the steps of that.
func (v *life) loses() []step {
	joinNext.Become(&v.join, losing)
	v.ends()
	return slices.Concat(linkFails, pairLost)
}

// fails is the event that the queue pair fails. It returns the steps of that, or nil in RESET and
// ERR, where nothing fails. If it has had a link, its work requests complete until settled.
func (v *life) fails() (steps []step) {
	if v.attrs.State == uverbs.Reset || v.attrs.State == uverbs.Err {
		return nil
	}
	if steps = pairFails; v.isLinked() {
		steps = slices.Concat(linkFails, pairFails)
	}
	v.setState(uverbs.Err)
	if v.isIn(up, missed, losing) {
		joinNext.Become(&v.join, failing)
	} else {
		joinNext.Become(&v.join, gone)
	}
	v.ends()
	return steps
}

// breaks is the event that the first work request in the queue fails, without a link: it is a
// datagram, or its peer has gone. It returns the steps of that.
func (v *life) breaks() []step {
	if v.fails() == nil { // another goroutine has been faster
		return []step{stepFirst, stepSends}
	}
	return []step{stepLog, stepFirst, stepSends, stepFlush}
}

// settled is the event that the work requests of the link that has ended have completed.
func (v *life) settled() {
	switch v.join {
	case losing:
		joinNext.Become(&v.join, lost)
	case failing:
		joinNext.Become(&v.join, gone)
	}
}

// resets is the event that the program resets the queue pair, and left that this is done. resets
// returns the steps in between.
func (v *life) resets() (steps []step) {
	if steps = pairReset; v.isLinked() {
		steps = slices.Concat(linkLeft, pairReset)
	}
	v.setState(uverbs.Reset)
	joinNext.Become(&v.join, leaving)
	v.managed = false
	v.ends()
	return steps
}

func (v *life) left() { joinNext.Become(&v.join, unjoined) }

// destroys is the event that the program destroys the queue pair, which has been reset.
func (v *life) destroys() { joinNext.Become(&v.join, destroyed) }

// ends ends the wait of work requests. Connections that were begun come too late.
func (v *life) ends() {
	v.number++
	v.waits = false
}
