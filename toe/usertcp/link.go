package usertcp

import (
	"net"
	"runtime"
	"sync"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe/usertcp/internal/clock"
)

// A Link carries IP packets to and from a [Stack]. One goroutine at a time calls Read; any
// goroutine may call Write and Close. A Link may lose, reorder and duplicate packets, as networks
// do.
//
// A *Device of package toe/tun is a Link, and so is an *End of package toe/badlink.
type Link interface {
	// Read waits for a packet and copies it to p, which has at least MTU bytes. After Close it
	// returns an error.
	Read(p []byte) (n int, err error)

	// Write sends one packet of at most MTU bytes. It does not keep p, and it must not wait for the
	// peer to read: the Stack holds the lock of a connection meanwhile. A Link that has no room
	// drops the packet.
	Write(p []byte) (n int, err error)

	// Close ends a blocked Read. Further calls change nothing, and may return an error.
	Close() error

	// MTU returns the length in bytes of the longest packet, with its IP header. It never changes.
	MTU() int
}

// MaxMTU is the largest MTU in bytes that a Link may have, because the length field of an IPv4
// header has 16 bits.
const MaxMTU = 65535

// MinMTU is the smallest MTU in bytes that a Link may have: IPv6 needs it (RFC 8200 §5).
const MinMTU = 1280

// Pipe returns the two ends of a perfect link in memory: no packet is lost, and all arrive at once
// and in order. The link holds the packets that the other end has not read. The windows of the TCP
// connections bound their number. Pipe panics if mtu is not in the range from MinMTU to MaxMTU.
func Pipe(mtu int) (a, b Link) {
	if mtu < MinMTU || mtu > MaxMTU {
		panic("BUG: usertcp.Pipe with an MTU out of range")
	}
	ab, ba := newPackets(), newPackets()
	now := clock.Get()
	now.Join(ab.settle)
	now.Join(ba.settle)
	return &pipeEnd{mtu: mtu, in: ba, out: ab}, &pipeEnd{mtu: mtu, in: ab, out: ba}
}

// A pipeEnd is one end of a Pipe.
type pipeEnd struct {
	mtu     int
	in, out *packets
}

func (e *pipeEnd) MTU() int { return e.mtu }

func (e *pipeEnd) Read(p []byte) (int, error) { return e.in.get(p) }

func (e *pipeEnd) Write(p []byte) (int, error) {
	if len(p) > e.mtu {
		return 0, &net.OpError{Op: "write", Net: "ip", Err: net.ErrWriteToConnected}
	}
	return e.out.put(p)
}

// Close closes this end. The other end may continue to write; its packets are dropped.
func (e *pipeEnd) Close() error {
	e.in.close()
	return nil
}

// packets is a queue of packets in memory.
type packets struct {
	mu      locks.Mutex[locks.Packets]
	arrived sync.Cond
	// +checklocks:mu
	list []*packet
	// +checklocks:mu
	head int // list[:head] has been read
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	puts uint64 // number of packets so far
	// +checklocks:mu
	read bool // a goroutine has read
	// +checklocks:mu
	waits bool // the reader waits
}

// A packet is the memory of one packet.
type packet struct{ b []byte }

// packetPool holds packets whose memory can be reused.
var packetPool = sync.Pool{New: func() any { return new(packet) }}

func newPackets() *packets {
	q := new(packets)
	q.arrived.L = &q.mu
	return q
}

// put appends a copy of p.
func (q *packets) put(p []byte) (int, error) {
	c := packetPool.Get().(*packet)
	c.b = append(c.b[:0], p...)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed { // as if the wire were cut
		packetPool.Put(c)
		return len(p), nil
	}
	if q.head > 0 && len(q.list) == cap(q.list) {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, c)
	q.puts++
	q.arrived.Signal()
	return len(p), nil
}

// get waits for a packet and copies it to p.
func (q *packets) get(p []byte) (int, error) {
	q.mu.Lock()
	q.read = true
	for q.head == len(q.list) && !q.closed {
		q.waits = true
		q.arrived.Wait()
		q.waits = false
	}
	if q.closed {
		q.mu.Unlock()
		return 0, net.ErrClosed
	}
	c := q.list[q.head]
	q.list[q.head] = nil
	q.head++
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	q.mu.Unlock()
	n := copy(p, c.b)
	packetPool.Put(c)
	return n, nil
}

// settle waits until the reader has taken all packets and waits for more. It returns the number of
// packets so far.
func (q *packets) settle() uint64 {
	for {
		q.mu.Lock()
		puts, settled := q.puts, q.closed || !q.read || q.waits && q.head == len(q.list)
		q.mu.Unlock()
		if settled {
			return puts
		}
		runtime.Gosched()
	}
}

// close drops all packets and ends get.
func (q *packets) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.list, q.head = nil, 0
	q.arrived.Broadcast()
}
