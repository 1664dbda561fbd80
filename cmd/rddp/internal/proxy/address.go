package proxy

import (
	"fmt"
	"net"
	"strings"
)

// DefaultPort is the TCP port of a DDP address without one.
const DefaultPort = "7174"

const (
	ddpScheme  = "rddp://"
	unixScheme = "unix:"
)

// An Address is an address at which a Proxy listens or which it dials.
type Address struct {
	DDP     bool   // DDP mode; otherwise plain
	Network string // "tcp" or "unix"
	Address string // as package net has it
}

// ParseAddress parses an address that a user types: HOST:PORT for plain TCP, unix:PATH for a unix
// socket, or rddp://HOST[:PORT] for TCP in DDP mode. An empty HOST means every address of this
// machine, or this machine itself if the Proxy dials it.
func ParseAddress(s string) (Address, error) {
	if path, ok := strings.CutPrefix(s, unixScheme); ok {
		if path == "" {
			return Address{}, fmt.Errorf("%q has no path: write unix:PATH", s)
		}
		return Address{Network: "unix", Address: path}, nil
	}
	address, ddp := strings.CutPrefix(s, ddpScheme)
	if ddp {
		address = withPort(address)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" || strings.Contains(address, "/") {
		return Address{}, fmt.Errorf("%q is not an address: write HOST:PORT or unix:PATH, or rddp://HOST[:PORT] for DDP", s)
	}
	return Address{DDP: ddp, Network: "tcp", Address: address}, nil
}

// withPort adds DefaultPort to an address that has none.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address + ":" + DefaultPort); err == nil {
		return address + ":" + DefaultPort
	}
	return address
}

func (a Address) String() string {
	switch {
	case a.DDP:
		return ddpScheme + a.Address
	case a.Network == "unix":
		return unixScheme + a.Address
	}
	return a.Address
}
