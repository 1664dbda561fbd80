package driver

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/rdmap"
)

// A calls decides whether a call that waits for an answer of the peer, or for a Completion, polls
// the stream for it, in place of the home goroutine. The wake-ups of home, and then of the call,
// are the largest part of a short RDMA Read. A call polls only while no other one waits.
type calls struct {
	waiting atomic.Int32 // calls that wait for an answer
	choice  pollChoice   // the one that found no other waiting owns it
}

// answerMost is the length in bytes of the longest answer that a call polls for. A longer one takes
// so long that the wake-ups count for little.
const answerMost = 64 << 10

// asksPeer reports whether an op has an answer, which a goroutine must receive.
func asksPeer(op rdmap.WorkOp) bool {
	switch op {
	case rdmap.WorkRead, rdmap.WorkFetchAdd, rdmap.WorkCmpSwap, rdmap.WorkSwap:
		return true
	}
	return false
}

// A callWait is the wait of a blocking call for the answer of the peer.
type callWait struct {
	learns bool // its time counts for the choice
	way    way
	began  time.Duration // by sinceStart
}

// begin begins a wait for an answer of n bytes. can says that the stream can be polled.
func (c *calls) begin(n int, can bool) (w callWait) {
	w.learns = c.waiting.Add(1) == 1 && can && n <= answerMost
	if w.learns {
		w.way, w.began = c.choice.next(), sinceStart()
	}
	return w
}

// end ends the wait, which has brought the answer or has not.
func (c *calls) end(w callWait, answered bool) {
	if w.learns && answered {
		c.choice.learn(w.way, sinceStart()-w.began)
	}
	c.waiting.Add(-1)
}

// A pollChoice chooses between sleeping and polling by what both have cost so far: the mean time of
// a wait. From time to time it tries the other way, for a few waits in a row, because the first
// ones still find the connection as the other way has left it. The more often a trial has failed,
// the longer it takes until the next one. A processor that polls does nothing else, so polling must
// save an eighth of the wait.
type pollChoice struct {
	best, now way              // now is the other way during a trial
	mean      [2]time.Duration // of the waits of each way; 0: not known
	left      int32            // waits until the next trial, or until the end of this one
	span      int32            // waits between two trials
}

// A way is what a blocking call does while it waits.
type way uint8

const (
	sleeping way = iota
	polling
)

const (
	trialWaits = 8    // waits of a trial
	trialSkip  = 2    // of these the first ones, which do not count
	spanFirst  = 64   // waits between the first trial and the second
	spanMost   = 4096 // the most between two
	meanOf     = 8    // the newest wait counts this part of the mean
	meanMost   = 4    // and it counts at most as so many times the mean: the scheduler may have stopped the program
)

// next returns the way of the next wait.
func (p *pollChoice) next() way {
	if p.left > 0 {
		p.left--
		return p.now
	}
	switch {
	case p.span == 0: // the very first waits
		p.span, p.left = spanFirst/2, trialWaits
	case p.now == p.best:
		p.now = 1 - p.best
		p.mean[p.now] = 0
		p.left = trialWaits
	case p.pays() == p.now:
		p.best = p.now
		p.span, p.left = spanFirst, spanFirst
	default:
		p.now = p.best
		p.span = min(2*p.span, spanMost)
		p.left = p.span
	}
	p.left--
	return p.now
}

// pays returns the better way.
func (p *pollChoice) pays() way {
	if slept, polled := p.mean[sleeping], p.mean[polling]; polled != 0 && polled < slept-slept/8 {
		return polling
	}
	return sleeping
}

// learn notes how long a wait took.
func (p *pollChoice) learn(w way, took time.Duration) {
	if p.now != p.best && p.left >= trialWaits-trialSkip {
		return
	}
	mean := &p.mean[w]
	if *mean == 0 {
		*mean = took
	}
	*mean += (min(took, meanMost**mean) - *mean) / meanOf
}

// pollAnswer polls the stream for the answer to a blocking call, whose Completion will be in cq. It
// does so only if no goroutine reads. If it reports true, the answer is there. Otherwise home
// reads, or will read, and the caller must sleep.
func (d *Driver) pollAnswer(cq *rdmap.CompletionQueue) (answered bool) {
	r := &d.role
	if !r.take() { // home reads, and leaves the role to the next call when it has served this one
		r.asked.Store(true)
		r.oneSided()
		return false
	}
	began := sinceStart()
	r.begins(began)
	// As in drive: a caller of Interrupt sets one of these conditions first.
	if cq.Len() == 0 && !d.end.closing() && !d.end.closed.IsSet() && !d.rx.intake.isHeld() && d.rx.intake != intakeOver {
		d.rx.awaited = cq
		d.receiveOnce(forCall)
		d.rx.awaited = nil
	}
	r.kind.Store(blockedCall)
	r.ends(began, sinceStart())
	if answered = cq.Len() > 0; !answered {
		r.asked.Store(true)
	}
	r.leaveCall(!answered || d.rx.needsHome())
	d.endVacancy()
	return answered
}

// awaitAnswer is cq.Wait for a goroutine that waits in cq, perhaps for the answer to what this
// connection has posted.
func (d *Driver) awaitAnswer(ctx context.Context, cq *rdmap.CompletionQueue, dst []rdmap.Completion) (int, error) {
	w := d.calls.begin(0, d.canPoll())
	if w.way == polling {
		d.pollAnswer(cq)
	}
	n, err := cq.Wait(ctx, dst, false)
	d.calls.end(w, n > 0)
	return n, err
}

// canPoll reports whether calls may poll the stream.
func (d *Driver) canPoll() bool { return d.rx.poller != nil && d.role.lends }

// leaveCall is leave for a blocking call. A Read that waits has found the role taken, so leaveCall
// makes it look again.
func (r *role) leaveCall(hurry bool) {
	r.leave(hurry)
	if r.waiting.Load() > 0 {
		r.offer.Wake()
	}
}
