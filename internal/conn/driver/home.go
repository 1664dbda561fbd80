package driver

import (
	"runtime"
	"time"
)

// This file has what only the home goroutine does: it begins and ends the way in, and gets the
// receive role back. receive.go has what every goroutine with the receive role does.

// Receive makes its goroutine the home goroutine, and returns when the way in has ended. It is
// called once, after Start. The stream's bytes become FPDUs, FPDUs become DDP segments, and
// segments become RDMAP messages.
func (d *Driver) Receive() {
	for d.rx.intake != intakeOver {
		if !d.receiveOnce(forHome) { // the role goes to a Read
			d.role.yield()
			d.endVacancy()
			d.role.standBy()
			d.rx.late, d.rx.waited = d.role.late.Swap(false), false
		}
	}
	d.awaitFIN()
	d.deafen()
}

// awaitFIN begins the end of the way in, and waits for the peer's FIN if the connection lingers.
func (d *Driver) awaitFIN() {
	defer func() {
		if value := recover(); value != nil {
			d.Kill(d.end.panicked(value))
		}
	}()
	if d.qp.TerminatesLate() {
		d.awaitClose()
	}
	if d.endIn() {
		d.linger()
	}
}

// endUnsound ends a connection whose stream is not sound. Either a layer has found a fault in the
// stream, or the queue pair has ended the RDMAP stream.
func (d *Driver) endUnsound() {
	if err := d.rx.fault; err != nil {
		d.rx.fault = nil
		d.fail(err)
		return
	}
	d.end.traceTerminate()
	d.end.setReason(d.qp.Err())
	d.transmit()
}

// beginTry is called before each read of the home goroutine.
func (d *Driver) beginTry() {
	a := d.asking.Load()
	if a == nil || a.state != askAsked {
		return
	}
	s, _ := d.rx.stream.(readier)
	if a.laps++; a.laps > lookLaps || s != nil && !s.Ready() {
		d.answer()
		return
	}
	a.become(askTrying)
	d.bound.interruptAt(time.Now().Add(tryTime))
}

// endTry is called after each read of the home goroutine. interrupted says that it has found
// nothing.
func (d *Driver) endTry(interrupted bool) {
	a := d.asking.Load()
	switch {
	case a == nil || a.state != askTrying:
	case interrupted:
		d.answer()
	default:
		a.become(askAsked)
	}
}

// yields reports whether the home goroutine stops reading, so that callers read for themselves.
// What it has received last must have served a Read, must wait in the inbox for one, or must have
// served a call that would rather have polled. And nothing may be missed while no goroutine reads.
// waits is the number of waits before home received.
func (r *role) yields(waits int64, in *lockedDelivery) bool {
	if !r.lends || !r.watches && !r.isTrusted() {
		return false
	}
	return r.waits.Load() != waits || r.waiting.Load() > 0 && in.has() || r.asked.Swap(false)
}

// standBy waits until home is called, and reads again.
func (r *role) standBy() {
	for {
		r.gate.Wait()
		if r.comesHome() {
			return
		}
	}
}

// comesHome gives the role to home, which has been called. It reports false if a Read was faster;
// that Read will leave something behind that calls home again.
func (r *role) comesHome() bool {
	for {
		switch r.happens(homeComes) {
		case lookAgain:
			runtime.Gosched()
		case refuse:
			return false
		default:
			return true
		}
	}
}

// yield is leave for home. The role is then for the Read, which may already wait again.
func (r *role) yield() {
	r.leave(false)
	r.offer.Wake()
}

// ring runs when the alarm rings.
func (r *role) ring() {
	if r.pause(sinceStart()) < slowWait {
		r.happens(alarmEarly) // it was set for an earlier pause
	} else {
		r.happens(alarmRings)
	}
}

// end stops the alarm when the connection has ended.
func (r *role) end() { r.alarms.stop(r) }
