package hostile_test

import (
	"bytes"
	"slices"
	"sync"

	"github.com/rddp/rddp/toe/usertcp"
)

// A relay is the end of a link that sends. A test can hold back its segments, make it deaf, and
// inject segments. It supports only IPv4.
type relay struct {
	usertcp.Link

	mu    sync.Mutex
	holds bool     // segments with payload are not sent
	held  [][]byte // those packets, each once
	begun bool     // a segment with payload was sent
	sent  uint32   // if begun: the sequence number after the last byte that was sent
	last  []byte   // the packet with payload that was written last
}

// Write sends a packet, or holds it back.
func (r *relay) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(payloadOf(p)) > 0 {
		r.last = bytes.Clone(p)
		// TCP may retransmit bytes from before hold, which the relay does not hold back.
		if r.holds && (!r.begun || int32(endOf(p)-r.sent) > 0) {
			// On a busy machine TCP retransmits a segment before the test has seen the others.
			if n := len(r.held); n == 0 || int32(endOf(p)-endOf(r.held[n-1])) > 0 {
				r.held = append(r.held, r.last)
			}
			return len(p), nil
		}
		if !r.begun || int32(endOf(p)-r.sent) > 0 {
			r.begun, r.sent = true, endOf(p)
		}
	}
	return r.Link.Write(p)
}

// hold makes the relay hold segments back from now on.
func (r *relay) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = true
}

// heldBytes returns the number of bytes of the stream that the relay holds.
func (r *relay) heldBytes() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.held {
		n += len(payloadOf(p))
	}
	return n
}

// segments returns the packets that the relay holds.
func (r *relay) segments() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.held)
}

// release drops the held packets, and makes the relay send segments again.
func (r *relay) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.holds = nil, false
}

// inject sends packets that the test has made.
func (r *relay) inject(packets ...[]byte) {
	for _, p := range packets {
		r.Link.Write(p)
	}
}

// template returns the packet with payload that was written last.
func (r *relay) template() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// payloadOf returns the bytes of the stream in a packet.
func payloadOf(p []byte) []byte {
	s, _ := parseRaw(p)
	return s.payload
}

// sequenceOf returns the sequence number of the first byte of payloadOf.
func sequenceOf(p []byte) uint32 {
	s, _ := parseRaw(p)
	return s.seq
}

// endOf returns the sequence number after payloadOf.
func endOf(p []byte) uint32 { return sequenceOf(p) + uint32(len(payloadOf(p))) }

// segmentLike returns a packet like p, with payload at the sequence number seq.
func segmentLike(p []byte, seq uint32, payload []byte) []byte {
	s, _ := parseRaw(p)
	s.seq, s.payload = seq, payload
	return s.appendTo(nil)
}
