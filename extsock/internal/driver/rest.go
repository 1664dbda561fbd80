package driver

import (
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
)

// This file has what stays in the receive buffer for the next Read of a byte stream, so that it is
// copied once: whole messages (a pause), and the rest of a message whose beginning a Read has
// taken.

// pausesLocked reports whether a message waits for the next Read. It does if the Read that has the
// receive role leaves unread data behind, or has got something and may have no room for all of this
// message.
//
// +checklocks:in.mu
func (in *inbox) pausesLocked(payload []byte, last bool) bool {
	r, hasUnread := &in.reader, in.first < len(in.unread)
	if !in.held || !in.framed || in.discard || !bytestream.IsData(payload) {
		return false
	}
	return hasUnread || r.served && (!last || len(payload)-bytestream.HeaderLen > len(r.want)-r.got)
}

// staysLocked reports whether a message of one segment stays in the receive buffer, because the
// Read that has the receive role has room for the beginning of it only. If so, staysLocked binds
// the message to the place where it lies.
//
// +checklocks:in.mu
func (in *inbox) staysLocked(payload []byte) bool {
	r := &in.reader
	room := len(r.want) - r.got
	if !in.held || !in.framed || !in.servesLocked() || room == 0 || in.first < len(in.unread) ||
		!bytestream.IsData(payload) || len(payload)-bytestream.HeaderLen <= room {
		return false
	}
	in.direct = true
	p := &in.placing
	p.bound, p.direct, p.stays, p.body = true, true, true, payload[bytestream.HeaderLen:]
	return true
}

// takeRest gives a Read that has the receive role what it has room for of the message that stays in
// the receive buffer. If no Read has the role, the rest goes to memory of the pool. over means that
// the receive buffer is no longer needed. If the message is over too, freed and back are as accept
// returns them.
func (in *inbox) takeRest() (over, freed bool, back int) {
	in.enter()
	defer in.exit()
	switch {
	case in.discard:
		in.dropped = in.dropped || len(in.rest) > 0
		in.rest = nil
	case in.held:
		in.serveLocked(in.rest)
	case len(in.rest) > 0:
		c := bufpool.GetChunk(len(in.rest))
		in.memory.fill(c.Size())
		c.B = c.B[:copy(c.B, in.rest)]
		in.pushLocked(message{chunk: c, data: c.B})
		in.endRestLocked()
		return true, false, 0
	}
	if len(in.rest) > 0 {
		return false, false, 0
	}
	in.endRestLocked()
	in.used--
	return true, true, in.handBackLocked(1, bytestream.DataBuffer)
}

// serveLocked gives the waiting Read as much of data as it has room for. The rest stays.
//
// +checklocks:in.mu
func (in *inbox) serveLocked(data []byte) {
	r := &in.reader
	if !r.waiting || len(r.want) == r.got {
		in.rest = data
		return
	}
	n := copy(r.want[r.got:], data)
	r.got += n
	r.served = true
	in.rest = data[n:]
}

// endRestLocked ends the message that has stayed in the receive buffer.
//
// +checklocks:in.mu
func (in *inbox) endRestLocked() {
	in.rest = nil
	in.eof = in.eof || in.restEnds
}

// hasRest reports whether the message that has just come stays in the receive buffer. Only a Read
// that has the receive role leaves one there.
//
// +checklocksignore: hold has locked mu
func (in *inbox) hasRest() bool { return in.held && len(in.rest) > 0 }
