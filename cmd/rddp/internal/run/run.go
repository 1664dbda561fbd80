package run

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/run/fault"
	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
)

// A Config says what Run runs.
type Config struct {
	// Args are the program and its arguments.
	Args []string
	// Addresses are the addresses of this host at which peers find the device, in the order of its
	// GIDs. None means those of the interfaces that are up: see DefaultAddresses.
	Addresses []netip.Addr
	// IWARP says that the device is an RNIC, which speaks plain iWARP. Otherwise it is a channel
	// adapter, as of InfiniBand, and speaks with the devices of other programs under Run.
	IWARP bool
	// Log receives what the program opens, and the beginning and the end of its connections. Nil
	// means nothing.
	Log *slog.Logger
	// TCP chooses, by the peer's address, the TCP connections of the program that go over DDP if
	// the peer speaks it.
	TCP []rules.Rule
	// TCPTimeout is how long the program waits in connect for such a peer to show that it speaks
	// DDP. Zero means DefaultTCPTimeout.
	TCPTimeout time.Duration
	// TCPListen chooses, by their own address, the listeners of the program that serve DDP beside
	// plain TCP.
	TCPListen []rules.Rule
	// ClientTLS and ServerTLS, if not nil, put TLS below the connections over DDP that the program
	// makes, and those that it accepts. There is then no connection in plain TCP unless PlainToo
	// says so.
	ClientTLS func() *tls.Config
	ServerTLS *tls.Config
	// PlainToo allows, with TLS, connections in plain TCP with peers that do not speak DDP.
	PlainToo bool
	// Insecure lets listeners that other hosts can connect to serve DDP without TLS.
	Insecure bool
	// TCPCounts counts the connections that TCP and TCPListen have chosen. Nil means that nobody
	// wants to know.
	TCPCounts *TCPCounts
	// Faults are made on purpose.
	Faults fault.Plan

	sniffFor time.Duration // how long a peer has to begin; zero means the usual time, and only a test has more
}

// TCPCounts counts the TCP connections of a program that a rule has chosen, by what became of them.
type TCPCounts struct {
	DDP       atomic.Uint64 // they go over DDP
	Plain     atomic.Uint64 // the peer does not speak DDP
	Untouched atomic.Uint64 // they cannot be taken over
}

// DefaultTCPTimeout is the default of Config.TCPTimeout.
const DefaultTCPTimeout = 2 * time.Second

// ErrUnsupported means that rddp run does not work on this system.
var ErrUnsupported = errors.New("needs Linux on amd64 or arm64")

// A StartError means that the program could not be started.
type StartError struct {
	// Status is the exit status that a shell has then: 127 if there is no such program, and
	// otherwise 126.
	Status int
	Err    error
}

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// DefaultAddresses returns the IPv4 addresses of the interfaces that are up, those of loopback
// last.
func DefaultAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var outside, loopback []netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, _ := netip.AddrFromSlice(n.IP)
		switch ip = ip.Unmap(); {
		case !ip.Is4() || ip.IsLinkLocalUnicast():
		case ip.IsLoopback():
			loopback = append(loopback, ip)
		default:
			outside = append(outside, ip)
		}
	}
	if all := append(outside, loopback...); len(all) > 0 {
		return all, nil
	}
	return nil, errors.New("no interface has an IPv4 address")
}

// DeviceName is the name of the device. The provider of rxe takes every device whose name begins
// so.
const DeviceName = "rxe_rddp0"
