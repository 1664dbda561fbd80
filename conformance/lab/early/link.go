package main

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rddp/rddp/toe/usertcp"
)

// A segment is the payload of a TCP segment that has reached the receiving host.
type segment struct {
	at    time.Duration
	delay time.Duration // on the way; 0 if the link has cut it out of another segment
	seq   uint32
	n     int // bytes
}

// A wire records the segments with payload in one direction of a link.
type wire struct {
	begin time.Time

	mu sync.Mutex
	// +checklocks:mu
	flows map[uint16]*flow // by the port of the sender
}

// A flow is one connection.
type flow struct {
	isn      uint32                   // the sender's initial sequence number
	departed map[uint32]time.Duration // when the last segment with a sequence number was sent
	segments []segment
}

func newWire(begin time.Time) *wire { return &wire{begin: begin, flows: make(map[uint16]*flow)} }

// departures is the sending end of the link.
type departures struct {
	usertcp.Link
	wire *wire
}

func (l departures) Write(p []byte) (int, error) {
	l.wire.sent(p)
	return l.Link.Write(p)
}

// arrivals is the receiving end of the link.
type arrivals struct {
	usertcp.Link
	wire *wire
}

func (l arrivals) Read(p []byte) (n int, err error) {
	if n, err = l.Link.Read(p); err == nil {
		l.wire.received(p[:n])
	}
	return n, err
}

// sent records a packet that is about to be sent.
func (w *wire) sent(p []byte) {
	now := time.Since(w.begin)
	h, ok := headerOf(p)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch f := w.flows[h.port]; {
	case h.isSYN:
		w.flows[h.port] = &flow{isn: h.seq, departed: make(map[uint32]time.Duration)}
	case f != nil && h.n > 0:
		f.departed[h.seq] = now
	}
}

// received records a packet that has arrived.
func (w *wire) received(p []byte) {
	now := time.Since(w.begin)
	h, ok := headerOf(p)
	if !ok || h.n == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flows[h.port]
	if f == nil {
		return
	}
	s := segment{at: now, seq: h.seq, n: h.n}
	if at, ok := f.departed[h.seq]; ok {
		s.delay = now - at
	}
	f.segments = append(f.segments, s)
}

// A header contains the fields of a TCP segment that the wire needs.
type header struct {
	port  uint16 // of the sender
	seq   uint32
	n     int // bytes of payload
	isSYN bool
}

// headerOf returns the header of a TCP segment over IPv4. It returns false for all other packets.
func headerOf(p []byte) (h header, ok bool) {
	const (
		ipHeader, tcpHeader = 20, 20
		protocolTCP         = 6
		flagSYN             = 2
	)
	if len(p) < ipHeader+tcpHeader || p[0]>>4 != 4 || p[9] != protocolTCP {
		return h, false
	}
	t := p[4*int(p[0]&0xf) : binary.BigEndian.Uint16(p[2:])]
	return header{binary.BigEndian.Uint16(t), binary.BigEndian.Uint32(t[4:]), len(t) - 4*int(t[12]>>4), t[13]&flagSYN != 0}, true
}

// arrivals returns the segments of a connection with bytes at stream offset 0 or later. Before
// offset 0 the stream has the skipped bytes of MPA startup.
func (w *wire) arrivals(port uint16, skipped uint64) (list []arrival) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flows[port]
	if f == nil {
		return nil
	}
	base := f.isn + 1 + uint32(skipped)
	for _, s := range f.segments {
		if off := int64(int32(s.seq - base)); off >= 0 {
			list = append(list, arrival{s.at, s.delay, span{uint64(off), uint64(off) + uint64(s.n)}})
		}
	}
	return list
}
