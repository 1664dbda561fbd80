package extsock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A Dialer makes connections, as net.Dialer does, that are extended sockets in the Initiator's part.
// The zero value works. Its DialContext is what http.Transport and others take. It must not be copied once used.
type Dialer struct {
	// Dialer has the settings of the operating system's TCP; they are used where Config.Backend is
	// nil. Timeout and Deadline bound the whole of a dial with any Backend: the connecting, TLS, MPA
	// startup, and the fallback's second connection.
	net.Dialer
	// Config says how the connections behave. Nil means the zero Config.
	Config *Config
	// FallbackFor is for how long the Dialer remembers what a peer has said: that it does not speak MPA, or closes
	// instead of answering (StartupPrefer dials the address in plain TCP at once then), or that it knows only
	// revision 1 of MPA. That a peer was late is not remembered, and a connection to the address that enters DDP
	// mode ends the memory. Zero means a minute, negative not at all.
	FallbackFor time.Duration

	known memory
}

// defaultDialer remembers for Dial and DialContext.
var defaultDialer Dialer

// Dial connects to address, as net.Dial does for "tcp" and "unix". The connection is in TCP mode unless
// Config.Startup says otherwise, and its part in MPA startup is the Initiator's. A nil cfg means the
// zero Config. Use a Dialer for more.
func Dial(network, address string, cfg *Config) (*Conn, error) {
	return DialContext(context.Background(), network, address, cfg)
}

// DialContext is Dial with a context, which bounds the connecting and what Config.Startup asks for, but
// not the life of the connection.
func DialContext(ctx context.Context, network, address string, cfg *Config) (*Conn, error) {
	return defaultDialer.dial(ctx, network, address, cfg)
}

// Dial is DialContext without a context.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to address; the connection is a *Conn. Networks are those of Config.Backend. ctx
// bounds the call, not the connection.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.DialDDP(ctx, network, address)
	if err != nil {
		return nil, err // and not a nil *Conn in an interface
	}
	return c, nil
}

// DialDDP is DialContext with the type it really returns.
func (d *Dialer) DialDDP(ctx context.Context, network, address string) (*Conn, error) {
	return d.dial(ctx, network, address, d.Config)
}

func (d *Dialer) dial(ctx context.Context, network, address string, cfg *Config) (*Conn, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if !d.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, d.Deadline)
		defer cancel()
	}
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	a := attempt{d: d, ctx: ctx, cfg: cfg, place: place{cfg.Backend, cfg.TLS != nil, network, address}}
	switch cfg.Startup {
	case StartupOff:
		return a.connect(cfg)
	case StartupPrefer:
		return a.prefer()
	}
	c, err := a.connect(cfg)
	if err != nil {
		return nil, err
	}
	return a.require(c)
}

// An attempt is one call of dial.
type attempt struct {
	d   *Dialer
	ctx context.Context
	place
	cfg         *Config
	unreachable bool // connect has failed, TLS included
}

// connect makes a connection in TCP mode.
func (a *attempt) connect(cfg *Config) (*Conn, error) {
	backend := cfg.Backend
	if backend == nil {
		backend = &kernel.Backend{Dialer: a.d.Dialer}
	}
	s, err := backend.Dial(a.ctx, a.network, a.address)
	if err != nil {
		a.unreachable = true
		return nil, err
	}
	if cfg.TLS == nil {
		return newConn(s, true, cfg), nil
	}
	t := tls.Client(s, tlsFor(cfg.TLS, a.address))
	ctx, cancel := context.WithTimeout(a.ctx, toe.HandshakeTimeout) // the peer may say nothing, and a.ctx be without end
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		a.unreachable = true
		s.Close()
		return nil, &net.OpError{Op: "tls", Net: a.network, Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	}
	return NewConn(t, true, cfg), nil
}

