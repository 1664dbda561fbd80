package usertcp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp/internal/clock"
)

const (
	// nic is the number of the one interface of a Stack.
	nic = 1

	minBuffer            = 4 << 10
	defaultSendBuffer    = 1 << 20
	defaultReceiveBuffer = 1 << 20
	maxBuffer            = 8 << 20

	// defaultKeepAlive is the default of package net, and minKeepAlive the minimum of operating
	// systems.
	defaultKeepAlive = 15 * time.Second
	minKeepAlive     = time.Second
	keepAliveProbes  = 9

	// closedTimeout is the UserTimeout of a closed Stream. No deadline of the program ends the
	// connection, so a peer that answers probes and never opens its window would otherwise hold the
	// send buffer forever. The time must be enough for a full send buffer to leave over a bad
	// network.
	closedTimeout = 10 * time.Minute
)

// A Config describes a Stack. The zero value of each field but Addresses is a default.
type Config struct {
	// Addresses are the addresses of the Stack, IPv4 and IPv6, each with the length of its network.
	// A Stack needs at least one. Packets to every other address go over the link.
	Addresses []netip.Prefix

	// SendBuffer and ReceiveBuffer are the initial sizes in bytes of the two buffers of a
	// connection. Zero means 1 MiB. They limit neither the memory of a connection nor its window:
	// TCP enlarges the buffers up to 8 MiB each, the receive buffer while the program reads
	// quickly, and does not shrink them. The window is at most half of the present receive buffer.
	SendBuffer, ReceiveBuffer int

	// KeepAlive is the idle time before the first keep-alive probe, and the time between probes. A
	// connection fails after nine probes without an answer. Zero means 15 seconds; a negative value
	// switches the probes off. The shortest time is a second.
	KeepAlive time.Duration

	// UserTimeout is the time after which a connection fails with ETIMEDOUT if its data are not
	// acknowledged, or if the peer keeps its window closed (RFC 9293 §3.8.3, RFC 6429 §4). It takes
	// effect when the next retransmission or window probe is due. The answer to a keep-alive probe
	// delays a window probe, so for a closed window KeepAlive must be negative or longer than two
	// minutes, as it is after Stream.Close. The time begins with the first retransmission or probe,
	// and ends only when the peer has acknowledged everything or opens its window again. So it must
	// be longer than the longest transfer over a bad network. If it is zero, a connection fails
	// after 15 retransmissions of a segment, and waits for a window as long as the peer answers
	// probes. After Stream.Close, zero means ten minutes.
	UserTimeout time.Duration

	// CongestionControl is "cubic" or "reno". Empty means "cubic".
	CongestionControl string

	// MinRTO is the minimum retransmission timeout (RTO) of RFC 6298. TCP waits that long when it
	// has no other sign of a loss, for example when a retransmission is lost too. Over a path with
	// short round trips and much loss, such waits of 200 ms take most of the time. If the peer
	// delays its ACKs for longer than MinRTO, TCP retransmits segments unnecessarily. Linux delays
	// them for 40 ms or more. Zero means 200 ms. The maximum is 120 s.
	MinRTO time.Duration

	// NoEarlyRuns disables early runs for all Streams of the Stack. Stream.ShowEarly disables them
	// for one connection.
	NoEarlyRuns bool
}

// A Stack is a TCP in this process, with its own addresses, above a Link. It implements
// toe.Backend. Its methods may be called from any goroutine.
type Stack struct {
	cfg   Config
	leave func() // the clock
	link  *link
	ip    *stack.Stack
	tap   *tap
	close sync.Once

	// Dial and Listen hold beginning for reading while they make an endpoint: an endpoint that
	// Close has not seen would never end, and Close would wait for it.
	beginning locks.RWMutex[locks.Stack]
	closed    atomic.Bool // Close was called; it is set with beginning held
}

var _ toe.Backend = (*Stack)(nil)

