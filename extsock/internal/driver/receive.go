package driver

import (
	"errors"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// This file is the driver's way in: from the stream to the queue pair.

// Receive makes its goroutine the home goroutine, and returns when the way in has ended. It is
// called once, after Start. The stream's bytes become FPDUs, FPDUs become DDP segments, and
// segments become RDMAP messages.
func (d *Driver) Receive() {
	for d.rx.intake != intakeOver {
		if !d.receiveOnce(false) { // the role goes to a Read
			d.yield()
			d.role.standBy()
			d.rx.late, d.rx.waited = d.role.late.Swap(false), false
		}
	}
	if d.endIn() {
		d.linger()
	}
	d.deafen()
}

// receiveOnce calls run for the goroutine that holds the receive role. At the end of the intake
// receiveOnce records the error and the end.
func (d *Driver) receiveOnce(reader bool) (over bool) {
	err, over := d.run(reader)
	if over {
		d.rx.err = err
		d.rx.setIntake(intakeOver)
	}
	return over
}

// run receives until the intake is over, or until the receive role must change hands. The intake is
// over when the stream ends, and then err says why. It is also over when the queue pair takes no
// more messages, and then err is nil. A Read gives the role up as soon as the inbox holds something
// for the Read. The home goroutine gives the role up when a waiting Read would receive faster.
func (d *Driver) run(reader bool) (err error, over bool) { //nolint:revive // err says why
	defer func() { // the only recover of the way in
		if value := recover(); value != nil {
			d.rx.patience.end(false)
			if d.in != nil {
				d.in.unbind() // no Read may wait for a message that will not be placed
			}
			d.release()
			err, over = d.panicked(value), true
		}
	}()
	defer d.giveBack()
	if d.rx.intake.isHeld() {
		if !d.process(reader) {
			return nil, true
		}
		if reader && d.ends(false) {
			return nil, false
		}
	}
	for {
		waits := d.role.waits.Load()
		n, off, err := d.readSegment()
		if n > 0 {
			d.captureRun(off, d.rx.free[:n])
			d.rx.mpa.Fill(off, n)
			if d.rx.mpa.Form() != mpa.FormULPDU {
				d.countArrived(off, off+uint64(n))
			}
			d.captureArrived(false)
		}
		if n > 0 || err == nil { // without a run, an engine has placed something
			if !d.process(reader) {
				return nil, true
			}
			if d.rx.mpa.Form() == mpa.FormULPDU {
				d.countArrived(0, d.rx.mpa.Edge())
			}
		}
		if d.fallBackIn(err) {
			continue
		}
		interrupted := errors.Is(err, os.ErrDeadlineExceeded) && d.resume()
		switch {
		case err != nil && !interrupted:
			return err, true
		case reader && d.ends(interrupted):
			return nil, false
		case !reader && d.yields(waits):
			return nil, false
		}
		d.giveBack()
	}
}

// countArrived counts the bytes of the stream from off to end, which have arrived, unless there is a
// gap before them. The bytes of an early run, and those that an engine gives back, arrive again.
func (d *Driver) countArrived(off, end uint64) {
	before := d.count.Received.Octets.Load()
	if off <= before && end > before {
		d.count.Received.Octets.Store(end)
	}
	if off > before {
		d.rx.waiting = int(end - off)
	}
}

// countBuffered counts the bytes of an early run that were not placed. They wait in TCP until the
// gap closes.
func (d *Driver) countBuffered() {
	if d.rx.waiting > 0 {
		d.count.Buffered.Add(uint64(d.rx.waiting))
		d.rx.waiting = 0
	}
}

// ends reports whether a Read that has the role gives it up.
func (d *Driver) ends(interrupted bool) bool {
	return interrupted || d.rx.intake.isHeld() || d.rx.result.over || d.in.has()
}

// process places the segments that have arrived, handles the messages that they complete, and sends
// the answers. It reports whether the stream is still sound. The home goroutine waits here until
// there is memory for the messages.
func (d *Driver) process(reader bool) (sound bool) {
	for again := false; ; again = true {
		if !d.step(reader) {
			d.endUnsound()
			return false
		}
		d.placed()
		if reader || d.rx.intake != intakeStalled {
			return true
		}
		if !again && d.in.isShort() {
			d.count.MemoryStalls.Add(1)
			d.cfg.Trace.Debug("memory limit")
		}
		<-d.recheck
		if !d.end.life.maySend() || d.end.closing() {
			d.endUnsound()
			return false
		}
	}
}

// step takes what has arrived as far as possible without waiting. It reports whether the stream is
// still sound.
func (d *Driver) step(reader bool) (sound bool) {
	if reader {
		d.in.hold()
	}
	sound = d.rx.place()
	d.release()
	d.countBuffered()
	if d.rx.oneSided {
		d.rx.oneSided = false
		d.role.oneSided()
	}
	return sound
}

// release releases the inbox if a Read holds its lock.
func (d *Driver) release() {
	if d.in != nil && d.in.held {
		d.rx.result = d.in.release()
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

// readSegment waits until bytes have arrived and reads them. While it waits, the connection holds
// no buffer, unless the buffer contains much of an FPDU that has only begun.
func (d *Driver) readSegment() (n int, off uint64, err error) {
	if d.rx.mpa.Form() != mpa.FormFPDU && d.cfg.Taps.On() { // a capture records TCP's bytes
		d.stream.Disengage()
	}
	var patience time.Duration
	if d.role.isReaders() {
		patience = d.rx.patience.begin(d.role.lastWait())
	}
	n, off, err = d.stream.ReadSegment(d, patience)
	if d.rx.late {
		if d.rx.late = false; !d.rx.waited {
			d.role.missed()
		}
	}
	d.rx.patience.end(err == nil)
	if bulk := n >= bulkFrom; bulk != d.rx.patience.bulk {
		d.rx.patience.bulk = bulk
		d.role.bulk.Store(bulk)
	}
	return n, off, err
}

var _ toe.Lender = (*Driver)(nil)

// Lend returns the free part of the receive buffer, which the stream reads to. It borrows a buffer
// first if the connection holds none.
func (d *Driver) Lend() []byte {
	if d.rx.free == nil {
		b := d.rx.loan.get()
		d.rx.mpa.SetBuffer(b) // copies the parked bytes to b
		if d.rx.parked != nil {
			d.rx.parked.Put()
			d.rx.parked = nil
		}
	}
	d.rx.free = d.rx.mpa.Free()
	return d.rx.free
}

// TakeBack returns the buffer to the pool before the stream waits. It reports whether the
// connection keeps the buffer because the buffer contains much of an FPDU.
func (d *Driver) TakeBack() (kept bool) {
	d.rx.waited = true
	d.giveBack()
	d.park()
	d.rx.patience.end(false)
	return d.rx.free != nil
}

// parkedMost is the maximum length in bytes of an incomplete FPDU that the driver copies to a
// smaller buffer and back. The two copies prevent a peer that stops in the middle of an FPDU from
// holding a whole buffer.
const parkedMost = 16 << 10

// park returns the buffer to the pool when giveBack has not done so and the buffer contains little
// of an FPDU.
func (d *Driver) park() {
	if d.rx.free == nil || d.rx.intake.isHeld() {
		return
	}
	if b, _ := d.rx.mpa.Arrived(); len(b) <= parkedMost {
		d.rx.parked = bufpool.GetChunk(len(b))
		d.rx.loan.put(d.rx.mpa.SetBuffer(d.rx.parked.B))
		d.rx.free = nil
	}
}

// giveBack returns the buffer to the pool, unless the buffer contains an incomplete FPDU, or an
// FPDU that waits for memory or for a Read.
func (d *Driver) giveBack() {
	if d.rx.intake.isHeld() || d.rx.parked != nil {
		return
	}
	if needed, _ := d.rx.mpa.Arrived(); len(needed) > 0 {
		return
	}
	if b := d.rx.mpa.SetBuffer(nil); b != nil {
		d.rx.loan.put(b)
		d.rx.free = nil
	}
}

// placed follows the placing of all that one read has brought. It sends the answers, and wakes the
// goroutines that wait for Completions or messages.
func (d *Driver) placed() {
	d.reapStream()
	d.transmit() // Read Responses, and requests that waited for a Completion
	d.freed.Broadcast()
	if d.in != nil {
		d.in.notify()
	}
}
