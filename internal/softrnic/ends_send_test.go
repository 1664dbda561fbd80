package softrnic

import (
	"encoding/binary"
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file has the sending and the receiving of a testEnd.

// look is drainLocked: it does one step, and returns false if there is nothing to do.
func (e *testEnd) look() bool {
	switch e.v.turn() {
	case turnSend:
		return e.h.sends(true)
	case turnDrain:
		return e.h != nil && e.h.sends(false)
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

// sends is sender.send of one batch, which is short.
func (h *half) sends(begin bool) (worked bool) {
	var b []packet
	framed, more := -1, true
	for len(b) < 3 && more {
		var p piece
		p, worked = h.decide(begin, worked)
		if more = p.kind != pieceNone && h.post(&b, p); more && p.frame.kind != 0 {
			framed = len(b) - 1
		}
	}
	if !begin {
		h.s.awaits()
	}
	a := h.s.asks(&h.out, framed >= 0, more)
	if a == askProbe {
		framed = len(b)
		b = append(b, packet{frame: frame{kind: frameProbe}})
	}
	if a != askNot && framed >= 0 {
		b[framed].frame.flags |= flagAck
	}
	if len(b) > 0 {
		if number, inFront := h.in.answers(); inFront {
			h.say(frame{kind: frameAck, number: number})
		}
	}
	for _, p := range b {
		h.send(p)
	}
	return worked || len(b) > 0
}

// left counts the pieces that have gone out in all tests.
var left [pieceLocal + 1]int

// decide is sender.decide. worked says that something has happened.
func (h *half) decide(begin, worked bool) (piece, bool) {
	if !h.s.active {
		if !begin || len(h.e.sq) == 0 || !h.out.mayBegin() {
			return piece{}, worked
		}
		h.wish = h.e.sq[0]
		h.e.sq = h.e.sq[1:]
		var err error
		if h.wish.local == wishUnknown {
			err = errFrame
		}
		h.s.takes(h.wish.wr(), err, uverbs.RC, false)
		if h.s.depth = 4; !h.s.begins(&h.out) {
			h.retires()
			return piece{}, true
		}
		if worked = true; h.s.flight.status != uverbs.Success {
			h.e.blame("%d begins, and is wrong", h.wish.id)
		}
	}
	return h.s.next(&h.out), worked
}

// post is sender.post.
func (h *half) post(b *[]packet, p piece) bool {
	w, f := h.wish, h.s.flight
	out := packet{id: w.id, flight: f, wrong: w.remote, last: p.last, frame: p.frame}
	switch p.kind {
	case pieceWrite:
		out.kind = packetWrite
	case pieceRead, pieceAtomic:
		out.kind = packetQuestion
	case pieceMessage:
		out.kind = packetMessage
	}
	if p.kind == pieceSend || p.kind == pieceMessage {
		out.payload = append(binary.BigEndian.AppendUint64(nil, w.id), 0)
		if w.remote && p.last {
			out.payload[8] = 1
		}
	}
	left[p.kind]++
	if p.kind == pieceLocal {
		h.s.ends()
		h.retires()
		return true
	}
	if w.local == wishMemory && p.kind != pieceRead && p.kind != pieceFrame {
		h.s.fails(&h.out, uverbs.LocalProtErr, "")
		h.retires()
		return false
	}
	if p.last && h.s.done+p.n != w.n {
		h.e.blame("%d ends behind %d of %d bytes", w.id, h.s.done+p.n, w.n)
	}
	h.s.sent(&h.out, p)
	if h.kind == linkPlain && p.kind != pieceRead {
		h.taken = append(h.taken, f)
	}
	*b = append(*b, out)
	return true
}

// takes is the event that TCP has taken a piece whose work request waits for that.
func (h *half) takes() bool {
	if len(h.taken) == 0 {
		return false
	}
	if h.out.state != outOver {
		h.out.answers(h.taken[0])
		h.retires()
	}
	h.taken = h.taken[1:]
	return true
}

// deliver makes the next packet of the peer arrive.
func (h *half) deliver() bool {
	if h == nil || len(h.peer.wire) == 0 || h.ended {
		return false
	}
	p := h.peer.wire[0]
	if p.kind == packetMessage && !h.in.meets(h) {
		return false // TCP holds the peer back
	}
	h.peer.wire = h.peer.wire[1:]
	e := h.e
	switch p.kind {
	case packetWrite, packetQuestion:
		if h.discards {
			return true
		}
		if p.wrong && h.kind == linkSelf { // see link.serve
			h.deaf = true
			h.wire = slices.DeleteFunc(h.wire, func(p packet) bool { return p.isRequest() })
			e.goes(testEnding{h: h, steps: []step{stepSettleDebts}, blamed: p.flight})
			return true
		}
		if p.wrong {
			h.peer.wire = nil
			h.ends(endOurs, p.flight)
			return true
		}
		e.done[p.id] = e.done[p.id] || p.last
		e.checkOrder(h, p)
		if p.kind == packetQuestion {
			h.send(packet{kind: packetAnswer, id: p.id, flight: p.flight, last: p.last})
		}
	case packetMessage:
		if h.in.fills(p.payload, h) != nil {
			h.ends(endBroken, nil)
		} else {
			h.in.filled(frame{kind: frameSend}, h)
		}
	case packetAnswer:
		if h.out.state != outOver {
			e.answered[p.id] = e.answered[p.id] || p.last
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

// checkOrder checks that the peer's accesses to the memory of e come after the Sends in front of
// them.
func (e *testEnd) checkOrder(h *half, p packet) {
	for _, w := range h.peer.e.posted {
		if h.kind != linkPlain && w.id < p.id && (w.op == uverbs.OpSend || w.isReceived() && p.kind == packetQuestion) && !w.isLocal(h.kind) && !slices.Contains(e.received, w.id) {
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
		if f := h.out.of(n); f != nil && f.isWrite() && f == h.out.flights[0] && h.out.state == outFlowing {
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
