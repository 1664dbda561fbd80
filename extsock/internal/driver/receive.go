package driver

import (
	"errors"
	"os"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// This file is the driver's way up: from the stream to the queue pair.

// receive is the way up: octets to FPDUs to segments to messages.
func (d *Driver) receive() {
	for d.rx.intake != intakeOver {
		if !d.receiveOnce(false) { // a waiter goes on
			d.role.yield()
			d.role.standBy()
		}
	}
	d.freed.Broadcast()
	if d.closing() {
		close(d.silent)
		d.linger()
	} else {
		d.peerEnded(d.rx.err)
		close(d.silent)
	}
	d.captureArrived(true)
	if d.tx.fenced.Load() { // and will never open
		d.Kill(d.why())
	}
	last := d.life.deafen()
	d.transmit()
	if last {
		d.shut()
	}
}

// receiveOnce is run for the goroutine that has the role. It notes the end.
func (d *Driver) receiveOnce(reader bool) (over bool) {
	err, over := d.run(reader)
	if over {
		d.rx.err, d.rx.intake = err, intakeOver
	}
	return over
}

// run receives until the stream ends, and says why, or until the protocol has: then it is over without
// an error. It is not over if the role is to change hands: where the caller is a reader, as soon as the inbox
// has something for it, else where a waiter is better off with it.
func (d *Driver) run(reader bool) (err error, over bool) { //nolint:revive // err is why it is over
	defer func() { // the one recover of the way up
		if value := recover(); value != nil {
			d.release()
			err, over = d.panicked(value), true
		}
	}()
	defer d.giveBack()
	if d.rx.intake == intakeStalled && !d.process(reader) {
		return nil, true
	}
	for {
		waits := d.role.waits.Load()
		n, off, err := d.readSegment()
		if n > 0 {
			d.captureRun(off, d.rx.free[:n])
			d.rx.mpa.Fill(off, n)
			if d.count.Received.Octets.Load() == off { // not early: that comes again
				d.count.Received.Octets.Add(uint64(n))
			}
			d.captureArrived(false)
			if !d.process(reader) {
				return nil, true
			}
		}
		interrupted := errors.Is(err, os.ErrDeadlineExceeded) && d.resume()
		switch {
		case err != nil && !interrupted:
			return err, true
		case reader && (interrupted || d.rx.intake == intakeStalled || d.rx.result.over || d.in.has()):
			return nil, false
		case !reader && d.yields(waits):
			return nil, false
		}
		d.giveBack()
	}
}

// process places what has come, has its messages handled, and sends what is due then. It reports whether the
// stream is still sound.
func (d *Driver) process(reader bool) (sound bool) {
	if reader {
		d.in.hold()
	}
	sound = d.place(!reader)
	d.release()
	if sound {
		d.placed()
	} else {
		d.endUnsound()
	}
	return sound
}

// release releases the inbox if a Read holds it.
func (d *Driver) release() {
	if d.in != nil && d.in.held {
		d.rx.result = d.in.release()
	}
}

// endUnsound ends the connection whose stream is not sound: for the fault that a layer has found, or because
// the queue pair has ended the stream.
func (d *Driver) endUnsound() {
	if err := d.rx.fault; err != nil {
		d.rx.fault = nil
		d.fail(err)
		return
	}
	d.TraceTerminate()
	d.setReason(d.qp.Err())
	d.transmit()
}

// readSegment waits until something has come and reads it. While it waits it holds no buffer, unless much of
// an FPDU that has only begun is in one.
func (d *Driver) readSegment() (n int, off uint64, err error) {
	var patience time.Duration
	if d.role.isReaders() {
		patience = d.rx.patience.begin()
	}
	n, off, err = d.stream.ReadSegment(d, patience)
	d.rx.patience.end(err == nil)
	return n, off, err
}

var _ toe.Lender = (*Driver)(nil)

// Lend borrows a buffer, unless one is out, and returns where in it to read to.
func (d *Driver) Lend() []byte {
	if d.rx.free == nil {
		b := d.rx.loan.get()
		d.rx.mpa.SetBuffer(b) // takes over what is parked
		if d.rx.parked != nil {
			d.rx.parked.Put()
			d.rx.parked = nil
		}
	}
	d.rx.free = d.bounded(d.rx.mpa.Free())
	return d.rx.free
}

// TakeBack gives the buffer back before the stream waits. It reports whether the buffer stays out,
// because much of an FPDU is in it.
func (d *Driver) TakeBack() (kept bool) {
	d.giveBack()
	d.park()
	d.rx.patience.end(false)
	return d.rx.free != nil
}

// bounded is b, or as much of it as a Read that receives for itself has use for: what is behind stays in TCP's
// buffer until the next Read, and then goes to that one's memory with no copy in between.
func (d *Driver) bounded(b []byte) []byte {
	if d.bytes == nil || !d.role.isReaders() {
		return b
	}
	if room := d.in.room(); room >= boundedFrom {
		return b[:min(len(b), room+boundedFrom/64)]
	}
	return b
}

// boundedFrom is the length in octets of a Read that is worth a system call of its own.
const boundedFrom = 32 << 10

// parkedMost is how many octets of an FPDU that has begun are worth two copies, so that a peer that stops in the middle
// of one does not hold a whole buffer.
const parkedMost = 16 << 10

// park gives the buffer back where giveBack has not, if little of an FPDU is in it.
func (d *Driver) park() {
	if d.rx.free == nil || d.rx.intake == intakeStalled {
		return
	}
	if b, _ := d.rx.mpa.Arrived(); len(b) <= parkedMost {
		d.rx.parked = bufpool.GetChunk(len(b))
		d.rx.loan.put(d.rx.mpa.SetBuffer(d.rx.parked.B))
		d.rx.free = nil
	}
}

// giveBack gives the buffer back, unless an FPDU that has only begun is in it, or one that waits.
func (d *Driver) giveBack() {
	if d.rx.intake == intakeStalled || d.rx.parked != nil {
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

// place takes every ULPDU that is whole, in order, and has its messages handled. It reports whether
// the stream is still sound; rx.fault says why not, unless the queue pair does. Where it would have to wait,
// and may not, it is stalled afterwards.
func (d *Driver) place(mayWait bool) (sound bool) {
	for d.rx.intake == intakeStalled || d.rx.mpa.Next() { // one verified ULPDU, each exactly once
		u := d.rx.mpa.ULPDU()
		if d.rx.intake == intakeOpen && !u.Early {
			d.count.Received.FPDUs.Add(1)
		}
		// The way down may have ended the stream: "MUST NOT allow any further data transfer" (RFC 5040 §7)
		if !d.takesMessages() {
			d.rx.intake = intakeOpen
			return false
		}
		if u.Early {
			if !d.rx.ddp.TryPlace(u.Off, u.Data) {
				d.rx.mpa.Unread() // not placeable yet: it comes again in order
			}
			continue
		}
		if !d.bind(u.Data) {
			d.rx.intake = intakeStalled
			if !mayWait {
				return true
			}
			if !d.awaitRoom(u.Data) {
				return false
			}
		}
		d.rx.intake = intakeOpen
		d.rx.ddp.Place(u.Off, u.Data)
		if !d.deliver() {
			return false
		}
	}
	if !d.deliver() { // the edge may have passed what was placed early
		return false
	}
	if err := d.rx.mpa.Err(); err != nil {
		d.rx.fault = err
		return false
	}
	return true
}

// deliver has the messages handled whose last byte lies below the edge. It reports whether the stream
// is still sound.
func (d *Driver) deliver() (sound bool) {
	sound = d.handle()
	if d.in != nil {
		d.in.unbind()
	}
	return sound
}

func (d *Driver) handle() (sound bool) {
	if d.rx.mpa.Edge() > 0 {
		d.tx.fenced.Store(false)
	}
	for d.rx.ddp.Deliver(d.rx.mpa.Edge()) {
		m := d.rx.ddp.Message()
		d.count.Received.message(m.RsvdULP)
		if m.Bound {
			if err := d.receiveMessage(m); err != nil {
				d.rx.fault = err
				return false
			}
			continue
		}
		if m.Tagged || m.QN != ddp.QNSend {
			d.role.oneSided()
		} else {
			d.rx.awaitsRTR = false
		}
		if m.Tagged && m.Contiguous && d.bytes != nil {
			d.bytes.rx.Placed(rdmap.Handle{STag: m.STag, TO: m.TO, Len: m.Len})
		}
		d.qp.Handle(m) // completions and responses, in stream order
	}
	if err := d.rx.ddp.Err(); err != nil {
		d.rx.fault = err
		return false
	}
	return d.takesMessages()
}

// takesMessages reports whether the queue pair still takes messages of the peer.
func (d *Driver) takesMessages() bool {
	s := d.qp.State()
	return s == rdmap.StateRTS || s == rdmap.StateClosing
}

// placed ends the placing of what one read has brought: it sends the answers, and wakes the goroutines that
// wait for Completions or messages.
func (d *Driver) placed() {
	d.reapStream()
	d.transmit() // Read Responses, and what the completions have let go
	d.freed.Broadcast()
	if d.in != nil {
		d.in.notify()
	}
}

// bind gives DDP a buffer if the segment begins a Send, where it is the connection that has the buffers: in DDP
// mode it is the ULP whose job that is (RFC 5041 §7.2). It reports false if there is no room for one.
func (d *Driver) bind(ulpdu []byte) bool {
	if d.in == nil && !d.cfg.Shared || ddp.IsTagged(ulpdu) {
		return true
	}
	h, payload, err := ddp.ParseUntagged(ulpdu)
	switch {
	case err != nil || h.QN != ddp.QNSend || h.MO != 0:
		return true
	case d.cfg.Shared:
		d.qp.TakeShared() // where it fails DDP finds no buffer
		return true
	case d.rx.awaitsRTR: // the queue pair has a buffer for that one
		return true
	}
	head, body, ok, mustWait := d.in.bind(payload, h.Last)
	if ok && !d.rx.ddp.Bind(ddp.QNSend, head, body) { // the stream has ended
		d.in.drop()
	}
	return !mustWait
}

// receiveMessage hands a message that has come over to Read.
func (d *Driver) receiveMessage(m *ddp.Message) error {
	c, ok := d.qp.Receive(m)
	if !ok { // the stream has ended
		d.in.drop()
		return nil
	}
	head, body := d.in.received(c)
	if d.bytes != nil {
		return d.arrived(head, body)
	}
	d.in.accept(len(body), bytestream.DataBuffer)
	return nil
}

// awaitRoom waits until Read has made room for the message. It reports false when the connection ends meanwhile.
func (d *Driver) awaitRoom(ulpdu []byte) bool {
	d.placed() // nothing that is already due may wait with us
	if d.in.isShort() {
		d.count.MemoryStalls.Add(1)
		d.cfg.Trace.Debug("memory limit")
	}
	for !d.bind(ulpdu) {
		<-d.recheck
		if !d.life.maySend() || d.closing() {
			d.rx.intake = intakeOpen
			return false
		}
	}
	return true
}
