package usertcp

import (
	"encoding/binary"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// The smallest path MTUs, in bytes, that a connection accepts. Every IPv4 host accepts packets of
// 576 bytes (RFC 791 §3.1), and every IPv6 link carries 1280: a node MUST discard a message that
// names less (RFC 8201 §4). gVisor would send segments of one byte if a message told it to.
const (
	minPathMTU4 = header.IPv4MinimumProcessableDatagramSize
	minPathMTU6 = header.IPv6MinimumMTU
)

// A protocol is gVisor's IPv4 or IPv6 with the tap between IP and TCP. IP has checked an ICMP
// message when the tap sees it.
type protocol struct {
	stack.NetworkProtocol
	tap *tap
}

// withTap returns a factory of protocols with the tap t.
func withTap(t *tap, newProtocol stack.NetworkProtocolFactory) stack.NetworkProtocolFactory {
	return func(s *stack.Stack) stack.NetworkProtocol { return &protocol{newProtocol(s), t} }
}

// NewEndpoint makes the protocol's part of an interface. It calls d for TCP.
func (p *protocol) NewEndpoint(i stack.NetworkInterface, d stack.TransportDispatcher) stack.NetworkEndpoint {
	return p.NetworkProtocol.NewEndpoint(i, &dispatcher{d, p.tap})
}

// A dispatcher passes packets and errors from IP to TCP.
type dispatcher struct {
	stack.TransportDispatcher
	tap *tap
}

// DeliverTransportError passes on what an ICMP message reports. quote is the beginning of the
// segment that the message is about. The tap learns a path MTU before TCP does, and hides it from
// TCP if it does not believe it. Any other message ends a handshake, so the tap hides it from TCP
// if it does not quote our SYN.
func (d *dispatcher) DeliverTransportError(local, remote tcpip.Address, ip tcpip.NetworkProtocolNumber, transport tcpip.TransportProtocolNumber, e stack.TransportError, quote *stack.PacketBuffer) {
	if transport == header.TCPProtocolNumber {
		h, ok := quote.Data().PullUp(8) // every message quotes at least this (RFC 792): ports and sequence number
		if !ok || !d.believes(quoted(local, h, 0), quoted(remote, h, 2), binary.BigEndian.Uint32(h[4:]), e) {
			return
		}
	}
	d.TransportDispatcher.DeliverTransportError(local, remote, ip, transport, e, quote)
}

// believes learns from the report e about the segment with the sequence number seq, and reports
// whether TCP may learn the same.
func (d *dispatcher) believes(local, remote netip.AddrPort, seq uint32, e stack.TransportError) bool {
	if e.Kind() != stack.PacketTooBigTransportError {
		return d.tap.isUnderWay(local, remote, seq)
	}
	least := minPathMTU6 - header.IPv6MinimumSize
	if local.Addr().Is4() {
		least = minPathMTU4 - header.IPv4MinimumSize
	}
	room := int(e.Info())
	return room >= least && d.tap.packetTooBig(local, remote, seq, room)
}

// isUnderWay reports whether seq is the number of our SYN, or later of a segment that the peer has
// not acknowledged (RFC 5927 §4.1). The tap does not know all connections: see packetTooBig.
func (t *tap) isUnderWay(local, remote netip.AddrPort, seq uint32) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f := t.flows[tuple{local, remote}]
	if f == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.sent.known {
		return seq == f.iss
	}
	return f.isUnderWayLocked(seq)
}

// isUnderWayLocked reports whether SND.UNA =< seq < SND.NXT.
//
// +checklocks:f.mu
func (f *flow) isUnderWayLocked(seq uint32) bool {
	return f.sent.known && !before(seq, f.sent.una) && before(seq, f.sent.next)
}

// quoted returns an address with the port at that offset of a TCP header.
func quoted(a tcpip.Address, h []byte, offset int) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(a.AsSlice())
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(h[offset:]))
}

// packetTooBig learns that the path takes at most room bytes of TCP header and payload. seq is the
// sequence number of the segment that was too long. It reports whether TCP may learn the same.
// After the Stream of a connection is closed, TCP still sends written data, but the tap no longer
// knows the connection.
func (t *tap) packetTooBig(local, remote netip.AddrPort, seq uint32, room int) bool {
	f := t.flow(tuple{local, remote})
	return f == nil || f.packetTooBig(seq, room)
}

// packetTooBig makes the EMSS smaller, and returns false if no such segment is outstanding. Anybody
// can send an ICMP message, so it must quote a sequence number that others must guess: SND.UNA =<
// SEG.SEQ < SND.NXT (RFC 5927 §4.1).
func (f *flow) packetTooBig(seq uint32, room int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isUnderWayLocked(seq) {
		return false
	}
	if emss := int32(f.emssOf(room)); emss < f.emss.Load() {
		f.emss.Store(emss)
	}
	return true
}
