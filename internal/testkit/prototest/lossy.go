package prototest

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A PacketLink carries packets, as a usertcp.Link does.
type PacketLink interface {
	Read(p []byte) (n int, err error)
	Write(p []byte) (n int, err error)
	Close() error
	MTU() int
}

// A Lossy is a PacketLink that loses, repeats and delays packets at random. The fate of packet k
// depends on the seed alone.
type Lossy struct {
	PacketLink
	drop, again, late float64 // probabilities

	mu     sync.Mutex
	random *rand.Rand
	held   []heldPacket
	n      int // packets so far
}

// A heldPacket is sent after packet number after, or after patience.
type heldPacket struct {
	b     []byte
	after int
}

// patience is the time after which a late packet is sent even if no other packets follow.
const patience = time.Millisecond

// NewLossy returns a Lossy above l. drop, again and late are the probabilities that a packet is
// lost, sent twice, and overtaken by up to six others.
func NewLossy(l PacketLink, seed uint64, drop, again, late float64) *Lossy {
	return &Lossy{PacketLink: l, drop: drop, again: again, late: late, random: rand.New(rand.NewPCG(seed, 1))}
}

// Write sends p, drops it, or holds it back.
func (l *Lossy) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	drop, again, late, lag := l.random.Float64(), l.random.Float64(), l.random.Float64(), 1+l.random.IntN(6)
	var err error
	switch {
	case drop < l.drop:
	case late < l.late:
		l.held = append(l.held, heldPacket{append([]byte(nil), p...), l.n + lag})
		n := l.n + lag
		time.AfterFunc(patience, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.release(n)
		})
	default:
		_, err = l.PacketLink.Write(p)
		if again < l.again {
			l.PacketLink.Write(p)
		}
	}
	l.release(l.n)
	return len(p), err
}

// release sends the packets that are held until packet number n.
func (l *Lossy) release(n int) {
	kept := l.held[:0]
	for _, h := range l.held {
		if h.after > n {
			kept = append(kept, h)
			continue
		}
		l.PacketLink.Write(h.b)
	}
	l.held = kept
}
