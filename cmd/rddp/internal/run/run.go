package run

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/run/rules"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// A Config says what Run runs.
type Config struct {
	// Args are the program and its arguments.
	Args []string
	// Addresses are the addresses of this host at which peers reach the device, in the order of its
	// GIDs. If empty, DefaultAddresses is used.
	Addresses []netip.Addr
	// IWARP makes the device an RNIC, which speaks plain iWARP. Otherwise it is an InfiniBand
	// channel adapter, which speaks with the devices of other programs under Run.
	IWARP bool
	// Log receives a record when the program opens the device, and when its connections begin and
	// end. If nil, nothing is logged.
	Log *slog.Logger
	// TCP chooses, by the peer's address, the program's outgoing TCP connections that go over DDP
	// if the peer speaks it.
	TCP []rules.Rule
	// TCPTimeout bounds how long connect waits for such a peer to show that it speaks DDP. Zero
	// means DefaultTCPTimeout.
	TCPTimeout time.Duration
	// TCPListen chooses, by their local address, the program's listeners that serve DDP in addition
	// to plain TCP.
	TCPListen []rules.Rule
	// ClientTLS and ServerTLS, if not nil, put TLS below the DDP connections that the program makes
	// and accepts, respectively. Connections in plain TCP are then refused unless PlainToo is set.
	ClientTLS func() *tls.Config
	ServerTLS *tls.Config
	// PlainToo allows connections in plain TCP with peers that do not speak DDP, even with TLS
	// configured.
	PlainToo bool
	// Insecure allows DDP without TLS on listeners that other hosts can reach.
	Insecure bool
	// TCPCounts, if not nil, counts the connections that TCP and TCPListen have chosen.
	TCPCounts *TCPCounts
	// Faults are the failures to inject.
	Faults fault.Plan
	// Check makes Run report the program's mistakes to Log. Suppress names those that it does not
	// report. If there are others, and the program's own status is 0, the status is CheckStatus.
	Check       bool
	Suppress    []check.Suppression
	CheckStatus int
	// Trace is the file for a timeline of what the program and the device do; "-" means text on
	// standard error. If empty, there is none.
	Trace string
	// Capture is the file for what the devices say to each other. If empty, there is none.
	Capture string

	sniffFor time.Duration // how long a peer has to begin; zero means the default, and only tests set it
}

// TCPCounts counts the TCP connections that a rule has chosen, by outcome.
type TCPCounts struct {
	DDP       atomic.Uint64 // went over DDP
	Plain     atomic.Uint64 // the peer does not speak DDP
	Untouched atomic.Uint64 // could not be taken over
}

// DefaultTCPTimeout is the default of Config.TCPTimeout.
const DefaultTCPTimeout = 2 * time.Second

// ErrUnsupported means that this system does not support rddp run.
var ErrUnsupported = errors.New("needs Linux on amd64 or arm64")

// A StartError means that the program could not be started.
type StartError struct {
	// Status is the exit status that a shell would return: 127 if there is no such program, and
	// otherwise 126.
	Status int
	Err    error
}

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// DefaultAddresses returns the addresses of this host's interfaces, those of IPv4 first. It leaves
// out the link-local ones, and loopback if there are others: no adapter has such a GID, and
// programs that take the last one would not reach another host.
func DefaultAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	if chosen := defaultsOf(all); len(chosen) > 0 {
		return chosen, nil
	}
	return nil, errors.New("no interface has an address")
}

func defaultsOf(all []net.Addr) []netip.Addr {
	var four, six, loopback []netip.Addr
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, _ := netip.AddrFromSlice(n.IP)
		switch ip = ip.Unmap(); {
		case !ip.IsValid() || ip.IsLinkLocalUnicast():
		case ip.IsLoopback():
			loopback = append(loopback, ip)
		case ip.Is4():
			four = append(four, ip)
		default:
			six = append(six, ip)
		}
	}
	if outside := append(four, six...); len(outside) > 0 {
		return outside
	}
	return loopback
}

// CheckAddress returns an error if a cannot be an address of a device on this host.
func CheckAddress(a netip.Addr) error {
	switch {
	case a.Is6() && a.IsLinkLocalUnicast():
		return fmt.Errorf("%v is link-local: a GID has no interface, so peers could not be told apart", a)
	case a.IsUnspecified() || a.IsMulticast():
		return fmt.Errorf("%v is not the address of a host", a)
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
	if err != nil {
		return fmt.Errorf("%v is not an address of this host: %w", a, err)
	}
	return c.Close()
}

// DeviceName is the name of the device. The provider of rxe accepts every device whose name begins
// with "rxe".
const DeviceName = "rxe_rddp0"
