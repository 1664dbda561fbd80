package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// This file has the memory of a Read that a box lends to the peer, which has offered a long Write.

// A lent is the memory of a waiting Read to which the peer may write.
type lent struct {
	region *ddp.Region
	chunk  *bufpool.Chunk // replaces the Read's memory after the Read; nil while it waits
}

// size returns how many bytes are reserved for the chunk, whether there is one or not.
func (l *lent) size() int { return bufpool.ChunkSize(l.region.Len()) }

// lend registers the memory of the waiting Read for the n bytes of an offer, or as much of it as
// the budget could replace. If no Read waits, or that is too short, the handle has length 0.
func (b *box) lend(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	r := &b.reader
	p := r.want[:min(n, len(r.want), bytestream.MaxGrant)]
	if !b.serves() || r.isServed() || b.unread.Len() > 0 || len(p) < bytestream.MinGrant {
		return rdmap.Handle{}, nil
	}
	p = p[:b.memory.grant(len(p))]
	if len(p) == 0 {
		return rdmap.Handle{}, nil
	}
	region, err := register(p)
	if err != nil {
		b.memory.endGrant(bufpool.ChunkSize(len(p)))
		return rdmap.Handle{}, err
	}
	b.lent = &lent{region: region}
	return rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: uint32(region.Len())}, nil
}

// takeLent notes that the peer has placed n bytes in the lent memory and no longer uses the memory.
func (b *box) takeLent(n int) {
	l := b.lent
	if l == nil { // the connection has ended
		return
	}
	b.lent = nil
	l.region.Deregister() // this waits for no goroutine: only the caller places
	switch {
	case b.discards():
		b.lose()
		if l.chunk != nil {
			l.chunk.Put()
		}
		b.memory.endGrant(l.size())
	case l.chunk == nil: // the reader waits
		b.reader.gets(n)
		b.memory.endGrant(l.size())
	default:
		*b.unread.Push() = message{chunk: l.chunk, data: l.chunk.B[:n], unbuffered: true}
	}
}

// endLent takes the lent memory back, if there is any, because the peer will not use its offer.
func (b *box) endLent() {
	l := b.lent
	if l == nil {
		return
	}
	b.lent = nil
	l.region.Deregister()
	if l.chunk != nil {
		l.chunk.Put()
	}
	b.memory.endGrant(l.size())
}
