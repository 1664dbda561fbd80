package usertcp

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// A link is a Link as gVisor's IP wants it. One goroutine reads the Link; every packet in and out
// passes the tap.
type link struct {
	below      Link
	tap        *tap
	dispatcher atomic.Pointer[stack.NetworkDispatcher]
	reader     sync.WaitGroup
}

var _ stack.LinkEndpoint = (*link)(nil)

func newLink(l Link, t *tap) *link { return &link{below: l, tap: t} }

// start starts to read the Link.
func (l *link) start() {
	l.reader.Add(1)
	go func() {
		defer l.reader.Done()
		l.receive()
	}()
}

// stop closes the Link and waits until nobody reads it.
func (l *link) stop() {
	l.below.Close()
	l.reader.Wait()
}

// receive hands packets to IP until the Link is closed.
func (l *link) receive() {
	mtu := l.below.MTU()
	view := buffer.NewViewSize(mtu)
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
		if n < mtu/2 { // a short packet must not hold a long buffer
			payload = buffer.NewViewWithData(view.AsSlice()[:n])
		} else {
			payload.CapLength(n)
			view = buffer.NewViewSize(mtu)
		}
		l.deliver(payload)
	}
}

// deliver hands one packet to the tap and then to IP. It takes v over.
func (l *link) deliver(v *buffer.View) {
	var protocol tcpip.NetworkProtocolNumber
	switch header.IPVersion(v.AsSlice()) {
	case header.IPv4Version:
		protocol = header.IPv4ProtocolNumber
	case header.IPv6Version:
		protocol = header.IPv6ProtocolNumber
	default:
		v.Release()
		return
	}
	l.tap.inbound(v.AsSlice())
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(v)})
	if d := l.dispatcher.Load(); d != nil {
		(*d).DeliverNetworkPacket(protocol, pkt)
	}
	pkt.DecRef()
}

// WritePackets sends packets of IP. A packet that the Link refuses is lost, as in any network.
func (l *link) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range list.AsSlice() {
		v := pkt.ToView()
		l.tap.outbound(v.AsSlice())
		l.below.Write(v.AsSlice())
		v.Release()
	}
	return list.Len(), nil
}

func (l *link) Attach(d stack.NetworkDispatcher) {
	if d == nil {
		l.dispatcher.Store(nil)
		return
	}
	l.dispatcher.Store(&d)
}

func (l *link) IsAttached() bool                             { return l.dispatcher.Load() != nil }
func (l *link) MTU() uint32                                  { return uint32(l.below.MTU()) }
func (l *link) SetMTU(uint32)                                {}
func (l *link) MaxHeaderLength() uint16                      { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress               { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)             {}
func (l *link) Capabilities() stack.LinkEndpointCapabilities { return 0 }
func (l *link) Wait()                                        {}
func (l *link) ARPHardwareType() header.ARPHardwareType      { return header.ARPHardwareNone }
func (l *link) AddHeader(*stack.PacketBuffer)                {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool         { return true }
func (l *link) Close()                                       {}
func (l *link) SetOnCloseAction(func())                      {}
