package softrnic

import (
	"fmt"
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/rdmap"
)

// A flight is a work request on its way.
type flight struct {
	id       uint64
	op       uverbs.SendOp
	n        uint32
	signaled bool
	remote   rdmap.Handle // where it begins in the peer's memory
	// number is the number of the frame whose acknowledgement ends the flight, valid if numbered is
	// set.
	number   uint32
	numbered bool
	// A flight with isRead set ends with answers, not with an acknowledgement. awaits is the number
	// of answers that have not come, and posted says that all pieces that get one have been posted.
	// An operation of this end alone has no such piece.
	isRead bool
	awaits int
	posted bool
	sink   cursor
	// status is not Success if the flight has failed here, and why says more about it, if there is
	// more to say.
	status uverbs.WCStatus
	why    string
	// noDepth says that it is a Read or an atomic that has failed for want of depth.
	noDepth bool
	// nil unless the program is checked
	checked *checkedFlight
	seq     uint64 // its number for the trace
}

// lacksDepth is the event that the flight fails because the queue pair, or its peer, carries out
// too few Reads and atomics at a time.
func (f *flight) lacksDepth(status uverbs.WCStatus, why string) {
	f.status, f.why, f.noDepth = status, why, true
}

// postedAt returns where the program has posted the work request, or nil.
func (f *flight) postedAt() check.Site {
	if f.checked == nil {
		return nil
	}
	return f.checked.posted
}

const (
	// window is the maximum number of frames that count and are not acknowledged.
	window = 32
	// maxFlights is the maximum number of flights.
	maxFlights = 128
)

// isWrite reports whether the flight is a Write without immediate data: the peer's program takes no
// part in it.
func (f *flight) isWrite() bool { return f.op == uverbs.OpWrite || f.op == uverbs.OpAtomicWrite }

// writes reports whether it has a Write, with or without immediate data.
func (f *flight) writes() bool { return f.isWrite() || f.op == uverbs.OpWriteImm }

// isOver reports whether the flight has got all answers, or its acknowledgement. acked is the last
// frame that the peer has acknowledged.
func (f *flight) isOver(acked uint32) bool {
	if f.isRead {
		return f.awaits == 0 && f.posted
	}
	return f.numbered && int32(acked-f.number) >= 0
}

// isDone reports whether the peer has carried out a flight in front of one that it has refused.
func (f *flight) isDone(acked uint32) bool {
	return f.isWrite() || f.isOver(acked)
}

// A linkKind says how the two queue pairs of a link were joined, and what its connection carries.
type linkKind uint8

const (
	linkByAttributes linkKind = iota // by the attributes that the programs have set; it carries frames
	linkSelf                         // by its attributes, with itself; it carries frames
	linkManaged                      // by a connection manager; it carries frames
	// by a connection manager, without frames: a flight ends with the Completions of its pieces
	linkPlain
)

// isManaged reports whether a connection manager tells the program of any end of the link. So the
// program's receives are flushed, too, however the link has ended: the program may wait for nothing
// but them.
func (k linkKind) isManaged() bool { return k >= linkManaged }

// An outgoing is the half of a link that sends: the work requests on their way, and the frames that
// are not acknowledged. It is a value without lock, goroutine or clock, as a life is.
type outgoing struct {
	state outgoingState
	kind  linkKind
	// serves is how many Reads and atomics the peer serves at a time. The connection keeps to that.
	serves int
	// work requests whose completion is due, in order
	flights []*flight
	// The frames that count: sent is the number of the last one, and acked that of the last one
	// that the peer has acknowledged.
	sent, acked uint32
	// the last frames that the peer acts upon some time after it has received them: the last frame
	// of a Send, and the last frame that needs a receive
	lastSend, lastReceive uint32
	// notReady is the frame that waits for a receive of the peer's program, or acked if none does.
	notReady uint32
	// the work request that the peer has refused; nil if there is none
	culprit *flight
	// indebted says that nothing from the peer is read any more: see owes.
	indebted bool
	// why the peer has refused culprit, for the log
	why string
}

// An outgoingState says what becomes of work requests:
//
//	flowing ──▶ doomed ──▶ over
//	   └────────────────────▲
type outgoingState uint8

const (
	outFlowing outgoingState = iota // they begin, and complete
	// one of them has failed, or the peer has refused it: those in front of it complete, and
	// nothing behind it begins
	outDoomed
	// nothing begins or completes any more; what has ended the link fails the queue pair
	outOver
)

