package driver

import (
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
)

// This file keeps data in the receive buffer for the next Read, so that it is copied once: whole
// messages (delayPaused), and the rest of a message of a byte stream whose beginning a Read has
// taken (placingStays, then delivery.rest). Both need a Read that has the receive role.

// pauses reports whether a message waits for the next Read. It does if the Read that has the
// receive role leaves unread data behind, or has got something and may have no room for all of this
// message. In message mode a message of one segment does not wait: many of them may come together,
// and each would cost a change of the role.
func (b *delivery) pauses(payload []byte, last bool) bool {
	r := &b.reader
	if !b.unread.Stream {
		return !last && r.isServed() && !b.unread.Discards()
	}
	if b.unread.Discards() || !bytestream.IsData(payload) {
		return false
	}
	return b.unread.Len() > 0 || r.isServed() && (!last || len(payload)-bytestream.HeaderLen > len(r.room()))
}

// stays reports whether a message of one segment stays in the receive buffer, because the Read that
// has the receive role has room for the beginning of it only. If so, stays binds the message to the
// place where it lies.
func (b *delivery) stays(payload []byte) bool {
	room := len(b.reader.room())
	if !b.unread.Stream || !b.serves() || room == 0 || b.unread.Len() > 0 ||
		!bytestream.IsData(payload) || len(payload)-bytestream.HeaderLen <= room {
		return false
	}
	b.placing.become(placingStays)
	b.placing.body = payload[bytestream.HeaderLen:]
	return true
}

// takeRest gives a Read that has the receive role (self) as much of the message in the receive
// buffer as it has room for. If no Read has the role, the rest goes to memory of the pool. over
// means that the receive buffer is no longer needed. If the message is over too, freed and back are
// as accept returns them.
func (b *delivery) takeRest(self bool) (over, freed bool, back int) {
	switch {
	case b.unread.HasLost(): // Close has come: see delivery.close
		b.rest = nil
	case self:
		b.serve(b.rest)
	case len(b.rest) > 0:
		c := bufpool.GetChunk(len(b.rest))
		b.memory.fill(c.Size())
		c.B = c.B[:copy(c.B, b.rest)]
		b.unread.Add(memory{chunk: c}, c.B)
		b.endRest()
		return true, false, 0
	}
	if len(b.rest) > 0 {
		return false, false, 0
	}
	b.endRest()
	b.used--
	return true, true, b.handBack(1, bytestream.DataBuffer)
}

// serve gives the waiting Read as much of data as it has room for. The rest stays.
func (b *delivery) serve(data []byte) {
	n := 0
	if room := b.reader.room(); b.reader.isThere() && len(room) > 0 {
		n = copy(room, data)
		b.reader.gets(n)
	}
	b.rest = data[n:]
}

// endRest ends the message that has stayed in the receive buffer.
func (b *delivery) endRest() {
	b.rest = nil
	b.unread.EndIfBehind()
}