// New makes a Stack above link, which the Stack owns from now on: Close closes it. If New returns
// an error, the link still belongs to the caller.
func New(l Link, cfg Config) (*Stack, error) {
	if m := l.MTU(); m < MinMTU || m > MaxMTU {
		return nil, fmt.Errorf("usertcp: the link's MTU is %d bytes, want %d to %d", m, MinMTU, MaxMTU)
	}
	if t := min(cfg.UserTimeout, cfg.MinRTO); t < 0 { // gVisor would give up at the first loss
		return nil, fmt.Errorf("usertcp: a timeout of %v", t)
	}
	if len(cfg.Addresses) == 0 {
		return nil, errors.New("usertcp: a Stack needs an address")
	}
	now := clock.Get()
	s := &Stack{cfg: cfg, tap: newTap(l.MTU(), !cfg.NoEarlyRuns)}
	s.ip = stack.New(stack.Options{
		Clock:              now,
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, withTap(s.tap, ipv4.NewProtocol), withTap(s.tap, ipv6.NewProtocol)},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocolCUBIC},
	})
	s.link = newLink(l, s.tap)
	if err := s.configure(); err != nil {
		s.ip.Destroy()
		return nil, fmt.Errorf("usertcp: %w", err)
	}
	s.link.start()
	s.leave = now.Join(s.settle)
	return s, nil
}

// settle waits until TCP has processed all segments that have arrived.
func (s *Stack) settle() uint64 {
	s.ip.Pause()
	s.ip.Resume()
	return 0 // a link counts its packets to others
}

// configure sets the options of TCP, and gives the Stack its addresses and routes.
func (s *Stack) configure() error {
	if err := s.configureTCP(); err != nil {
		return err
	}
	if err := s.ip.CreateNIC(nic, s.link.endpoint()); err != nil {
		return systemError(err)
	}
	for _, p := range s.cfg.Addresses {
		if !p.IsValid() {
			return fmt.Errorf("the address %v is not valid", p)
		}
		address := tcpip.ProtocolAddress{Protocol: protocolOf(p.Addr()), AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFromSlice(p.Addr().Unmap().AsSlice()), PrefixLen: p.Bits(),
		}}
		if err := s.ip.AddProtocolAddress(nic, address, stack.AddressProperties{}); err != nil {
			return fmt.Errorf("the address %v: %w", p, systemError(err))
		}
	}
	s.ip.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	return nil
}

// configureTCP sets the options of TCP. SACK must be switched on; window scaling and timestamps are
// on in any case.
func (s *Stack) configureTCP() error {
	sack := tcpip.TCPSACKEnabled(true)
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	control := tcpip.CongestionControlOption(or(s.cfg.CongestionControl, "cubic"))
	send := tcpip.TCPSendBufferSizeRangeOption{Min: minBuffer, Default: or(s.cfg.SendBuffer, defaultSendBuffer), Max: maxBuffer}
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: minBuffer, Default: or(s.cfg.ReceiveBuffer, defaultReceiveBuffer), Max: maxBuffer}
	timeout := tcpip.TCPMinRTOOption(or(s.cfg.MinRTO, tcp.MinRTO))
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &control, &send, &receive, &timeout} {
		if err := s.ip.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("option %T: %w", o, systemError(err))
		}
	}
	return nil
}

// EarlyStats returns counts of the segments that arrived behind a gap, on all connections that the
// Stack has had.
func (s *Stack) EarlyStats() EarlyStats { return s.tap.earlyStats() }

// Close resets all connections, closes the Listeners and the link, and waits until the goroutines
// of the Stack have ended. Nothing remains of the connections, except the Streams that the program
// holds. Further calls do nothing. Dial, Listen and Accept then return net.ErrClosed.
func (s *Stack) Close() error {
	s.close.Do(func() {
		s.beginning.Lock()
		s.closed.Store(true)
		s.beginning.Unlock()
		s.leave()
		// Connections that arrive before the Listeners are closed may miss the first of two sweeps.
		for _, e := range s.ip.RegisteredEndpoints() {
			e.Abort()
		}
		s.ip.Close() // sweeps, too
		s.link.stop()
		s.ip.Wait()
		s.tap.close()
	})
	return nil
}

// or returns v, or otherwise if v is the zero value.
func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// protocolOf returns the protocol of an address.
func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Unmap().Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}