var outgoingNames = [...]string{"flowing", "doomed", "over"}

func (s outgoingState) String() string { return outgoingNames[s] }

var outgoingNext = states.Table[outgoingState]{
	outFlowing: states.To(outDoomed, outOver),
	outDoomed:  states.To(outDoomed, outOver),
	outOver:    states.To(outOver),
}

// dooms is the event that a flight has failed.
func (o *outgoing) dooms() {
	if o.state != outOver {
		outgoingNext.Become(&o.state, outDoomed)
	}
}

// owes is the event that frames of the peer wait for receives, and that nothing else from it is
// read. It reports whether work requests are under way, which get no answers then. Those that begin
// later get none either.
func (o *outgoing) owes() bool {
	o.indebted = true
	return !o.isIdle()
}

// isIdle reports whether no work request is on its way.
func (o *outgoing) isIdle() bool { return len(o.flights) == 0 }

// mayBegin reports whether another work request may begin.
func (o *outgoing) mayBegin() bool { return o.state == outFlowing && len(o.flights) < maxFlights }

// begins is the event that a work request begins, which may have failed already.
func (o *outgoing) begins(f *flight) {
	o.flights = append(o.flights, f)
	if f.status != uverbs.Success {
		o.dooms()
	}
}

// breaks is the event that a flight fails at this end.
func (o *outgoing) breaks(f *flight, status uverbs.WCStatus, why string) {
	f.status, f.why = status, why
	o.dooms()
}

// mayRead reports whether so few Reads and atomics are under way that another one may begin.
func (o *outgoing) mayRead(depth int) bool {
	n := 0
	for _, f := range o.flights {
		if f.isRead && f.awaits > 0 {
			n++
		}
	}
	return n < depth
}

// isReading reports whether Reads or atomics are under way.
func (o *outgoing) isReading() bool {
	return slices.ContainsFunc(o.flights, func(f *flight) bool { return isRead(f.op) && f.awaits > 0 })
}

// isInOrder reports whether a flight that accesses the peer's memory directly comes behind the data
// that receives place there. Over InfiniBand a Write, a Read or an atomic never overtakes a Send.
// Here the connection places Writes and answers Reads, while frames go to the receiver and may wait
// there. So the work request begins once the frames in front of it have been acknowledged. A Write
// waits for Sends alone: immediate data in front of it does not touch the memory.
func (o *outgoing) isInOrder(f *flight) bool {
	last := o.lastSend
	if f.isRead {
		last = o.lastReceive
	}
	return o.sent-last >= o.sent-o.acked
}

// mayNumber reports whether the window has room for another frame.
func (o *outgoing) mayNumber() bool { return o.sent-o.acked < window }

// numbers is the event that a frame that counts goes out. Its acknowledgement ends the given
// flights.
func (o *outgoing) numbers(kind frameType, flights []*flight) {
	o.sent++
	switch kind {
	case frameSend:
		o.lastSend, o.lastReceive = o.sent, o.sent
	case frameWritten:
		o.lastReceive = o.sent
	}
	for _, f := range flights {
		f.number, f.numbered = o.sent, true
	}
}

// acknowledged is the event that the peer has acted upon all frames up to number. An
// acknowledgement that another one has overtaken says nothing new: the peer sends some in front of
// what its program sends, and others from the goroutine that receives.
func (o *outgoing) acknowledged(number uint32) error {
	if int32(o.acked-number) >= 0 {
		return nil
	}
	if number-o.acked > o.sent-o.acked {
		return fmt.Errorf("%w: it acknowledges frame %d, and the last one is %d", errFrame, number, o.sent)
	}
	if o.notReady-o.acked <= number-o.acked {
		o.notReady = number
	}
	o.acked = number
	return nil
}

// isWaiting reports whether a frame waits for a receive of the peer's program.
func (o *outgoing) isWaiting() bool { return o.notReady != o.acked }

// reached is the event that the peer has received frame number and has not acted upon it, so
// everything in front of the frame is done.
func (o *outgoing) reached(number uint32) error {
	if err := o.acknowledged(number - 1); err != nil {
		return err
	}
	for _, f := range o.flights {
		if f.isWrite() && f.numbered && f.number == number {
			f.number-- // a Write is in front of the frame that it has its number from
		}
	}
	return nil
}

