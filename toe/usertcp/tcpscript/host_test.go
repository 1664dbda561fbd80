package tcpscript

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/usertcp"
)

// The addresses of the TCP under test and of the script, and the ports.
var (
	hostAddrs   = [2]netip.Addr{netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("fd09::1")}
	scriptAddrs = [2]netip.Addr{netip.MustParseAddr("10.9.0.2"), netip.MustParseAddr("fd09::2")}
	hostNets    = []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd09::1/64")}
)

const (
	hostPort   = 7174
	scriptPort = 40000
	linkMTU    = 1500
)

// settings are the settings of the TCP under test for a case.
type settings struct {
	userTimeout time.Duration // 0 means the default
}

// A packetLink is the script's end of a link.
type packetLink interface {
	Read(p []byte) (n int, err error)
	Write(p []byte) (n int, err error)
	Close() error
}

// A host is a TCP under test.
type host struct {
	name    string // as in a script
	backend toe.Backend
	link    packetLink
	close   func() // closes everything
}

// A maker makes a host that shares nothing with other hosts.
type maker struct {
	name string
	make func(settings) (*host, error)
}

// A wire is a host and the packets that it has sent.
type wire struct {
	*host
	sent   chan []byte
	reader sync.WaitGroup
}

// newWire starts to read the packets that the host sends.
func newWire(m maker, set settings) (*wire, error) {
	h, err := m.make(set)
	if err != nil {
		return nil, err
	}
	w := &wire{host: h, sent: make(chan []byte, 1<<14)}
	w.reader.Go(func() {
		p := make([]byte, usertcp.MaxMTU)
		for {
			n, err := h.link.Read(p)
			if err != nil {
				return
			}
			select {
			case w.sent <- append([]byte(nil), p[:n]...):
			default: // as on a slow link
			}
		}
	})
	return w, nil
}

// stop closes the host and its link.
func (w *wire) stop() {
	w.close()
	w.link.Close()
	w.reader.Wait()
}

// userTCP makes a usertcp.Stack.
var userTCP = maker{"user", func(set settings) (*host, error) {
	ours, its := usertcp.Pipe(linkMTU)
	s, err := usertcp.New(its, usertcp.Config{Addresses: hostNets, KeepAlive: -1, UserTimeout: set.userTimeout})
	if err != nil {
		return nil, err
	}
	return &host{"user", s, ours, func() { s.Close() }}, nil
}}

// listen listens on the host.
func (h *host) listen(address netip.AddrPort) (toe.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return h.backend.Listen(ctx, "tcp", address.String())
}
