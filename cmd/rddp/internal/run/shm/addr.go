package shm

import "net/netip"

// An Addr is the address of an end: the one that it would have in a TCP connection.
type Addr netip.AddrPort

// Network returns "shm".
func (a Addr) Network() string { return "shm" }

func (a Addr) String() string { return netip.AddrPort(a).String() }

// AddrPort returns the address, as a net.TCPAddr does.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPort(a) }
