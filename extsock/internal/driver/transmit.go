package driver

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// This file is the driver's way down: from the queue pair to TCP.

// maxTurns is how many batches a poster, or receive, writes on behalf of others before a goroutine
// takes over from it.
const maxTurns = 4

// transmit is the way down. It writes what the queue pair has to send, unless another goroutine is
// already doing so, and never waits for TCP.
func (d *Driver) transmit() {
	for d.wanted() {
		if !d.tx.token.tryTake() {
			return // the holder looks again after it has let go
		}
		if !d.drain(false) {
			d.passOn()
			return
		}
		d.tx.token.free()
	}
}

// transmitAside is transmit by another goroutine.
func (d *Driver) transmitAside() {
	if d.wanted() && d.tx.token.tryTake() {
		d.passOn()
	}
}

// tryToken takes the transmit token if it is free and output may go out. Then the caller calls transmitHeld.
func (d *Driver) tryToken() bool {
	return !d.tx.fenced.Load() && d.life.maySend() && d.tx.token.tryTake()
}

// transmitHeld is transmit for a caller that has the token.
func (d *Driver) transmitHeld() {
	if !d.drain(false) {
		d.passOn()
		return
	}
	d.letGo()
}

// cancelled has what was queued behind a request that was taken back go on, or the end of the connection.
func (d *Driver) cancelled() {
	d.reapStream()
	d.transmit()
	d.freed.Broadcast()
}

// passOn gives the token to a goroutine that may wait for TCP.
func (d *Driver) passOn() {
	d.tx.token.handOver()
	go d.tx.sendRest()
}

// sendRest goes on with the token where transmit would have had to wait.
func (d *Driver) sendRest() {
	d.tx.token.takeOver()
	d.drain(true)
	d.letGo()
}

// letGo gives the token back and looks again: a goroutine that has posted meanwhile has found the token taken, and has
// left its work to the holder.
func (d *Driver) letGo() {
	d.tx.token.free()
	d.transmit()
}

// wanted reports whether there is something to write: output, or the FIN that follows it.
func (d *Driver) wanted() bool {
	if d.finDue() || d.abortDue() {
		return true
	}
	return !d.tx.fenced.Load() && d.life.maySend() && (d.qp.HasOutput() || d.streamDue())
}

// abortDue reports whether kill waits for the token to flush the queues.
func (d *Driver) abortDue() bool {
	s := d.qp.State()
	return d.life.state() == lifeKilled && s != rdmap.StateError && s != rdmap.StateClosed
}

func (d *Driver) finDue() bool {
	return d.closing() && !d.life.isFinished() && (!d.life.maySend() || d.qp.Drained())
}

// drain writes batches until nothing is queued. With wait it waits for TCP, and always ends with nothing queued. Else it
// writes at most maxTurns batches, and reports false when it had to stop.
func (d *Driver) drain(wait bool) (over bool) {
	defer func() { // the one recover of the way down
		if value := recover(); value != nil {
			d.drainPanicked(value)
			over = true
		}
	}()
	if d.tx.batch == nil {
		d.tx.batch = d.tx.loan.get()
	}
	for n := 0; wait || n < maxTurns; n++ {
		if !d.tx.unsent && !d.fill() {
			d.tx.loan.put(d.tx.batch)
			d.tx.batch = nil
			d.fin()
			return true
		}
		whole, err := d.writeBatch(wait)
		if err != nil {
			d.tx.empty()
			d.lost(err)
			continue
		}
		if !whole {
			return false
		}
		done := d.tx.done
		d.tx.done = 0
		d.qp.Sent(done) // the Work Requests wholly in that batch complete now
		d.reapStream()
		d.freed.Broadcast()
		d.tx.token.yield()
	}
	return false
}

// empty takes everything out of the batch.
func (tx *tx) empty() {
	tx.unsent, tx.left = false, nil
	tx.batch.Reset()
}

