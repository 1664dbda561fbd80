package usertcp

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// backlog is the number of connections that may wait for Accept.
const backlog = 4096

// Dial connects to address, whose host is an IP address or a name that the system's resolver knows.
// If the name has several addresses, Dial tries them in order, each for an equal share of the
// remaining time of ctx. If none answers, it returns the error of the first one. network is "tcp",
// "tcp4" or "tcp6". The Stream is of type *Stream.
func (s *Stack) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	all, err := resolve(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return s.dialAny(ctx, network, all)
}

// dialAny connects to the first of the addresses that answers. There is at least one.
func (s *Stack) dialAny(ctx context.Context, network string, all []netip.AddrPort) (toe.Stream, error) {
	var first error
	for i, remote := range all {
		c, err := s.dialOne(ctx, network, remote, len(all)-i)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// dialOne connects to one address. This address and the untried ones, left addresses in all, get
// equal shares of the remaining time of ctx.
func (s *Stack) dialOne(ctx context.Context, network string, remote netip.AddrPort, left int) (toe.Stream, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	c, err := s.dial(ctx, network, remote)
	if err != nil && s.closed.Load() { // Close has ended it
		err = net.ErrClosed
	}
	if err != nil {
		return nil, opError("dial", network, nil, net.TCPAddrFromAddrPort(remote), err)
	}
	return c, nil
}

func (s *Stack) dial(ctx context.Context, network string, remote netip.AddrPort) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, contextError(err)
	}
	c, e, err := s.connect(network, remote)
	if err != nil {
		return nil, err
	}
	if err := c.awaitConnected(ctx, e); err != nil {
		c.queue.EventUnregister(&c.entry)
		c.ep.Abort()
		return nil, err
	}
	return c, s.begin(c)
}

// connect makes an endpoint and begins to connect it. e is the result from TCP.
func (s *Stack) connect(network string, remote netip.AddrPort) (c *Stream, e tcpip.Error, err error) {
	s.beginning.RLock()
	defer s.beginning.RUnlock()
	if s.closed.Load() {
		return nil, nil, net.ErrClosed
	}
	queue := new(waiter.Queue)
	ep, e := s.ip.NewEndpoint(tcp.ProtocolNumber, protocolOf(remote.Addr()), queue)
	if e != nil {
		return nil, nil, systemError(e)
	}
	c = s.newStream(ep, queue, network)
	return c, ep.Connect(fullAddress(remote)), nil
}

// awaitConnected waits until the endpoint is connected, or ctx is done. err is the result of
// connect.
func (c *Stream) awaitConnected(ctx context.Context, err tcpip.Error) error {
	stop := context.AfterFunc(ctx, func() { c.NotifyEvent(waiter.WritableEvents) })
	defer stop()
	for {
		switch err.(type) {
		case nil:
			return nil
		case *tcpip.ErrConnectStarted, *tcpip.ErrAlreadyConnecting:
		case *tcpip.ErrAlreadyConnected:
			return nil
		default:
			return systemError(err)
		}
		c.mu.Lock()
		for c.writes == 0 {
			c.writable.Wait()
		}
		c.writes = 0
		c.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return contextError(err)
		}
		if err = c.ep.LastError(); err == nil {
			switch state := tcp.EndpointState(c.ep.State()); state {
			case tcp.StateConnecting, tcp.StateSynSent, tcp.StateSynRecv:
				err = &tcpip.ErrConnectStarted{}
			}
		}
	}
}

// begin completes a Stream whose connection is established.
func (s *Stack) begin(c *Stream) error {
	local, err := c.ep.GetLocalAddress()
	if err != nil {
		c.ep.Abort()
		return systemError(err)
	}
	remote, err := c.ep.GetRemoteAddress()
	if err != nil { // the peer has reset the connection already
		c.ep.Abort()
		return systemError(err)
	}
	c.id = tuple{local: addrPort(local), remote: addrPort(remote)}
	f := s.tap.flow(c.id)
	if _, err := c.ep.GetRemoteAddress(); err != nil { // f may be the flow of another connection
		c.ep.Abort()
		return systemError(err)
	}
	c.flow = s.tap.attach(c, f)
	c.ep.SocketOptions().SetDelayOption(false)
	if s.cfg.KeepAlive >= 0 {
		c.ep.SocketOptions().SetKeepAlive(true)
		setKeepAlivePeriod(c.ep, keepAlivePeriod(s.cfg.KeepAlive))
	}
	setUserTimeout(c.ep, s.cfg.UserTimeout)
	return nil
}

// Listen listens at address. An empty host means all addresses of the Stack: those of IPv4 for
// "tcp4", those of IPv6 for "tcp6", and both for "tcp". For a name with several addresses, Listen
// uses the first IPv4 address, if there is one, as net.Listen does. The Streams that Accept returns
// are of type *Stream.
func (s *Stack) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	all, err := resolve(ctx, network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	local := listenAt(all)
	l := &listener{stack: s, queue: new(waiter.Queue), network: network}
	if err := l.listen(local); err != nil {
		return nil, opError("listen", network, nil, net.TCPAddrFromAddrPort(local), err)
	}
	return l, nil
}

