package device

import (
	"encoding/binary"
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file has what a testEnd sends, and what comes to it.

// look is drainLocked: it does one step, and returns false if there is nothing to do.
func (e *testEnd) look() bool {
	switch e.v.turn() {
	case turnSend:
		return e.h.step(true)
	case turnDrain:
		return e.h != nil && e.h.step(false)
	case turnAbandon, turnFlush:
		if len(e.sq) == 0 {
			return false
		}
		x := testEnding{e: e, steps: []step{stepSends}, status: uverbs.RetryExceeded}
		if e.v.turn() == turnAbandon {
			x.steps, x.number = e.v.breaks(), e.v.number
			e.unlink()
		}
		for len(x.steps) > 0 {
			x.next()
		}
		return true
	}
	return false
}

// step is sender.fill, one step of it.
func (h *half) step(begin bool) bool {
	if h.active == nil {
		if !begin || len(h.e.sq) == 0 || !h.out.mayBegin() {
			return false
		}
		h.wish = h.e.sq[0]
		h.e.sq = h.e.sq[1:]
		w := h.wish
		f := &flight{
			id: w.id, op: w.op, signaled: true, isRead: w.op == uverbs.WCRead, writes: w.op == uverbs.WCWrite || w.imm,
			isWrite: w.op == uverbs.WCWrite && !w.imm,
		}
		if w.local {
			f.status = uverbs.LocalQPErr
		}
		h.out.begins(f)
		h.active, h.left = f, max(w.pieces, 1)
		if w.local {
			h.active = nil
			h.retires()
		}
		return true
	}
	f, w := h.active, h.wish
	first := h.left == max(w.pieces, 1)
	switch {
	case f.isRead:
		if !h.out.isInOrder(f) || !h.out.mayRead(4) {
			return false
		}
		h.send(packet{kind: packetQuestion, id: f.id, flight: f, wrong: w.remote})
		f.awaits, f.posted = 1, true
		h.active = nil
		return true
	case f.writes && first:
		if !h.out.isInOrder(f) {
			return false
		}
		h.send(packet{kind: packetWrite, id: f.id, flight: f, wrong: w.remote})
		if h.left--; !w.imm {
			h.unnumbered = append(h.unnumbered, f)
			h.active = nil
		}
		return true
	case !h.out.mayNumber():
		return false
	case w.imm:
		var imm [4]byte
		binary.BigEndian.PutUint32(imm[:], uint32(f.id))
		h.unnumbered = append(h.unnumbered, f)
		h.frame(frame{kind: frameWritten, flags: flagImmediate, immediate: imm, length: 8}, nil)
		h.active = nil
		return true
	}
	fr := frame{kind: frameSend}
	if first {
		fr.flags |= flagFirst
	}
	payload := append(binary.BigEndian.AppendUint64(nil, f.id), 0)
	if h.left--; h.left == 0 {
		fr.flags |= flagLast
		h.unnumbered = append(h.unnumbered, f)
		h.active = nil
	}
	if w.remote && h.left == 0 {
		payload[8] = 1
	}
	h.frame(fr, payload)
	return true
}

// frame is sender.frame. Every third frame asks for an acknowledgement.
func (h *half) frame(f frame, payload []byte) {
	h.out.numbers(f.kind, h.unnumbered)
	h.unnumbered = nil
	if h.out.sent%3 == 0 || h.out.sent-h.asked >= window/2 || f.kind == frameProbe {
		f.flags |= flagAck
		h.asked = h.out.sent
	}
	h.send(packet{frame: f, payload: payload})
}

// ask is sender.ask.
func (h *half) ask() bool {
	if len(h.unnumbered) == 0 && h.asked == h.out.sent || !h.out.mayNumber() {
		return false
	}
	h.frame(frame{kind: frameProbe}, nil)
	return true
}

// deliver has the next packet of the peer come.
func (h *half) deliver() bool {
	if h == nil || len(h.peer.wire) == 0 || h.ended {
		return false
	}
	p := h.peer.wire[0]
	h.peer.wire = h.peer.wire[1:]
	e := h.e
	switch p.kind {
	case packetWrite, packetQuestion:
		if h.discards {
			return true
		}
		if p.wrong {
			h.peer.wire = nil
			h.ends(endOurs, p.flight)
			return true
		}
		e.done[p.id] = true
		e.checkOrder(h, p)
		if p.kind == packetQuestion {
			h.send(packet{kind: packetAnswer, id: p.id, flight: p.flight})
		}
	case packetAnswer:
		if h.out.state != outOver {
			e.answered[p.id] = true
			h.out.answers(p.flight)
			h.retires()
		}
	case packetEnd:
		h.ends(p.how, p.flight)
	case packetFrame:
		h.receives(p)
	}
	return true
}

// checkOrder checks that what the peer does to the memory of e comes behind the Sends in front of
// it.
func (e *testEnd) checkOrder(h *half, p packet) {
	for _, w := range h.peer.e.posted {
		if w.id < p.id && (w.op == uverbs.WCSend || w.imm && p.kind == packetQuestion) && !w.local && !slices.Contains(e.received, w.id) {
			e.blame("%d reaches the memory before %d", p.id, w.id)
		}
	}
}

// receives is receiver.handle.
func (h *half) receives(p packet) {
	switch p.frame.kind {
	case frameAck:
		h.advances(h.out.acknowledged(p.frame.number))
	case frameNotReady:
		n := p.frame.number
		if h.advances(h.out.reached(n)) && h.out.waits(n) {
			h.rnr = append(h.rnr, n)
		}
		if f := h.out.of(n); f != nil && f.isWrite && f == h.out.flights[0] && h.out.state == outFlowing {
			h.e.blame("Write %d waits for a receive", f.id)
		}
	case frameRefuse:
		if h.advances(h.out.reached(p.frame.number)) {
			h.refuses(p.frame.number, p.frame.status)
		}
	case frameBye:
		h.ends(endOrderly, nil)
	default:
		if _, err := h.in.comes(p.frame, p.payload, h); err != nil {
			h.e.blame("a wrong frame of an honest peer: %w", err)
		}
	}
}
