package shm

import "net/netip"

// A Space is a set of port numbers, of which each can have one listener. It is part of the names of
// the listeners.
type Space string

const (
	// QueuePairs has the TCP ports of the queue pairs of devices.
	QueuePairs Space = "run"
	// Services has the port numbers of a connection manager, which are no TCP ports.
	Services Space = "cm"
)

// An Addr is the address that an end would have in a TCP connection.
type Addr netip.AddrPort

// Network returns "shm".
func (a Addr) Network() string { return "shm" }

func (a Addr) String() string { return netip.AddrPort(a).String() }

// AddrPort returns the address, like the method of net.TCPAddr.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPort(a) }
