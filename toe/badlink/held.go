package badlink

import (
	"slices"
	"time"
)

// A held contains the packets that are held back, in order of arrival.
type held struct {
	packets []heldPacket
	passed  uint64        // packets that were not held back
	at      uint64        // the smallest at of packets
	by      time.Duration // the smallest by of packets
}

// A heldPacket waits until passed reaches at, but no longer than until by.
type heldPacket struct {
	p  *packet
	at uint64
	by time.Duration
}

// add holds p back until p.late packets have overtaken it, but no longer than until by.
func (h *held) add(p *packet, by time.Duration) {
	q := heldPacket{p, h.passed + uint64(p.late), by}
	h.packets = append(h.packets, q)
	h.note(q, len(h.packets) == 1)
}

// note updates at and by to the smallest values. If q is the only packet, they are its values.
func (h *held) note(q heldPacket, only bool) {
	if only || q.at < h.at {
		h.at = q.at
	}
	if only || q.by < h.by {
		h.by = q.by
	}
}

// overtaken counts a packet that passes, and returns the first held packet that continues now, or
// nil. next returns the following ones.
func (h *held) overtaken() *packet {
	h.passed++
	return h.next()
}

// next returns the first packet that enough others have overtaken, or nil.
func (h *held) next() *packet {
	if len(h.packets) == 0 || h.passed < h.at {
		return nil
	}
	return h.remove(func(q heldPacket) bool { return q.at <= h.passed })
}

// expired returns the packet that waits until the time by. There must be packets.
func (h *held) expired() *packet {
	return h.remove(func(q heldPacket) bool { return q.by == h.by })
}

// remove removes the first packet for which isIt returns true.
func (h *held) remove(isIt func(q heldPacket) bool) *packet {
	i := slices.IndexFunc(h.packets, isIt)
	p := h.packets[i].p
	h.packets = slices.Delete(h.packets, i, i+1)
	for j, q := range h.packets {
		h.note(q, j == 0)
	}
	return p
}
