package proxy

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
)

const ddpScheme = "rddp://"

// An Address is an address at which a Proxy listens or which it dials.
type Address struct {
	DDP     bool   // DDP mode; otherwise plain
	Network string // "tcp" or "unix"
	Address string // in the form of package net
}

// ParseAddress parses an address that a user types: HOST:PORT for plain TCP, unix:PATH for a unix
// socket, or rddp://HOST[:PORT] for TCP in DDP mode, where the default is cliparse.DefaultPort. An
// empty HOST means every address of this machine, or this machine itself if the Proxy dials it.
func ParseAddress(s string) (Address, error) {
	if path, isUnix, err := cliparse.ParseUnix(s); isUnix {
		return Address{Network: "unix", Address: path}, err
	}
	rest, ddp := strings.CutPrefix(s, ddpScheme)
	port := ""
	if ddp {
		port = cliparse.DefaultPort
	}
	address, err := cliparse.ParseAddress(rest, port)
	if err != nil {
		return Address{}, fmt.Errorf("%w; or write unix:PATH, or rddp://HOST[:PORT] for DDP", err)
	}
	return Address{DDP: ddp, Network: "tcp", Address: address}, nil
}

func (a Address) String() string {
	switch {
	case a.DDP:
		return ddpScheme + a.Address
	case a.Network == "unix":
		return cliparse.FormatUnix(a.Address)
	}
	return a.Address
}
