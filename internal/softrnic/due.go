package softrnic

import "time"

// A due decides when an acknowledgement that the peer has asked for goes out: at once, or in front
// of what the program sends next.
//
// A program that answers each message needs the processor for that. An acknowledgement on its own
// takes the processor away twice: it is a write to TCP, and it wakes the peer's device. So once a
// program has answered enough messages in a row, the acknowledgement waits for the next answer. If
// no answer comes, a timer sends it, and the next one waits only after twice as many answers.
//
//	none ──asked──▶ none (sent at once)      waiting ──answered──▶ none (sent in front)
//	none ──asked──▶ waiting                  waiting ──asked, late──▶ none (sent at once)
type due struct {
	waits bool // an acknowledgement waits
	since time.Time
	// sent counts what the program has sent, less the questions of the peer since then, and at most
	// 2. The program sees a Write before this end sees that the peer asks, so its answer may come
	// before the question.
	sent int
	// answers is how many messages in a row the program has answered.
	answers int
	// enough is how many answers let an acknowledgement wait. 0 means enoughFirst.
	enough int
}

const (
	enoughFirst = 8
	enoughMost  = 256
	// answerTime is the least time that an acknowledgement waits. The timer is not set anew for
	// each of them, so it may take twice as long. Where a program polls, its CPU has a tick every 4
	// ms or more often. The kernel need not program its timer for what is due later, which took a
	// sixth of the device's processor time beside such programs, in a virtual machine.
	answerTime = 5 * time.Millisecond
)

// ask notes that the peer asks for an acknowledgement, and reports whether it goes out at once.
// idle says that this end waits for none itself: otherwise both ends could wait for each other.
func (d *due) ask(idle bool, now time.Time) (atOnce bool) {
	if d.sent > 0 {
		d.sent--
		d.answers = min(d.answers+1, enoughMost)
	} else {
		d.answers = 0
	}
	d.waits = !d.waits && idle && d.answers >= max(d.enough, enoughFirst)
	d.since = now
	return !d.waits
}

// answer notes that the program sends something, and reports whether an acknowledgement goes out in
// front of it.
func (d *due) answer() (inFront bool) {
	d.sent = min(d.sent+1, 2)
	if inFront = d.waits; inFront {
		d.waits = false
		d.enough = max(d.enough-d.enough/8, enoughFirst)
	}
	return inFront
}

// look is what the timer does. atOnce says that an acknowledgement goes out now, and again that the
// timer must come back for one that has not waited long enough.
func (d *due) look(now time.Time) (atOnce, again bool) {
	switch {
	case !d.waits:
		return false, false
	case now.Sub(d.since) < answerTime:
		return false, true
	}
	d.waits, d.answers = false, 0
	d.enough = min(2*max(d.enough, enoughFirst), enoughMost)
	return true, false
}
