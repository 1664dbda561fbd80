package extsock

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

// This file is the pump's way up: from the stream to the queue pair.

// receive is the way up: octets to FPDUs to segments to messages.
func (p *pump) receive() {
	for p.rx.intake != intakeOver {
		if !p.receiveOnce(false) { // a waiter goes on
			p.role.yield()
			p.role.standBy()
		}
	}
	p.freed.broadcast()
	if p.closing() {
		close(p.silent)
		p.linger()
	} else {
		p.ended(p.rx.err)
		close(p.silent)
	}
	p.captureArrived(true)
	if p.tx.fenced.Load() { // and will never open
		p.kill(p.why())
	}
	last := p.life.deafen()
	p.transmit()
	if last {
		p.shut()
	}
}

// receiveOnce is run for the goroutine that has the role. It notes the end.
func (p *pump) receiveOnce(reader bool) (over bool) {
	err, over := p.run(reader)
	if over {
		p.rx.err, p.rx.intake = err, intakeOver
	}
	return over
}

// run receives until the stream ends, and says why, or until the protocol has: then it is over without
// an error. It is not over if the role is to change hands: where the caller is a reader, as soon as the inbox
// has something for it, else where a waiter is better off with it.
func (p *pump) run(reader bool) (err error, over bool) { //nolint:revive // err is why it is over
	defer func() { // the one recover of the way up
		if value := recover(); value != nil {
			err, over = p.panicked(value), true
		}
	}()
	defer p.giveBack()
	if p.rx.intake == intakeStalled {
		if !p.place(true) {
			return nil, true
		}
		p.placed()
	}
	for {
		serves := p.role.serves.Load()
		n, off, err := p.read()
		if n > 0 {
			p.captureRun(off, p.rx.free[:n])
			p.rx.mpa.Fill(off, n)
			if p.count.received.octets.Load() == off { // not early: that comes again
				p.count.received.octets.Add(uint64(n))
			}
			p.captureArrived(false)
			if !p.place(!reader) {
				return nil, true
			}
			p.placed()
		}
		interrupted := errors.Is(err, os.ErrDeadlineExceeded) && p.resume()
		switch {
		case err != nil && !interrupted:
			return err, true
		case reader && (interrupted || p.rx.intake == intakeStalled || p.in.has()):
			return nil, false
		case !reader && p.yields(serves):
			return nil, false
		}
		p.giveBack()
	}
}

// read waits until something has come and reads it. While it waits it holds no buffer, unless much of
// an FPDU that has only begun is in one.
func (p *pump) read() (n int, off uint64, err error) {
	var patience time.Duration
	if p.role.driving.Load() {
		patience = p.rx.patience.begin()
	}
	n, off, err = p.stream.ReadSegment(p, patience)
	p.rx.patience.end(err == nil)
	return n, off, err
}

var _ toe.Lender = (*pump)(nil)

// Lend borrows a buffer, unless one is out, and returns where in it to read to.
func (p *pump) Lend() []byte {
	if p.rx.free == nil {
		b := p.rx.loan.get()
		p.rx.mpa.SetBuffer(b) // takes over what is parked
		if p.rx.parked != nil {
			p.rx.parked.Put()
			p.rx.parked = nil
		}
	}
	p.rx.free = p.bounded(p.rx.mpa.Free())
	return p.rx.free
}

// TakeBack gives the buffer back before the stream waits. It reports whether the buffer stays out,
// because much of an FPDU is in it.
func (p *pump) TakeBack() (kept bool) {
	p.giveBack()
	p.park()
	p.rx.patience.end(false)
	return p.rx.free != nil
}

