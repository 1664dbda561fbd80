package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// This file grants the memory of a Read to the peer, which has offered a long Write.

// makeGrant registers the memory of the waiting Read for the n bytes of an offer, or as much of it
// as the budget could replace. If no Read waits, or if that memory is too short, the handle has
// length 0.
func (b *delivery) makeGrant(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
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
	b.grant = &grant{region: region}
	return rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: uint32(region.Len())}, nil
}

// useGrant notes that the peer has placed n bytes in the granted memory and no longer uses it.
func (b *delivery) useGrant(n int) {
	g := b.grant
	if g == nil { // the connection has ended
		return
	}
	b.grant = nil
	g.region.Deregister() // this waits for no goroutine: only the caller places
	switch {
	case b.unread.Discards():
		b.unread.Lose()
		if g.chunk != nil {
			g.chunk.Put()
		}
		b.memory.endGrant(g.size())
	case g.chunk == nil: // the reader waits
		b.reader.gets(n)
		b.memory.endGrant(g.size())
	default:
		b.unread.Add(memory{chunk: g.chunk, unbuffered: true}, g.chunk.B[:n])
	}
}

// endGrant takes the granted memory back, if there is any, because the peer will not use its offer.
func (b *delivery) endGrant() {
	g := b.grant
	if g == nil {
		return
	}
	b.grant = nil
	g.region.Deregister()
	if g.chunk != nil {
		g.chunk.Put()
	}
	b.memory.endGrant(g.size())
}
