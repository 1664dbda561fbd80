// Package accept is the accept loop of a server that limits its number of connections.
//
// A limit alone lets silent peers keep everybody out: as many of them as the limit allows take all
// places and say nothing. So a [Loop] counts a connection only when its Serve function says so, and
// a peer that has not been heard yet can lose its place to a newcomer. An honest peer speaks within
// a round trip, so the connection that has been silent longest is the least likely to be an honest
// peer's. A connection goes through these states:
//
//	accepted ──Enter──► quiet ──Heard──► heard
//	                      └─ a newcomer finds no room ─► displaced
//
// The connection that is displaced belongs to the source that has most quiet connections. So a flood from
// one source takes the place of its own connections, and an honest peer elsewhere keeps its place.
// A source is an IPv4 address, or the 64 bits of an IPv6 address that name a network, within which
// one host can have any address. Peers of one source compete with each other: those behind one proxy,
// for example. Connections whose peer has been heard are never displaced.
//
// The Loop does not limit connections that have only been accepted. A server with MPA startup calls
// Enter when it has the peer's MPA Request; until then extsock.Config.MaxHalfOpen limits them.
package accept

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// A Loop accepts connections and serves each one in a goroutine. C is the type of a connection.
type Loop[C any] struct {
	// Accept waits for the next connection, as net.Listener's Accept does.
	Accept func() (C, error)
	// Serve serves a connection to its end and closes it. The Loop calls Serve in a goroutine of
	// its own for each connection. ctx is derived from Context; it is done when the connection is
	// displaced, and its cause is then ErrDisplaced. Unless EnterAtOnce is set, the connection
	// counts toward no limit until Serve calls Enter of its Place.
	Serve func(ctx context.Context, c C, p *Place)
	// Context is the parent of the connections' contexts.
	Context context.Context //nolint:containedctx // lives as long as the call of Run
	// Most is the maximum number of connections whose peer has been heard.
	Most int
	// MostQuiet is the maximum number of connections that have entered and whose peer has not been
	// heard. Zero means that Most is the maximum of quiet and heard connections together.
	MostQuiet int
	// EnterAtOnce makes Run call Enter for each connection in the order in which they are accepted.
	// It is for servers whose peers need not do anything before they are served.
	EnterAtOnce bool
	// From returns where a connection comes from; see Source. Nil means that all come from one source.
	From func(C) netip.Prefix
	// Refuse closes a connection that is not served: because there is no room for it with
	// EnterAtOnce, or because the Loop is ending. In the second case ending is true.
	Refuse func(c C, ending bool)
	// Go runs a function in a goroutine, as sync.WaitGroup.Go does.
	Go func(func())
	// Log gets an event for each failure of Accept.
	Log *slog.Logger
}

// From returns a Loop's Accept for l, whose connections are all of type C.
func From[C net.Conn](l net.Listener) func() (C, error) {
	return func() (c C, err error) {
		nc, err := l.Accept()
		if err != nil {
			return c, err
		}
		return nc.(C), nil
	}
}

// Source is a Loop's From: the source of the peer's address.
func Source[C net.Conn](c C) netip.Prefix { return SourceOf(c.RemoteAddr()) }

// SourceOf returns the IPv4 address, or the /64 of the IPv6 address. Peers without an IP address,
// such as those at a unix socket, are one source, the zero Prefix.
func SourceOf(address net.Addr) netip.Prefix {
	a, isTCP := address.(*net.TCPAddr)
	if !isTCP {
		return netip.Prefix{}
	}
	ip := a.AddrPort().Addr().Unmap().WithZone("")
	bits := networkBits
	if ip.Is4() {
		bits = ip.BitLen()
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// networkBits are the bits of an IPv6 address that name the network.
const networkBits = 64

// PauseTime is how long a server waits after a failure of Accept. Most such failures pass, for
// instance when there are too many open files.
const PauseTime = 100 * time.Millisecond

// Run accepts connections until ctx is done, and then returns nil, or until the listener is closed,
// and then returns net.ErrClosed. Run does not interrupt Accept when ctx is done; the caller must
// close the listener. Run does not wait for the connections to end.
func (l *Loop[C]) Run(ctx context.Context) error {
	all := &places{most: l.Most, mostQuiet: l.MostQuiet}
	accepted := uint64(0)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				l.Refuse(c, true)
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			l.Log.Warn("accept", "err", err)
			if !Pause(ctx, PauseTime) {
				return nil
			}
			continue
		}
		accepted++
		p := &Place{all: all, number: accepted}
		if l.From != nil {
			p.prefix = l.From(c)
		}
		conn, displace := context.WithCancelCause(l.Context)
		p.displace = displace
		if l.EnterAtOnce && !p.Enter() {
			displace(nil)
			l.Refuse(c, false)
			continue
		}
		l.Go(func() {
			defer displace(nil)
			defer p.leave()
			l.Serve(conn, c, p)
		})
	}
}

// Pause waits for d and reports whether ctx is still not done.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
