package badlink

import "time"

// smallPacket is the capacity in bytes of the smaller of the two kinds of buffers.
const smallPacket = 2048

// A packet is one IP packet in the link. A direction owns it.
type packet struct {
	b      []byte
	late   int           // number of packets that must overtake it; 0 if it is not held back
	jitter time.Duration // added to its delay
	depart time.Duration // when it leaves the queue, since the link was made
	arrive time.Duration // when it may be read
}

// A pool keeps the packets that a direction does not use. So the buffer of the packet that was read
// last, which is in the CPU's cache, is the next one to be written.
type pool struct {
	mtu          int
	small, large []*packet
}

// get returns a packet with n bytes, whose contents are arbitrary.
func (p *pool) get(n int) *packet {
	list, capacity := &p.large, p.mtu
	if n <= smallPacket {
		list, capacity = &p.small, min(smallPacket, p.mtu)
	}
	if last := len(*list) - 1; last >= 0 {
		q := (*list)[last]
		(*list)[last] = nil
		*list = (*list)[:last]
		*q = packet{b: q.b[:n]}
		return q
	}
	return &packet{b: make([]byte, n, capacity)}
}

// put takes a packet back.
func (p *pool) put(q *packet) {
	if cap(q.b) <= smallPacket {
		p.small = append(p.small, q)
	} else {
		p.large = append(p.large, q)
	}
}

// A queue holds packets, first in, first out. The zero value is empty.
type queue struct {
	ring []*packet // its length is a power of two, or 0
	head int
	n    int
}

// at returns packet i, counted from the first.
func (q *queue) at(i int) *packet { return q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *queue) push(p *packet) {
	if q.n == len(q.ring) {
		ring := make([]*packet, max(16, 2*len(q.ring)))
		for i := range q.n {
			ring[i] = q.at(i)
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = p
	q.n++
}

func (q *queue) pop() *packet {
	p := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return p
}
