package driver

import (
	"errors"
	"os"
	"time"

	"github.com/rddp/rddp/mpa"
)

// This file is the driver's way out: from the queue pair to TCP.

// maxTurns is the number of batches that a goroutine writes for others after it has posted or
// received. Then another goroutine takes the token over.
const maxTurns = 4

// transmit writes what the queue pair has to send, unless another goroutine is already doing so. It
// never waits for TCP.
func (d *Driver) transmit() {
	for d.wanted() {
		if !d.tx.token.tryTake() {
			return // the holder looks again after it has freed the token
		}
		if !d.drain(false) {
			d.passOn()
			return
		}
		d.tx.token.free()
	}
}

// transmitAside starts a goroutine that transmits.
func (d *Driver) transmitAside() {
	if d.wanted() && d.tx.token.tryTake() {
		d.passOn()
	}
}

// tryToken takes the transmit token if it is free and output may go out. The caller then calls
// transmitHeld or passOn.
func (d *Driver) tryToken() bool {
	return !d.tx.fenced.Load() && d.end.life.maySend() && d.tx.token.tryTake()
}

// transmitHeld is transmit for a caller that holds the token.
func (d *Driver) transmitHeld() {
	if !d.drain(false) {
		d.passOn()
		return
	}
	d.letGo()
}

// cancelled sends what waited behind a request that was taken back, which may be the FIN.
func (d *Driver) cancelled() {
	d.reapStream()
	d.transmit()
	d.freed.Broadcast()
}

// passOn gives the token to a new goroutine, which may wait for TCP.
func (d *Driver) passOn() {
	d.tx.token.handOver()
	d.tx.goOn()
}

// sendRest sends everything that is queued, and waits for TCP. passOn has handed it the token.
func (d *Driver) sendRest() {
	d.tx.token.takeOver()
	d.drain(true)
	d.letGo()
}

// letGo frees the token and looks again. A goroutine that posted meanwhile found the token taken,
// and left its work to the holder.
func (d *Driver) letGo() {
	d.tx.token.free()
	d.transmit()
}

// wanted reports whether there is something to send: output, or the FIN after it.
func (d *Driver) wanted() bool {
	if d.end.finDue() || d.end.abortDue() {
		return true
	}
	return !d.tx.fenced.Load() && d.end.life.maySend() && (d.qp.HasOutput() || d.streamDue())
}

// drain writes batches until nothing is queued. If wait is set, drain waits for TCP, and nothing is
// queued when it returns. Otherwise it writes at most maxTurns batches, and reports false if that
// was not all.
func (d *Driver) drain(wait bool) (over bool) {
	defer func() { // the one recover of the way out
		if value := recover(); value != nil {
			d.drainPanicked(value)
			over = true
		}
	}()
	if d.tx.batch == nil {
		d.tx.batch = d.tx.loan.getBatch()
		d.tx.batch.Apart = d.isAligned()
	}
	for n := 0; wait || n < maxTurns; n++ {
		if !d.tx.stage.isUnsent() && !d.fill() {
			d.tx.loan.putBatch(d.tx.batch)
			d.tx.batch = nil
			d.fin()
			return true
		}
		whole, err := d.writeBatch(wait)
		if err != nil {
			d.tx.abandon()
			d.lost(err)
			continue
		}
		if !whole {
			return false
		}
		d.tx.sent()
		d.reapStream()
		d.freed.Broadcast()
		d.tx.token.yield()
	}
	return false
}

// fill makes FPDUs of what is to be sent, until the batch is full or nothing is left. It reports
// whether the batch holds anything. While the connection has a Tap, the batch holds copies of the
// payload.
func (d *Driver) fill() bool {
	if !d.end.life.maySend() || d.tx.fenced.Load() {
		return false
	}
	d.postStream()
	if !d.tx.hasOutput() {
		return false
	}
	mulpdu, tapped := d.mulpdu(), d.cfg.Taps.On()
	if tapped && d.tx.mpa.Form() != mpa.FormFPDU {
		d.disengageOut()
	}
	filled := d.tx.cut(mulpdu, tapped)
	if d.tx.ddp.Err() != nil {
		d.end.setReason(d.qp.Err())
	}
	if filled && tapped {
		d.captureSent()
	}
	return filled
}

// mulpdu returns the largest ULPDU to send now, in octets (RFC 5044 §4.5). A peer that wants Markers
// wants to find FPDUs in segments that arrive behind a gap, so each FPDU must fit a segment.
func (d *Driver) mulpdu() int {
	if d.cfg.MaxFPDU > 0 {
		return mpa.MULPDU(d.cfg.MaxFPDU, d.cfg.Agreement.TxMarkers)
	}
	if d.cfg.LargeFPDU && !d.cfg.Agreement.TxMarkers {
		return mpa.MaxULPDU
	}
	return mpa.MULPDU(d.stream.EMSS(), d.cfg.Agreement.TxMarkers)
}

// isAligned reports whether FPDUs go out as entries of their own, so that TCP segments end where
// FPDUs end: if TCP can do that, and the FPDUs fit segments.
func (d *Driver) isAligned() bool {
	return d.aligns && (!d.cfg.LargeFPDU || d.cfg.Agreement.TxMarkers)
}

// writeBatch gives the rest of the batch to TCP. If wait is not set, it reports false if TCP did
// not take all of the batch.
func (d *Driver) writeBatch(wait bool) (whole bool, err error) {
	var since time.Time // when TCP has last taken something
	for {
		n, whole, err := d.tryWrite()
		switch {
		case whole || err != nil || !wait:
			return whole, err
		case n > 0 || since.IsZero():
			since = time.Now()
		case d.cfg.WriteTimeout > 0 && time.Since(since) >= d.cfg.WriteTimeout:
			return false, d.writeError(os.ErrDeadlineExceeded)
		}
		if err := d.awaitWritable(); err != nil && (d.writeLook == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return false, err
		}
	}
}

// awaitWritable waits until TCP may take more. The token is down, so detach can copy payload
// meanwhile.
func (d *Driver) awaitWritable() error {
	d.tx.token.setDown()
	defer d.tx.token.pickUp()
	d.boundWrite(d.writeLook)
	return d.stream.WaitWritable()
}

// tryWrite gives TCP as much of the batch as it takes at once. If that is all, tryWrite empties the
// batch. If an engine stops, tryWrite goes on without it.
func (d *Driver) tryWrite() (n int, whole bool, err error) {
	for stopped := true; stopped; {
		var m int
		m, err = d.stream.TryWriteBatch(d.tx.batch.Bufs())
		d.tx.batch.Take(m)
		n += m
		if stopped = err != nil && d.tx.mpa.Form() != mpa.FormFPDU; stopped {
			err = d.fallBackOut(err)
			stopped = err == nil
		}
	}
	d.tx.taken.Add(uint64(n))
	if whole = len(d.tx.batch.Bufs()) == 0; whole && err == nil {
		d.tx.emptied()
	}
	return n, whole, err
}

// detach copies the payload of messages that have been given out and that TCP has not taken, so
// that the memory belongs to its owner again. A message that has begun can be of any length: if
// that message is the one whose payload is data, and the rest is too long to copy, detach reports
// false.
func (d *Driver) detach(data []byte) bool {
	from := d.tx.token.borrow()
	ok := d.tx.detach(data)
	d.tx.token.giveBack(from)
	d.transmit()
	return ok
}