// tlsFor returns the client's configuration for address.
func tlsFor(cfg *tls.Config, address string) *tls.Config {
	if cfg.ServerName != "" || cfg.InsecureSkipVerify {
		return cfg
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	cfg = cfg.Clone()
	cfg.ServerName = host
	return cfg
}

// require switches c, or a second connection, where Config.RetryRevision1 allows one. If it returns an error, c is
// closed, unless the error is ErrUnread.
func (a *attempt) require(c *Conn) (*Conn, error) {
	_, revision1 := a.d.known.recall(a.place)
	if revision1 && c.cfg.Revision == 0 {
		c.cfg = inRevision1(c.cfg) // nobody else has c yet
	}
	err := c.EnableDDP(a.ctx, nil)
	if err == nil {
		switch {
		case c.cfg.Revision == a.cfg.Revision:
			a.d.known.forget(a.place)
		case !revision1: // so it is known only now
			a.d.known.note(a.place, nil, a.d.fallbackFor())
		}
		return c, nil
	}
	if errors.Is(err, ErrUnread) && a.cfg.Startup == StartupPrefer {
		return c, err
	}
	c.Close()
	if errors.Is(err, ErrUnread) { // of a new connection: the peer speaks first, so it is no Responder
		return nil, c.opError("dial", fmt.Errorf("%w: %w", ErrNotMPA, err))
	}
	// A Responder of RFC 5044's time closes at a revision it does not know; RFC 6581 §10 allows to try
	// again without the enhancements, on a new connection.
	if cfg := c.cfg; cfg.RetryRevision1 && errors.Is(err, ErrNoReply) && cfg.Revision == 0 && !cfg.PeerToPeer && a.ctx.Err() == nil {
		again, dialErr := a.connect(inRevision1(cfg))
		if dialErr != nil {
			return nil, dialErr
		}
		return a.require(again)
	}
	return nil, c.opError("dial", err)
}

func inRevision1(cfg *Config) *Config {
	older := *cfg
	older.Revision = 1
	return &older
}

// prefer switches where the peer can, and falls back to plain TCP where it can't.
func (a *attempt) prefer() (*Conn, error) {
	if before, _ := a.d.known.recall(a.place); before != nil {
		return a.fallBack(&fallbackError{Reason: fallbackRemembered, Err: before})
	}
	try := *a.cfg
	try.HandshakeTimeout = a.cfg.preferTimeout()
	c, err := a.connect(&try)
	if err != nil {
		return nil, err
	}
	c, err = a.require(c)
	if err == nil {
		return c, nil
	}
	why := &fallbackError{Err: err}
	switch {
	case c != nil: // ErrUnread: nothing was sent, so the connection is as good as new
		why.Reason = fallbackNotMPA
		c.cfg = a.cfg // nobody else has c yet
		c.fallBack(why)
		a.d.known.note(a.place, why, a.d.fallbackFor())
		return c, nil
	case a.unreachable || a.ctx.Err() != nil:
		return nil, err
	case errors.Is(err, ErrNoReply):
		why.Reason = fallbackNoReply
	case errors.Is(err, ErrNotMPA), errors.Is(err, mpa.ErrSameRole): // the latter: an echo service gives our Request back
		why.Reason = fallbackNotMPA
	case errors.Is(err, context.DeadlineExceeded):
		why.Reason = fallbackTimedOut
	default: // a rejection, or MPA that makes no sense: an answer
		return nil, err
	}
	if why.Reason != fallbackTimedOut && !isNetworkFault(err) { // the peer has said it, and is not just busy or out of reach
		a.d.known.note(a.place, why, a.d.fallbackFor())
	}
	return a.fallBack(why)
}

// isNetworkFault reports whether err is the network's, and nothing that the peer has said.
func isNetworkFault(err error) bool {
	return slices.ContainsFunc(networkFaults, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

var networkFaults = []syscall.Errno{
	syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN,
}

// fallBack connects in plain TCP.
func (a *attempt) fallBack(why *fallbackError) (*Conn, error) {
	c, err := a.connect(a.cfg)
	if err != nil {
		return nil, err
	}
	c.fallBack(why)
	return c, nil
}

func (c *Conn) fallBack(why *fallbackError) {
	c.mu.Lock()
	c.fallBackLocked(why)
	c.mu.Unlock()
	c.traceFallback(why)
}

func (d *Dialer) fallbackFor() time.Duration { return orDefault(d.FallbackFor, time.Minute) }

// A place is what was dialled.
type place struct {
	backend          toe.Backend
	tls              bool
	network, address string
}

// maxRemembered bounds a memory.
const maxRemembered = 1024

// A memory holds what the peers at places have said, for a while. The zero value is empty.
type memory struct {
	mu     sync.Mutex
	places map[place]remembered // +checklocks:mu; at most maxRemembered
}

type remembered struct {
	until time.Time
	why   *fallbackError // why the place is dialled in plain TCP; nil: it knows only revision 1 of MPA
}

// recall returns why p is to be dialled in plain TCP, if it is, and whether it knows only revision 1 of MPA.
func (m *memory) recall(p place) (why *fallbackError, revision1 bool) {
	p = p.key()
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.places[p]
	if ok && passed(r.until) {
		delete(m.places, p)
		return nil, false
	}
	return r.why, ok && r.why == nil
}

// forget drops what is remembered of p.
func (m *memory) forget(p place) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, p.key())
}

// note remembers p. Where there are too many, the one that has least time left goes.
func (m *memory) note(p place, why *fallbackError, d time.Duration) {
	if d < 0 {
		return
	}
	p = p.key()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.places == nil {
		m.places = make(map[place]remembered)
	}
	if _, ok := m.places[p]; !ok && len(m.places) >= maxRemembered {
		var first place
		var until time.Time
		for q, r := range m.places {
			if until.IsZero() || r.until.Before(until) {
				first, until = q, r.until
			}
		}
		delete(m.places, first)
	}
	m.places[p] = remembered{until: time.Now().Add(d), why: why}
}

// key returns p as the key of a map.
func (p place) key() place {
	if p.backend != nil && !reflect.ValueOf(p.backend).Comparable() {
		p.backend = nil
	}
	return p
}

// streamOf makes a Stream of a net.Conn.
func streamOf(c net.Conn) toe.Stream {
	switch c := c.(type) {
	case toe.Stream:
		return c
	case *net.TCPConn:
		return kernel.New(c)
	case *net.UnixConn:
		return kernel.NewUnix(c)
	}
	return toe.Wrap(c)
}
