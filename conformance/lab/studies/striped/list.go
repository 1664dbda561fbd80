package main

import (
	"math/rand/v2"
)

const (
	stripe  = 64 << 10 // contiguous bytes on one server
	fileLen = 64 << 20 // of the striped file
	listLen = 1 << 20  // of the pieces of an operation, unless they are contiguous
	perNode = 2 << 20  // of a contiguous operation, for each server, as in the test of PVFS
	apart   = 64       // bytes between the pieces in the client's memory
)

// The patterns of pieces.
const (
	contiguous = "contiguous"
	regular    = "regular" // every fourth piece
	random     = "random"  // one piece at a random place in each part of the file
)

// A client with the pattern regular uses one of every spacing pieces.
const spacing = 4

// A piece is a range of the striped file and the memory that belongs to it.
type piece struct {
	off    int64
	memory []byte
}

// An extent is a range of a server's file, and the pieces of memory that belong to it in order.
type extent struct {
	off    int64
	memory [][]byte
}

// Len returns the number of bytes.
func (e *extent) len() (n int) {
	for _, m := range e.memory {
		n += len(m)
	}
	return n
}

// A layout makes lists for one client.
type layout struct {
	t      trial
	client int
	rand   *rand.Rand
	memory []byte
}

func newLayout(t trial, client int) *layout {
	l := &layout{t: t, client: client, rand: rand.New(rand.NewPCG(t.Seed, uint64(client)))}
	l.memory = make([]byte, max(perNode*t.Servers, listLen/t.Piece*(t.Piece+apart)))
	return l
}

// next returns the pieces of the next operation. Pieces of two clients never overlap.
func (l *layout) next() (list []piece) {
	size, count := l.t.Piece, listLen/l.t.Piece
	part := fileLen / l.t.Clients // for patterns in which each client has a part of the file
	base := part * l.client
	switch l.t.Pattern {
	case contiguous:
		n := min(perNode*l.t.Servers, part)
		return []piece{{int64(base + l.rand.IntN(part/n)*n), l.memory[:n]}}
	case regular:
		span := size * spacing * count
		base = l.rand.IntN(fileLen/span)*span + l.client%spacing*size
		for i := range count {
			list = append(list, piece{off: int64(base + i*spacing*size)})
		}
	case random:
		slot := part / count
		for i := range count {
			list = append(list, piece{off: int64(base + i*slot + l.rand.IntN(slot/size)*size)})
		}
	}
	for i := range list {
		at := i * (size + apart)
		list[i].memory = l.memory[at : at+size]
	}
	return list
}

// split returns the extents of each server. Adjacent ranges in the file of a server form one
// extent.
func split(list []piece, servers int) [][]extent {
	extents := make([][]extent, servers)
	for _, p := range list {
		for len(p.memory) > 0 {
			number, within := int(p.off/stripe), int(p.off%stripe)
			s, n := number%servers, min(len(p.memory), stripe-within)
			off := int64(number/servers*stripe + within)
			all := extents[s]
			if last := len(all) - 1; last >= 0 && all[last].off+int64(all[last].len()) == off {
				all[last].memory = append(all[last].memory, p.memory[:n])
			} else {
				extents[s] = append(all, extent{off, [][]byte{p.memory[:n]}})
			}
			p.off, p.memory = p.off+int64(n), p.memory[n:]
		}
	}
	return extents
}
