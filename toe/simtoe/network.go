package simtoe

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// firstPort is the first port that a Network chooses itself.
const firstPort = 49152

// A Network is a set of addresses at which programs listen and dial. It implements toe.Backend. One
// Config applies to every connection in both directions, but each direction has its own splits,
// delays and early runs.
type Network struct {
	cfg Config

	mu locks.Mutex[locks.Network]
	// +checklocks:mu
	listeners map[string]*listener
	// +checklocks:mu
	connections uint64 // number of connections made
	// +checklocks:mu
	port int // the port chosen last
}

var _ toe.Backend = (*Network)(nil)

// New returns a Network without listeners. If the same connections are made in the same order, they
// behave the same in every Network with the same Config.
func New(c Config) *Network {
	return &Network{cfg: c, listeners: make(map[string]*listener), port: firstPort - 1}
}

// Listen listens at address, which may be any string. Listen chooses the port if address ends in
// ":0". It uses network only for the addresses that it returns.
func (n *Network) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: Addr{network, address}, Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if host, ok := strings.CutSuffix(address, ":0"); ok {
		address = host + ":" + n.choosePortLocked()
		for n.listeners[address] != nil { // a program has chosen this port itself
			address = host + ":" + n.choosePortLocked()
		}
	}
	l := &listener{network: n, addr: Addr{network, address}}
	l.changed.L = &n.mu
	if n.listeners[address] != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.addr, Err: syscall.EADDRINUSE}
	}
	n.listeners[address] = l
	return l, nil
}

// Dial connects to the listener whose address is exactly address. It does not wait for Accept. If
// there is no listener, the error is ECONNREFUSED.
func (n *Network) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	remote := Addr{network, address}
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[address]
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: syscall.ECONNREFUSED}
	}
	local := Addr{network, "sim:" + n.choosePortLocked()}
	client, server := newPair(n.cfg, n.cfg, n.connections, local, l.addr)
	n.connections++
	l.backlog = append(l.backlog, server) // +checklocksignore: l.network is n
	l.changed.Signal()
	return client, nil
}

// choosePortLocked returns a port that the Network has not chosen before.
//
// +checklocks:n.mu
func (n *Network) choosePortLocked() string {
	n.port++
	return strconv.Itoa(n.port)
}

// A listener is an address of a Network. The lock of the Network guards it.
type listener struct {
	network *Network
	addr    Addr

	changed sync.Cond // backlog or closed has changed
	// +checklocks:network.mu
	backlog []*Stream // dialed and not accepted
	// +checklocks:network.mu
	closed bool
}

func (l *listener) Accept() (toe.Stream, error) {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	for len(l.backlog) == 0 && !l.closed {
		l.changed.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: l.addr.Net, Addr: l.addr, Err: net.ErrClosed}
	}
	s := l.backlog[0]
	l.backlog = l.backlog[1:]
	return s, nil
}

// Close frees the address and closes the connections that have not been accepted. Further calls do
// nothing.
func (l *listener) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	delete(l.network.listeners, l.addr.Address)
	for _, s := range l.backlog {
		s.Close()
	}
	l.backlog = nil
	l.changed.Broadcast()
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }
