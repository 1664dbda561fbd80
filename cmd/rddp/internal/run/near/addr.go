package near

import "net/netip"

// An Addr is the address of an end: the one that it would have in a TCP connection.
type Addr netip.AddrPort

// Network returns "near".
func (a Addr) Network() string { return "near" }

func (a Addr) String() string { return netip.AddrPort(a).String() }

// AddrPort returns the address, as a net.TCPAddr does.
func (a Addr) AddrPort() netip.AddrPort { return netip.AddrPort(a) }