// A listener is a listening endpoint.
type listener struct {
	stack   *Stack
	ep      tcpip.Endpoint
	queue   *waiter.Queue
	entry   waiter.Entry
	network string
	addr    *net.TCPAddr

	mu      locks.Mutex[locks.UserTCP]
	changed sync.Cond
	// +checklocks:mu
	events uint64
	// +checklocks:mu
	closed bool
}

func (l *listener) listen(local netip.AddrPort) error {
	l.stack.beginning.RLock()
	defer l.stack.beginning.RUnlock()
	if l.stack.closed.Load() {
		return net.ErrClosed
	}
	l.changed.L = &l.mu
	ep, err := l.stack.ip.NewEndpoint(tcp.ProtocolNumber, l.protocol(local), l.queue)
	if err != nil {
		return systemError(err)
	}
	l.ep = ep
	if l.network == "tcp6" {
		ep.SocketOptions().SetV6Only(true)
	}
	l.entry.Init(l, waiter.ReadableEvents|waiter.EventHUp|waiter.EventErr)
	l.queue.EventRegister(&l.entry)
	if err = ep.Bind(fullAddress(local)); err == nil {
		err = ep.Listen(backlog)
	}
	if err != nil {
		ep.Close()
		return systemError(err)
	}
	bound, err := ep.GetLocalAddress()
	if err != nil {
		ep.Close()
		return systemError(err)
	}
	l.addr = &net.TCPAddr{IP: net.IP(local.Addr().AsSlice()), Port: int(bound.Port)}
	return nil
}

// protocol returns the protocol of the endpoint. An IPv6 endpoint accepts IPv4 too.
func (l *listener) protocol(local netip.AddrPort) tcpip.NetworkProtocolNumber {
	switch {
	case local.Addr().IsValid():
		return protocolOf(local.Addr())
	case l.network == "tcp4":
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}

// NotifyEvent is called by gVisor when there may be a connection for Accept.
func (l *listener) NotifyEvent(waiter.EventMask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events++
	l.changed.Signal()
}

func (l *listener) Accept() (toe.Stream, error) {
	for {
		l.mu.Lock()
		seen, closed := l.events, l.closed
		l.mu.Unlock()
		if closed {
			return nil, l.opError("accept", net.ErrClosed)
		}
		ep, queue, err := l.ep.Accept(nil)
		switch err.(type) {
		case nil:
			c := l.stack.newStream(ep, queue, l.network)
			if err := l.stack.begin(c); err == nil {
				return c, nil
			}
			queue.EventUnregister(&c.entry) // the peer has gone; the next connection may be better
			continue
		case *tcpip.ErrWouldBlock:
		default:
			if l.isClosed() {
				return nil, l.opError("accept", net.ErrClosed)
			}
			return nil, l.opError("accept", systemError(err))
		}
		l.mu.Lock()
		for l.events == seen && !l.closed {
			l.changed.Wait()
		}
		l.mu.Unlock()
	}
}

// isClosed reports whether the Listener or its Stack is closed.
func (l *listener) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed || l.stack.closed.Load()
}

// Close stops listening and resets the connections that have not been accepted. Further calls do
// nothing.
func (l *listener) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	if !closed {
		l.ep.Close()
		l.queue.EventUnregister(&l.entry)
	}
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

func (l *listener) opError(op string, err error) error {
	return opError(op, l.network, nil, l.addr, err)
}

// listenAt returns the one of several addresses at which net.Listen would listen.
func listenAt(all []netip.AddrPort) netip.AddrPort {
	return all[max(slices.IndexFunc(all, func(a netip.AddrPort) bool { return a.Addr().Is4() }), 0)]
}

// resolve returns the addresses, at least one, and the port that address names. If the host is
// empty, there is a single address, which is not valid.
func resolve(ctx context.Context, network, address string) ([]netip.AddrPort, error) {
	family := "ip"
	switch network {
	case "tcp":
	case "tcp4", "tcp6":
		family += strings.TrimPrefix(network, "tcp")
	default:
		return nil, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		n, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
		if err != nil {
			return nil, err
		}
		port = uint64(n)
	}
	if host == "" {
		return []netip.AddrPort{netip.AddrPortFrom(netip.Addr{}, uint16(port))}, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, family, host) // a literal address is no query
	if err != nil {
		return nil, err
	}
	all := make([]netip.AddrPort, len(addrs))
	for i, a := range addrs {
		all[i] = netip.AddrPortFrom(a.Unmap(), uint16(port))
	}
	return all, nil
}

// contextError returns the error of a context as package net would.
func contextError(err error) error {
	if err == context.DeadlineExceeded {
		return errTimeout{}
	}
	return err
}

// errTimeout is the error of a Dial whose context's deadline has passed.
type errTimeout struct{}

func (errTimeout) Error() string        { return "i/o timeout" }
func (errTimeout) Timeout() bool        { return true }
func (errTimeout) Temporary() bool      { return true }
func (errTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

func fullAddress(a netip.AddrPort) tcpip.FullAddress {
	full := tcpip.FullAddress{Port: a.Port()}
	if a.Addr().IsValid() {
		full.Addr = tcpip.AddrFromSlice(a.Addr().Unmap().AsSlice())
	}
	return full
}

func addrPort(a tcpip.FullAddress) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(a.Addr.AsSlice())
	return netip.AddrPortFrom(addr.Unmap(), a.Port)
}
