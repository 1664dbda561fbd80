package dissect

import (
	"net"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Flow records one connection in a Writer's capture. For a capture in which causes come before their
// effects, call Sent before the octets are written to the connection and Received after they were
// read. Its methods take the slice only for the time of the call.
type Flow struct {
	w             *Writer
	local, remote end  // guarded by w.mu
	closed        bool // guarded by w.mu
}

// end is one end of the connection.
type end struct {
	addr  netip.AddrPort
	mac   net.HardwareAddr
	seq   uint32 // of the next octet that it sends
	acked uint32 // what it has acknowledged last
}

// Sent records octets that the local end sends.
func (f *Flow) Sent(p []byte) { f.data(&f.local, &f.remote, p) }

// Received records octets that came from the remote end.
func (f *Flow) Received(p []byte) { f.data(&f.remote, &f.local, p) }

// Closed records the end of the connection, as if the local end had closed first, and writes out what
// waits in the Writer. Further calls, and octets after it, are ignored.
func (f *Flow) Closed() {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.closed {
		return
	}
	f.closed = true
	f.writeLocked(&f.local, &f.remote, layers.TCP{FIN: true, ACK: true}, nil)
	f.writeLocked(&f.remote, &f.local, layers.TCP{FIN: true, ACK: true}, nil)
	f.writeLocked(&f.local, &f.remote, layers.TCP{ACK: true}, nil)
	f.w.flushLocked()
}

// data cuts p into packets.
func (f *Flow) data(from, to *end, p []byte) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if f.closed {
		return
	}
	for len(p) > 0 {
		n := min(len(p), maxSegment)
		f.writeLocked(from, to, layers.TCP{ACK: true, PSH: n == len(p)}, p[:n])
		p = p[n:]
		if from.seq-to.acked >= ackEvery {
			f.writeLocked(to, from, layers.TCP{ACK: true}, nil)
		}
	}
}

// writeLocked writes one packet; header has the flags that it is to have.
//
// +checklocks:f.w.mu
func (f *Flow) writeLocked(from, to *end, header layers.TCP, payload []byte) {
	header.SrcPort, header.DstPort = layers.TCPPort(from.addr.Port()), layers.TCPPort(to.addr.Port())
	header.Seq, header.Window = from.seq, window
	if header.ACK {
		header.Ack = to.seq
		from.acked = to.seq
	}
	from.seq += uint32(len(payload))
	if header.SYN {
		header.Options = []layers.TCPOption{{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{windowScale}}}
	}
	if header.SYN || header.FIN {
		from.seq++
	}
	ethernet := layers.Ethernet{SrcMAC: from.mac, DstMAC: to.mac, EthernetType: layers.EthernetTypeIPv4}
	src, dst := from.addr.Addr().AsSlice(), to.addr.Addr().AsSlice()
	body := gopacket.Payload(payload)
	if from.addr.Addr().Is6() {
		ethernet.EthernetType = layers.EthernetTypeIPv6
		ip := layers.IPv6{Version: 6, NextHeader: layers.IPProtocolTCP, HopLimit: 64, SrcIP: src, DstIP: dst}
		_ = header.SetNetworkLayerForChecksum(&ip) // fails only for other protocols
		f.w.packetLocked(&ethernet, &ip, &header, body)
		return
	}
	ip := layers.IPv4{Version: 4, Protocol: layers.IPProtocolTCP, TTL: 64, Flags: layers.IPv4DontFragment, SrcIP: src, DstIP: dst}
	_ = header.SetNetworkLayerForChecksum(&ip) // fails only for other protocols
	f.w.packetLocked(&ethernet, &ip, &header, body)
}