// of returns the work request of frame number, or nil if there is none.
func (o *outgoing) of(number uint32) *flight {
	for _, f := range o.flights {
		if !f.isRead && (!f.numbered || int32(f.number-number) >= 0) {
			return f
		}
	}
	return nil
}

// waits is the event that the frame with the given number, which the peer has reached, waits for a
// receive. It returns true if the wait is new.
func (o *outgoing) waits(number uint32) bool {
	if o.state == outOver || int32(o.acked-number) >= 0 || o.isWaiting() && int32(o.notReady-number) >= 0 {
		return false
	}
	o.notReady = number
	return true
}

// waited is the event that the time of that wait is over. It returns false if the frame waits no
// more.
func (o *outgoing) waited(number uint32) bool { return o.state != outOver && int32(o.acked-number) < 0 }

// refuses is the event that a flight fails with a status once those in front of it are over: Reads
// and atomics may still wait for their answers.
func (o *outgoing) refuses(f *flight, status uverbs.WCStatus, why string) {
	o.culprit, f.status, o.why = f, status, why
	o.dooms()
}

// blames is the event that the peer has ended the connection because of a flight.
func (o *outgoing) blames(f *flight) {
	o.culprit = f
	o.dooms()
}

// answers is the event that one of the answers to a flight has come, or that a piece of it has
// left.
func (o *outgoing) answers(f *flight) { f.awaits-- }

// front returns the oldest flight if it is over, or has failed: see retires.
func (o *outgoing) front() *flight {
	if len(o.flights) == 0 || o.state == outOver {
		return nil
	}
	if f := o.flights[0]; f.status != uverbs.Success || f.isOver(o.acked) {
		return f
	}
	return nil
}

// retires is the event that the oldest flight completes. It returns false if the flight has failed:
// then nothing completes any more, and the queue pair fails.
func (o *outgoing) retires() bool {
	if o.flights[0].status != uverbs.Success {
		o.ends()
		return false
	}
	o.flights = o.flights[1:]
	return true
}

// ends is the event that the link ends.
func (o *outgoing) ends() { outgoingNext.Become(&o.state, outOver) }

// settles is the event that the link has ended with a failure. It returns the flights that have to
// complete, with their status. The one that the peer has refused, or else the oldest one, has its
// own status, or else the given one, and those in front of it that the peer has carried out have
// success. The others are flushed.
func (o *outgoing) settles(status uverbs.WCStatus) (flights []*flight) {
	o.ends()
	failed := o.failed()
	done := true
	for i, f := range o.flights {
		done = done && i < failed && f.isDone(o.acked)
		switch {
		case done && !f.signaled:
			continue
		case done:
			f.status = uverbs.Success
		case i != failed:
			f.status = uverbs.FlushErr
		case f.status == uverbs.Success:
			f.status = status
		}
		flights = append(flights, f)
	}
	o.flights = nil
	return flights
}

// failed returns the index of the flight that the peer has refused, or of one in front of it that
// has failed here: the peer has answered that one. Without a refusal it is the oldest. A flight
// behind it that is wrong here says nothing about what the peer has carried out.
func (o *outgoing) failed() int {
	if o.culprit == nil {
		return 0
	}
	return max(slices.IndexFunc(o.flights, func(f *flight) bool { return f.status != uverbs.Success || f == o.culprit }), 0)
}

// leaves is the event that the link ends in order: nothing completes. It returns the step that ends
// the connection: if the link has failed or lost its peer, there is no bye.
func (o *outgoing) leaves() []step {
	how := stepBye
	if o.state == outOver {
		how = stepHangUp
	}
	o.ends()
	o.flights = nil
	return []step{how}
}

// ended is the event that the connection has ended.
func (o *outgoing) ended(c *closing) verdict {
	switch {
	case o.state == outOver:
		return verdictNone
	case o.why != "": // nothing in front of the work request gets an answer any more
		return verdictRefused
	case c.how == endOurs:
		return verdictOurs
	case c.kind.isManaged() && c.how == endOrderly && o.isIdle():
		return verdictLeft
	case c.kind.isManaged() || c.how == endTheirs:
		return verdictFails
	case c.how == endOrderly:
		return verdictMiss
	}
	return verdictGone
}

// goes is the event that the peer does not answer any more. It returns the steps that follow. As
// with a NIC, a program that has nothing under way does not learn of it. In that case no work
// request begins any more before the queue pair loses its link.
func (o *outgoing) goes() []step {
	if !o.isIdle() {
		return endFails
	}
	o.ends()
	return []step{stepLose}
}
