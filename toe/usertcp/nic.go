package usertcp

import (
	"net"
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// A framed is a Link whose packets are Ethernet frames: IP packets, and those of ARP. Its MTU does
// not count the Ethernet header.
type framed interface {
	HardwareAddr() net.HardwareAddr

	// longest returns the length in bytes of the longest packet that Read may return. It is longer
	// than a frame if the kernel leaves segmentation to the reader.
	longest() int
}

// A link adapts a Link to gVisor's IP. One goroutine reads the Link; every packet in and out passes
// the tap.
type link struct {
	below      Link
	framed     framed // nil if the packets are those of IP
	tap        *tap
	dispatcher atomic.Pointer[stack.NetworkDispatcher]
	reader     sync.WaitGroup
}

var _ stack.LinkEndpoint = (*link)(nil)

func newLink(l Link, t *tap) *link {
	f, _ := l.(framed)
	return &link{below: l, framed: f, tap: t}
}

// endpoint returns what IP uses: the link, or Ethernet above the link.
func (l *link) endpoint() stack.LinkEndpoint {
	if l.framed != nil {
		return ethernet.New(l)
	}
	return l
}

// headerLen returns the number of bytes before the IP packet.
func (l *link) headerLen() int {
	if l.framed != nil {
		return header.EthernetMinimumSize
	}
	return 0
}

// start starts to read the Link.
func (l *link) start() {
	l.reader.Add(1)
	go func() {
		defer l.reader.Done()
		l.receive()
	}()
}

// stop closes the Link and waits until its reader has ended.
func (l *link) stop() {
	l.below.Close()
	l.reader.Wait()
}

// receive hands packets to IP until the Link is closed.
func (l *link) receive() {
	longest := l.below.MTU()
	if l.framed != nil {
		longest = l.framed.longest()
	}
	view := buffer.NewViewSize(longest)
	defer func() { view.Release() }()
	for {
		n, err := l.below.Read(view.AsSlice())
		if err != nil {
			return
		}
		if n == 0 {
			continue
		}
		payload := view
		if n < longest/2 { // a short packet must not hold a long buffer
			payload = buffer.NewViewWithData(view.AsSlice()[:n])
		} else {
			payload.CapLength(n)
			view = buffer.NewViewSize(longest)
		}
		l.deliver(payload)
	}
}

// deliver hands one packet to the tap and then to IP, if the tap accepts it. It takes ownership of
// v.
func (l *link) deliver(v *buffer.View) {
	n := l.headerLen()
	if v.Size() <= n {
		v.Release()
		return
	}
	packet := v.AsSlice()[n:]
	var protocol tcpip.NetworkProtocolNumber // Ethernet finds it in the frame
	switch header.IPVersion(packet) {
	case header.IPv4Version:
		protocol = header.IPv4ProtocolNumber
	case header.IPv6Version:
		protocol = header.IPv6ProtocolNumber
	default:
		if l.framed == nil {
			v.Release()
			return
		}
	}
	if !l.tap.inbound(packet) {
		v.Release()
		return
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(v)})
	if d := l.dispatcher.Load(); d != nil {
		(*d).DeliverNetworkPacket(protocol, pkt)
	}
	pkt.DecRef()
}

// WritePackets sends packets of IP. A packet that the Link refuses is lost, as in any network.
//
// For each segment with payload it reports that there was no room, because gVisor reacts to that
// only by setting its retransmission timer. If a segment was sent, gVisor sets the timer only if it
// counts a segment as outstanding. But in a recovery it counts fewer retransmissions than their
// ACKs, so at the end it may count no segment although the last ones are in flight. If they and the
// probe for them (RFC 8985 §7) were lost, it would wait for their ACK forever.
func (l *link) WritePackets(list stack.PacketBufferList) (n int, err tcpip.Error) {
	for _, pkt := range list.AsSlice() {
		v := pkt.ToView()
		if l.tap.outbound(v.AsSlice()[l.headerLen():]) {
			err = &tcpip.ErrNoBufferSpace{}
		}
		l.below.Write(v.AsSlice())
		v.Release()
	}
	return list.Len(), err
}

func (l *link) Attach(d stack.NetworkDispatcher) {
	if d == nil {
		l.dispatcher.Store(nil)
		return
	}
	l.dispatcher.Store(&d)
}

func (l *link) IsAttached() bool        { return l.dispatcher.Load() != nil }
func (l *link) MTU() uint32             { return uint32(l.below.MTU() + l.headerLen()) }
func (l *link) SetMTU(uint32)           {}
func (l *link) MaxHeaderLength() uint16 { return 0 }

// LinkAddress returns the Ethernet address, or nothing if IP needs none.
func (l *link) LinkAddress() tcpip.LinkAddress {
	if l.framed == nil {
		return ""
	}
	return tcpip.LinkAddress(l.framed.HardwareAddr())
}
func (l *link) SetLinkAddress(tcpip.LinkAddress)             {}
func (l *link) Capabilities() stack.LinkEndpointCapabilities { return 0 }
func (l *link) Wait()                                        {}
func (l *link) ARPHardwareType() header.ARPHardwareType      { return header.ARPHardwareNone }
func (l *link) AddHeader(*stack.PacketBuffer)                {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool         { return true }
func (l *link) Close()                                       {}
func (l *link) SetOnCloseAction(func())                      {}