// fill cuts messages into segments and segments into FPDUs until the batch is full or there is
// nothing to send. It reports whether the batch holds anything. While a connection has a Tap, the batch
// refers to nobody's payload.
func (d *Driver) fill() bool {
	if !d.life.maySend() || d.tx.fenced.Load() {
		return false
	}
	d.postStream()
	if !d.tx.middle && !d.qp.HasOutput() {
		return false
	}
	mulpdu, tapped := d.mulpdu(), d.cfg.Taps.On()
	for !d.tx.batch.Full() && (d.tx.middle || d.startMessage()) {
		if !d.tx.ddp.Next(mulpdu) { // the Region of a Read Response is gone
			d.tx.middle = false
			d.qp.Fail(d.tx.ddp.Err())
			d.setReason(d.qp.Err())
			continue
		}
		s := d.tx.ddp.Segment()
		d.tx.mpa.Append(d.tx.batch, s.Snapshot || tapped, s.Header, s.Payload...) // header copied, payload referenced
		d.count.Sent.FPDUs.Add(1)
		d.tx.ddp.Release()
		if s.Last {
			d.tx.middle = false
			d.tx.done++
		}
	}
	if d.tx.batch.Len() == 0 {
		return false
	}
	d.count.Sent.Octets.Add(uint64(d.tx.batch.Len()))
	d.tx.unsent, d.tx.left = true, d.tx.batch.Bufs()
	if tapped {
		d.captureSent()
	}
	return true
}

// startMessage begins the next message, if there is one.
func (d *Driver) startMessage() bool {
	if !d.qp.NextMessage() {
		return false
	}
	d.begun()
	return true
}

// begun notes that the queue pair has given a message out.
func (d *Driver) begun() {
	d.tx.ddp.Start(d.qp.Message())
	d.count.Sent.message(d.qp.Message().RsvdULP)
	d.tx.middle = true
}

// mulpdu returns the largest ULPDU to send now, in octets (RFC 5044 §4.5).
func (d *Driver) mulpdu() int {
	if d.cfg.MaxFPDU > 0 {
		return mpa.MULPDU(d.cfg.MaxFPDU, d.cfg.Agreement.TxMarkers)
	}
	if d.cfg.LargeFPDU {
		return mpa.MaxULPDU
	}
	return mpa.MULPDU(d.stream.EMSS(), d.cfg.Agreement.TxMarkers)
}

// writeBatch hands what is left of the batch to TCP. Without wait it reports false when TCP did not take
// all of it.
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

// awaitWritable waits until TCP may take more. Meanwhile detach can take payload away.
func (d *Driver) awaitWritable() error {
	d.tx.token.setDown()
	defer d.tx.token.pickUp()
	d.boundWrite(d.writeLook)
	return d.stream.WaitWritable()
}

// tryWrite gives TCP what it takes of the batch at once, and empties the batch if that was all.
func (d *Driver) tryWrite() (n int, whole bool, err error) {
	n, err = d.stream.TryWriteBatch(d.tx.left)
	d.tx.left = skip(d.tx.left, n)
	d.tx.taken.Add(uint64(n))
	if whole = len(d.tx.left) == 0; whole && err == nil {
		d.tx.empty()
	}
	return n, whole, err
}

// detach copies what is on its way to TCP and not the driver's own, so that the payload of a Send or Write that has been given
// out is its owner's again. It reports false where that would be too much: the message that has only begun may be of any
// length. If it is another one than data's, it is its owner's business.
func (d *Driver) detach(data []byte) bool {
	from := d.tx.token.borrow()
	ok := d.tx.detach(d.qp, data)
	d.tx.token.giveBack(from)
	d.transmit()
	return ok
}

func (tx *tx) detach(qp *rdmap.QP, data []byte) bool {
	if len(tx.left) > 0 {
		tx.left = [][]byte{slices.Concat(tx.left...)}
	}
	return !tx.middle || tx.ddp.Detach(maxDetached) || !begins(qp.Message().Payload, data)
}

// begins reports whether payload is data, the same memory.
func begins(payload [][]byte, data []byte) bool {
	return len(payload) > 0 && len(payload[0]) > 0 && len(data) > 0 && &payload[0][0] == &data[0]
}

// maxDetached bounds what detach copies of a message that has only begun, in octets.
const maxDetached = 4 << 20

// skip takes n octets off the front of bufs.
func skip(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}