// bounded is b, or as much of it as a Read that receives for itself has use for: what is behind stays in TCP's
// buffer until the next Read, and then goes to that one's memory with no copy in between.
func (p *pump) bounded(b []byte) []byte {
	if p.bytes == nil || !p.role.driving.Load() {
		return b
	}
	if room := p.in.room(); room >= boundedFrom {
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
func (p *pump) park() {
	if p.rx.free == nil || p.rx.intake == intakeStalled {
		return
	}
	if b, _ := p.rx.mpa.Arrived(); len(b) <= parkedMost {
		p.rx.parked = bufpool.GetChunk(len(b))
		p.rx.loan.put(p.rx.mpa.SetBuffer(p.rx.parked.B))
		p.rx.free = nil
	}
}

// giveBack gives the buffer back, unless an FPDU that has only begun is in it, or one that waits.
func (p *pump) giveBack() {
	if p.rx.intake == intakeStalled || p.rx.parked != nil {
		return
	}
	if needed, _ := p.rx.mpa.Arrived(); len(needed) > 0 {
		return
	}
	if b := p.rx.mpa.SetBuffer(nil); b != nil {
		p.rx.loan.put(b)
		p.rx.free = nil
	}
}

// place takes every ULPDU that is whole, in order, and has its messages handled. It reports whether
// the stream is still sound. Where it would have to wait, and may not, it is stalled afterwards.
func (p *pump) place(mayWait bool) bool {
	for p.rx.intake == intakeStalled || p.rx.mpa.Next() { // one verified ULPDU, each exactly once
		u := p.rx.mpa.ULPDU()
		if p.rx.intake == intakeOpen && !u.Early {
			p.count.received.fpdus.Add(1)
		}
		// The way down may have ended the stream: "MUST NOT allow any further data transfer" (RFC 5040 §7)
		if !p.sound() {
			p.rx.intake = intakeOpen
			return false
		}
		if u.Early {
			if !p.rx.ddp.TryPlace(u.Off, u.Data) {
				p.rx.mpa.Unread() // not placeable yet: it comes again in order
			}
			continue
		}
		if !p.bind(u.Data) {
			p.rx.intake = intakeStalled
			if !mayWait {
				return true
			}
			if !p.awaitRoom(u.Data) {
				return false
			}
		}
		p.rx.intake = intakeOpen
		p.rx.ddp.Place(u.Off, u.Data)
		if !p.deliver() {
			return false
		}
	}
	if !p.deliver() { // the edge may have passed what was placed early
		return false
	}
	if err := p.rx.mpa.Err(); err != nil {
		p.fail(err)
		return false
	}
	return true
}

// deliver has the messages handled whose last octet lies below the edge. It reports whether the stream
// is still sound.
func (p *pump) deliver() bool {
	sound := p.handle()
	if p.in != nil {
		p.in.unbind()
	}
	return sound
}

func (p *pump) handle() bool {
	if p.rx.mpa.Edge() > 0 {
		p.tx.fenced.Store(false)
	}
	for p.rx.ddp.Deliver(p.rx.mpa.Edge()) {
		m := p.rx.ddp.Message()
		p.count.received.message(m.RsvdULP)
		isSend := !m.Tagged && m.QN == ddp.QNSend
		if !isSend {
			p.role.oneSided()
		}
		if m.Tagged && m.Contiguous && p.bytes != nil {
			p.bytes.rx.Placed(rdmap.Handle{STag: m.STag, TO: m.TO, Len: m.Len})
		}
		p.qp.Handle(m) // completions and responses, in stream order
		if isSend && p.in != nil {
			if err := p.settle(); err != nil {
				p.fail(err)
				return false
			}
		}
	}
	if err := p.rx.ddp.Err(); err != nil {
		p.fail(err)
		return false
	}
	return p.sound()
}

// sound reports whether the stream still takes messages. It has the end go its way where it does not.
func (p *pump) sound() bool {
	if s := p.qp.State(); s == rdmap.StateRTS || s == rdmap.StateClosing {
		return true
	}
	p.traceTerminate()
	p.setReason(p.qp.Err())
	p.transmit()
	return false
}

// placed ends the placing of what one read has brought: it sends the answers, and wakes the goroutines that
// wait for Completions or messages.
func (p *pump) placed() {
	p.reapStream()
	p.transmit() // Read Responses, and what the completions have let go
	p.freed.broadcast()
	if p.in != nil {
		p.in.notify()
	}
}

// bind has a buffer posted if the segment begins a Send, where it is the connection that posts them: in DDP
// mode it is the ULP whose job that is (RFC 5041 §7.2). It reports false if there is no room for one.
func (p *pump) bind(ulpdu []byte) bool {
	if p.in == nil && !p.cfg.shared || ddp.IsTagged(ulpdu) {
		return true
	}
	h, payload, err := ddp.ParseUntagged(ulpdu)
	switch {
	case err != nil || h.QN != ddp.QNSend || h.MO != 0:
		return true
	case p.cfg.shared:
		p.qp.TakeShared() // where it fails DDP finds no buffer
		return true
	case p.rx.queue.Len() > 0: // that one is for the peer's RTR
		return true
	}
	return p.in.bind(payload, h.Last)
}

// settle hands a message that has come over to Read.
func (p *pump) settle() error {
	head, body, there := p.in.settle()
	switch {
	case !there:
		return nil
	case p.bytes != nil:
		return p.arrived(head, body)
	}
	p.in.accept(len(body), bytestream.DataBuffer)
	return nil
}

// awaitRoom waits until Read has made room for the message. It reports false when the connection ends meanwhile.
func (p *pump) awaitRoom(ulpdu []byte) bool {
	p.placed() // nothing that is already due may wait with us
	if p.in.isShort() {
		p.count.memoryStalls.Add(1)
		p.cfg.trace.debug("memory limit")
	}
	for !p.bind(ulpdu) {
		<-p.posted
		if !p.life.maySend() || p.closing() {
			p.rx.intake = intakeOpen
			return false
		}
	}
	return true
}
