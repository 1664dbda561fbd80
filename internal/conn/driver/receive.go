package driver

import (
	"errors"
	"os"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
)

// This file is the driver's way in: from the stream to the queue pair.

// receiveOnce calls run for the goroutine that holds the receive role. At the end of the intake
// receiveOnce records the error and the end.
func (d *Driver) receiveOnce(who recipient) (over bool) {
	err, over := d.run(who)
	if over {
		d.rx.setQuiet(false)
		d.rx.err = err
		d.rx.setIntake(intakeOver)
	}
	return over
}

// A recipient is for whom a goroutine with the receive role receives.
type recipient uint8

const (
	forHome recipient = iota
	forRead           // a Read that waits
	forCall           // a blocking call that polls for its answer
)

// callSegments is how many segments a call receives at most. Then home goes on: the peer may send
// other things for ever, and the call has a deadline.
const callSegments = 16

// run receives until the intake is over, or until the receive role must change hands. The intake is
// over when the stream ends, and then err says why. It is also over when the queue pair takes no
// more messages, and then err is nil. A Read gives the role up as soon as the inbox holds something
// for the Read, and a call when it has its answer, or the stream has nothing for it. The home
// goroutine gives the role up when a waiting Read or a call would receive faster.
func (d *Driver) run(who recipient) (err error, over bool) { //nolint:revive // err says why
	defer func() { // the recover of the way in; awaitFIN has another one
		if value := recover(); value != nil {
			d.rx.patience.end(false)
			if d.in != nil {
				d.in.unbind(false) // no Read may wait for a message that will not be placed
			}
			d.rx.release()
			err, over = d.end.repeated(value), true
		}
	}()
	defer d.rx.giveBack()
	defer d.rx.retreat()
	if d.rx.intake.isHeld() {
		if !d.process(who) {
			return nil, true
		}
		if who == forRead && d.rx.ends(false) {
			return nil, false
		}
	}
	for segments := 1; ; segments++ {
		waits := d.role.waits.Load()
		if who == forHome {
			d.beginTry()
		}
		n, off, err := d.rx.readSegment(who)
		if n > 0 {
			d.rx.filled(off, n)
			if !d.process(who) {
				return nil, true
			}
		}
		interrupted := err != nil && errors.Is(err, os.ErrDeadlineExceeded) && d.bound.resume()
		if who == forHome {
			d.endTry(interrupted)
		}
		switch {
		case err != nil && !interrupted:
			return err, true
		case who == forRead && d.rx.ends(interrupted),
			who == forCall && (n == 0 || segments == callSegments || d.rx.endsCall()),
			who == forHome && (d.role.yields(waits, d.in) || d.leaves()):
			return nil, false
		}
		d.rx.giveBack()
	}
}

// process places the segments that have arrived, handles the messages that they complete, and sends
// the answers. It reports whether the stream is still sound. The home goroutine waits here until
// there is memory for the messages.
func (d *Driver) process(who recipient) (sound bool) {
	for again := false; ; again = true {
		if !d.rx.step(who == forRead) {
			d.endUnsound()
			return false
		}
		d.placed()
		if who != forHome || d.rx.intake != intakeStalled {
			return true
		}
		if !again && d.in.isShort() {
			d.count.Add(counters.MemoryStalls, 1)
			d.rx.trace.Debug("memory limit")
		}
		d.answer()
		<-d.recheck.C()
		// After Close the message is thrown away, and what follows it may answer requests that are
		// still queued.
		if !d.end.life.maySend() {
			d.endUnsound()
			return false
		}
	}
}

// placed is called when all that one read has brought is placed. It sends the answers, and wakes
// the goroutines that wait for Completions or messages.
func (d *Driver) placed() {
	d.tx.reapStream()
	d.transmit() // Read Responses, and requests that waited for a Completion
	d.freed.Broadcast()
	if d.in != nil {
		d.in.notify()
	}
}

// drive takes the role, if no goroutine has it, and receives until the inbox has something or the
// wait is interrupted. It reports whether it did. If the wait of the Read has ended by that, result
// says what the Read has got.
func (d *Driver) drive(want int, limit *wait.Deadline) (drove bool, result readResult) {
	r := &d.role
	// A caller of Interrupt sets one of the conditions below before it looks at the holder of the
	// role, and drive takes the role before it looks at the conditions. So one of the two sees the
	// other.
	if !r.lends || !r.take() {
		return false, readResult{}
	}
	if d.in.has() || d.end.closing() || d.end.closed.IsSet() || limit.HasPassed() || d.rx.intake.isHomes() {
		d.leaveRole()
		return false, readResult{}
	}
	r.calm()
	d.receiveOnce(forRead)
	result, d.rx.result = d.rx.result, readResult{}
	r.noteRead(result, want)
	d.leaveRole()
	return true, result
}

// leaveRole ends the reading of a Read.
func (d *Driver) leaveRole() {
	d.role.leaveRead(d.rx.needsHome())
	d.endVacancy()
}

// endVacancy calls the home goroutine if the connection ends, because only that goroutine carries
// out the end. The goroutine that ends the connection notes the end before it looks at the holder
// of the role. The goroutine that leaves the role looks for the end afterwards. So one of the two
// calls home.
func (d *Driver) endVacancy() {
	if d.end.isUnderWay() {
		d.role.callHome()
	}
}

// answer ends the wait of a Look, if there is one.
func (d *Driver) answer() {
	if a := d.asking.Load(); a != nil && a.state != askAnswered {
		a.become(askAnswered)
		close(a.answered)
	}
}
