package driver

import "time"

// This file is the driver's way out: from the queue pair to TCP. The steps of the token's holder
// are in streamsender.go.

// maxTurns is the number of batches that a goroutine writes for others after it has posted or
// received. Then another goroutine takes the token over.
const maxTurns = 4

// transmit writes what the queue pair has to send, unless another goroutine is already doing so. It
// never waits for TCP.
func (d *Driver) transmit() {
	for d.tx.wanted() {
		if !d.tx.token.tryTake() {
			return // the holder looks again after it has freed the token
		}
		if !d.drain(false) {
			d.tx.passOn()
			return
		}
		d.tx.token.free()
	}
}

// transmitHeld is transmit for a caller that holds the token.
func (d *Driver) transmitHeld() {
	if !d.drain(false) {
		d.tx.passOn()
		return
	}
	d.letGo()
}

// canceled sends what waited behind a request that was taken back, which may be the FIN.
func (d *Driver) canceled() {
	d.tx.reapStream()
	d.transmit()
	d.freed.Broadcast()
}

// sendRest sends everything that is queued, and waits for TCP. tx.passOn has handed it the token,
// and background counts it.
func (d *Driver) sendRest() {
	defer d.background.End()
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

// drain writes batches until nothing is queued. If wait is set, drain waits for TCP, and nothing is
// queued when it returns. Otherwise it writes at most maxTurns batches, and reports false if that
// was not all.
func (d *Driver) drain(wait bool) (over bool) {
	defer func() { // the recover of the way out
		if value := recover(); value != nil {
			d.tx.drop() // first: repeated may panic, and a Region would stay held
			d.Kill(d.end.repeated(value))
			over = true
		}
	}()
	d.tx.beginBatch()
	for n := 0; wait || n < maxTurns; n++ {
		if !d.tx.stage.isUnsent() {
			if !d.tx.fill() {
				d.tx.endBatch()
				d.fin()
				return true
			}
		}
		whole, err := d.tx.writeBatch(wait)
		if err != nil {
			d.tx.abandon()
			d.lost(err)
			continue
		}
		if !whole {
			return false
		}
		d.tx.batchSent()
		d.freed.Broadcast()
		d.tx.token.yield()
	}
	return false
}

// detach copies the payload of messages that have been given out and that TCP has not taken, so
// that the memory belongs to its owner again. A message that has begun can have any length: if it
// belongs to the Work Request with this ID and the payload data, and its rest is too long to copy,
// detach reports false.
func (d *Driver) detach(data []byte, id uint64) bool {
	from := d.tx.token.borrow()
	ok := d.tx.detach(data, id)
	d.tx.token.giveBack(from)
	d.transmit()
	return ok
}

// How a driver ends. Each way ends by itself, and the last of the two closes the stream:
//
//	way out  fin, called with the token: the FIN has followed the last FPDU
//	way in   home deafens: the peer's FIN, an error, or the deadline that fin has set
//
// Close (the application), fail (a fault in the stream), peerEnded (the peer or the network) and
// lost (TCP takes no more) begin the end. Kill ends both ways at once.

// fin sends the FIN once the last FPDU of a closing connection has been written. The caller holds
// the transmit token.
func (d *Driver) fin() {
	if !d.end.life.maySend() {
		d.tx.abandon()
	}
	if d.end.abortDue() {
		d.qp.Abort(d.end.life.why()) // no bytes of a Work Request are being written now
	}
	if !d.end.finDue() {
		return
	}
	// The QP may have ended the stream before its caller has noted the reason.
	d.end.setReason(d.qp.Err())
	if d.end.life.maySend() {
		if d.tx.stream.Capabilities().HalfClose {
			d.tx.stream.CloseWrite()
		} else {
			d.tx.stream.Close() // otherwise the peer would wait for our FIN before it sends its own
		}
	}
	// The peer's FIN ends the way in. If it does not arrive, this deadline does.
	d.setReadUntil(time.Now().Add(d.end.timeout))
	// The home goroutine carries out the end of the way in: a Read that receives leaves the role to
	// it, and if nobody reads, it is called.
	d.Interrupt()
	d.role.callHome()
	if d.end.life.finish() {
		d.tx.token.setDown() // shut calls the program's Tap
		defer d.tx.token.pickUp()
		d.shut()
	}
}

// finDue reports whether the FIN is due, or the end of a way out that can send none.
func (e *ending) finDue() bool {
	return e.closing() && !e.life.isFinished() && (!e.life.maySend() || e.qp.Drained())
}
