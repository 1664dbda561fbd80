package softrnic

import (
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file has the end of a testEnd: it carries out the steps that its values return.

// A testEnding is an end whose steps are carried out one at a time.
type testEnding struct {
	e       *testEnd
	h       *half
	steps   []step
	status  uverbs.WCStatus
	number  uint64
	closing closing
	blamed  *flight // by the peer
	command bool    // the program waits for it
}

// carried counts the steps that were carried out in all tests.
var carried [len(stepNames)]int

// next carries out a step. It returns false if the step has to wait.
func (x *testEnding) next() bool {
	s := x.steps[0]
	if !x.mayGoOn(s) {
		return false
	}
	x.steps = x.steps[1:]
	carried[s]++
	switch {
	case s < stepFail:
		x.closes(s)
	case s < stepFlushReceive:
		x.follows(s)
	default:
		x.unlinks(s)
	}
	if x.command && len(x.steps) == 0 {
		if x.e.command = false; !x.e.last.discards {
			x.e.blame("the command is over, and the peer reaches the memory")
		}
	}
	return true
}

func (x *testEnding) then(s []step) { x.steps = slices.Concat(s, x.steps) }

// mayGoOn reports whether a step need not wait.
func (x *testEnding) mayGoOn(s step) bool {
	switch s {
	case stepSettleDebts:
		return x.h.in.isSettled() || x.h.patient || x.h.shut
	case stepDrain:
		return len(x.h.taken) == 0
	case stepAwait:
		return !x.e.settling
	}
	return true
}

// closes carries out a step of a connection that has ended.
func (x *testEnding) closes(s step) {
	h := x.h
	switch s {
	case stepSettleDebts:
		h.in.stops()
		if h.say(frame{kind: frameAck, number: h.in.consumed}); h.kind == linkSelf {
			h.shuts(endTheirs, x.blamed)
		}
	case stepClose:
		if h.discards = true; x.closing.how == endOurs {
			h.shuts(endTheirs, x.blamed)
			h.refusing = nil
		} else {
			h.shuts(endOrderly, nil)
		}
	case stepJudge:
		x.status = uverbs.RemoteOpErr
		x.then(h.out.ended(&x.closing).steps(&x.closing))
	case stepBlame:
		if x.blamed != nil {
			h.out.blames(x.blamed)
		}
	}
}

// follows carries out a step of the queue pair.
func (x *testEnding) follows(s step) {
	e := x.e
	switch s {
	case stepFail:
		if x.h != nil && e.h != x.h {
			break
		}
		if steps := e.v.fails(); steps != nil {
			x.h, x.number = e.unlink(), e.v.number
			x.then(steps)
		}
	case stepMiss:
		if e.h == x.h {
			e.v.misses()
			e.missed = &testEnding{h: x.h, steps: []step{stepPart}}
		}
	case stepPart:
		x.status = uverbs.RetryExceeded
		x.then(x.h.out.goes())
	case stepLose:
		if e.h == x.h {
			x.then(e.v.loses())
			e.unlink()
		}
	case stepTell:
		if x.h.told {
			e.blame("the manager hears twice of the end")
		}
		x.h.told = true
	case stepKick:
		e.look()
	case stepFirst:
		e.complete(e.sq[0].id, x.status)
		e.sq = e.sq[1:]
	case stepSends:
		for _, w := range e.sq {
			e.complete(w.id, uverbs.FlushErr)
		}
		e.sq = nil
	case stepFlush:
		e.flushRecvs(x.number, 0)
	case stepButLast:
		e.flushRecvs(x.number, 1)
	case stepLast:
		e.goes(testEnding{steps: []step{stepFlush}, number: x.number})
	case stepForget:
		e.recvsOver += uint64(len(e.recvs))
		e.recvs, e.posted, e.results, e.failed = nil, nil, nil, false
	case stepLeft:
		e.v.left()
	}
}

// unlinks carries out a step of a link that ends.
func (x *testEnding) unlinks(s step) {
	h := x.h
	switch s {
	case stepFlushReceive, stepDropReceive:
		if m := h.in.closes(); m != nil && s == stepFlushReceive {
			x.e.completeRecv(m.id)
		} else if m != nil {
			if x.e.recvsOver++; x.e.v.join != leaving {
				x.e.blame("the receive that is being filled never completes")
			}
		}
		h.late = false
	case stepDiscard:
		h.discards = true
	case stepOver:
		h.out.ends()
	case stepSettle:
		x.settles()
	case stepLeave:
		x.then(h.out.leaves())
		x.e.settling = false
	case stepBye:
		if h.kind == linkPlain {
			h.shuts(endOrderly, nil)
			break
		}
		h.say(frame{kind: frameAck, number: h.in.consumed})
		h.say(frame{kind: frameBye})
	case stepHangUp:
		h.shuts(endOrderly, nil)
	}
}

// settles is link.settle.
func (x *testEnding) settles() {
	e, h := x.e, x.h
	culprit, front, failures := h.out.culprit, true, 0
	for _, f := range h.out.settles(x.status) {
		if front = front && f != culprit; front && culprit != nil && h.kind != linkPlain && f.status == uverbs.FlushErr && h.peer.has(f) {
			e.blame("the peer has got %d, which gets %v", f.id, f.status)
		}
		front = front && f.status == uverbs.Success
		if f.status != uverbs.Success && f.status != uverbs.FlushErr {
			failures++
		}
		e.complete(f.id, f.status)
	}
	if failures > 1 {
		e.blame("%d work requests fail by themselves", failures)
	}
	e.settling = false
	e.v.settled()
}

// has reports whether a Send or a Write of the peer has come.
func (h *half) has(f *flight) bool {
	return slices.Contains(h.e.received, f.id) || f.isWrite() && h.e.done[f.id]
}

// unlink is unlinkLocked.
func (e *testEnd) unlink() (h *half) {
	if h, e.h, e.timer, e.missed = e.h, nil, 0, nil; h != nil {
		e.settling, h.s = true, sending{}
	}
	return h
}

// fails makes the link fail the queue pair.
func (h *half) fails(status uverbs.WCStatus) {
	h.e.goes(testEnding{h: h, steps: endFails, status: status})
}

// resets is the program's command.
func (e *testEnd) resets() {
	steps := e.v.resets()
	h := e.unlink()
	e.sq, e.command = nil, true
	e.goes(testEnding{h: h, steps: steps, command: true})
}

// toErr is the program's command.
func (e *testEnd) toErr() {
	e.command = true
	e.goes(testEnding{steps: endToErr, status: uverbs.FlushErr, command: true})
}

// shuts ends what this end sends. If that is a refusal, blamed is the peer's work request.
func (h *half) shuts(how connectionEnd, blamed *flight) {
	h.send(packet{kind: packetEnd, how: how, flight: blamed})
	h.shut = true
}

// ends is link.receive after the end of the connection.
func (h *half) ends(how connectionEnd, blamed *flight) {
	if h.ended = true; how == endOurs && h.kind != linkPlain {
		h.out.owes()
	}
	c := closing{how: how, kind: h.kind}
	h.e.goes(testEnding{h: h, steps: c.steps(), closing: c, blamed: blamed})
}

// flushRecvs is flushReceives.
func (e *testEnd) flushRecvs(number uint64, leave int) {
	if e.v.attrs.State != uverbs.Err || e.v.number != number {
		return
	}
	for len(e.recvs) > leave {
		e.completeRecv(e.recvs[0])
		e.recvs = e.recvs[1:]
	}
	if leave == 0 {
		e.flushing = number
	}
}
