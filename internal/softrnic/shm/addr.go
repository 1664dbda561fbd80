package shm

import "net/netip"

// An Addr is the address that an end would have in a TCP connection.
type Addr netip.AddrPort

// Network returns "shm".
func (a Addr) Network() string { return "shm" }

func (a Addr) String() string { return netip.AddrPort(a).String() }

// AddrPort returns the address, like the method of net.TCPAddr.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPort(a) }
