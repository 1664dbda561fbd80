package driver

import (
	"runtime"
	"time"

	"github.com/rddp/rddp/toe"
)

// This file has what only the home goroutine does: it begins and ends the way in, and gets the
// receive role back. receive.go has what every goroutine with the receive role does.

// Receive makes its goroutine the home goroutine. The layer above calls it once, after Start. The
// stream's bytes become FPDUs, FPDUs become DDP segments, and segments become RDMAP messages.
//
// Receive returns when the way in has ended, or when home stands by. Then home is no goroutine
// until it is called: see homeCall.
func (d *Driver) Receive() {
	for d.rx.intake != intakeOver {
		if !d.receiveOnce(forHome) { // the role goes to a Read
			d.role.yield()
			d.endVacancy()
			if !d.role.standBy((*homeCall)(d)) {
				return
			}
			d.comeHome()
		}
	}
	d.awaitFIN()
	d.deafen()
}

// StandsBy makes home stand by from the beginning, in place of Receive. It reports false if Receive
// must be called all the same: nothing tells when bytes arrive, or some have arrived.
//
// A program that dials usually reads next. Then home is no goroutine at all.
func (d *Driver) StandsBy() bool {
	r := &d.role
	if !d.leaves() {
		return false
	}
	r.yield()
	d.endVacancy()
	if !r.standBy((*homeCall)(d)) {
		return true
	}
	d.comeHome()
	return false
}

// leaves reports, once, whether home leaves the role to nobody although it has served no Read.
// Responders do so after the Initiator's first FPDU, which is for nobody.
func (d *Driver) leaves() bool {
	if !d.rx.leaves || d.tx.fenced.Load() {
		return false
	}
	d.rx.leaves = false
	r := &d.role
	return d.in != nil && r.lends && r.watches && !r.stays && !d.rx.intake.isHeld()
}

// comeHome begins the reading of home, which has the role again.
func (d *Driver) comeHome() { d.rx.late, d.rx.waited = d.role.late.Swap(false), false }

// A homeCall is the Driver for the gate behind which home stands by. A goroutine that waited there
// would keep a stack for each connection whose program reads for itself.
type homeCall Driver

// GateOpened is the home goroutine from now on. The stream is still counted, so the count of the
// connection's goroutines is not 0.
func (h *homeCall) GateOpened() {
	d := (*Driver)(h)
	d.background.Begin()
	defer d.background.End()
	if !d.role.comesHome() && !d.role.standBy(h) {
		return
	}
	d.comeHome()
	d.Receive()
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

// standBy ends the home goroutine, which has left the role, until home is called: the gate then
// calls to in a goroutine of its own. It returns true if home has been called meanwhile, and has
// the role.
//
// In a synctest bubble a Stream that is watched from outside calls from outside too, where no
// goroutine of the connection may be. There the home goroutine waits.
func (r *role) standBy(to toe.Opened) (home bool) {
	for {
		if r.stays {
			r.gate.Wait()
		} else if !r.gate.Leave(to) {
			return false
		}
		if r.comesHome() {
			return true
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
