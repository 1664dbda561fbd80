package extsock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// A Dialer makes connections, as net.Dialer does, that are extended sockets in the Initiator's part.
// The zero value works. Its DialContext is what http.Transport and others take. It must not be copied once used.
type Dialer struct {
	// NetDialer has the settings of the operating system's TCP, which a nil Config.Backend uses. Its Timeout and
	// Deadline bound the whole of a dial, with any Backend: the connecting, TLS, MPA startup, and the second
	// connection of a fallback.
	NetDialer net.Dialer
	// Config says how the connections behave. Nil means the zero Config.
	Config *Config
	// FallbackFor is for how long the Dialer remembers what a peer has said: that it does not speak MPA, or closes
	// instead of answering (StartupPrefer dials the address in plain TCP at once then), or that it knows only
	// revision 1 of MPA. That a peer was late is not remembered, and a connection to the address that enters DDP
	// mode ends the memory. Zero means a minute, negative not at all.
	FallbackFor time.Duration

	known startup.Records
}

// defaultDialer remembers for Dial.
var defaultDialer Dialer

// Dial connects to address, as net.Dial does for "tcp" and "unix". The connection is in TCP mode unless
// Config.Startup says otherwise, and its part in MPA startup is the Initiator's. A nil cfg means the
// zero Config. A Dialer takes a context.
func Dial(network, address string, cfg *Config) (*Conn, error) {
	return defaultDialer.dial(context.Background(), network, address, cfg)
}

// Dial is DialContext without a context.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to address; the connection is a *Conn. Networks are those of Config.Backend. ctx
// bounds the call, not the connection.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.dial(ctx, network, address, d.Config)
	if err != nil {
		return nil, err // and not a nil *Conn in an interface
	}
	return c, nil
}

// DialDDP connects to address and switches the connection into DDP mode, whatever Config.Startup says. It never falls back
// to plain TCP, and tries a peer that the Dialer remembers as one without MPA. The errors are those of the connecting and
// of Conn.EnableDDP. ctx bounds the call, not the connection.
func (d *Dialer) DialDDP(ctx context.Context, network, address string) (*Conn, error) {
	cfg := Config{}
	if d.Config != nil {
		cfg = *d.Config
	}
	cfg.Startup = StartupRequire
	return d.dial(ctx, network, address, &cfg)
}

func (d *Dialer) dial(ctx context.Context, network, address string, cfg *Config) (*Conn, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if deadline := d.NetDialer.Deadline; !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	if timeout := d.NetDialer.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	a := attempt{d: d, cfg: cfg, to: startup.Address{Backend: cfg.Backend, TLS: cfg.TLS != nil, Network: network, Address: address}}
	switch cfg.Startup {
	case StartupOff:
		return a.connect(ctx, cfg)
	case StartupPrefer:
		return a.prefer(ctx)
	}
	c, err := a.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return a.require(ctx, c)
}

// An attempt is one call of dial.
type attempt struct {
	d           *Dialer
	to          startup.Address
	cfg         *Config
	unreachable bool // connect has failed, TLS included
}

// connect makes a connection in TCP mode.
func (a *attempt) connect(ctx context.Context, cfg *Config) (*Conn, error) {
	backend := cfg.Backend
	if backend == nil {
		backend = &kernel.Backend{Dialer: a.d.NetDialer}
	}
	s, err := backend.Dial(ctx, a.to.Network, a.to.Address)
	if err != nil {
		a.unreachable = true
		return nil, err
	}
	if cfg.TLS == nil {
		return newConn(s, true, cfg, nil), nil
	}
	t := tls.Client(s, tlsFor(cfg.TLS, a.to.Address))
	// The peer may say nothing, and ctx may have no end.
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		a.unreachable = true
		s.Close()
		return nil, &net.OpError{Op: "tls", Net: a.to.Network, Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	}
	return NewConn(t, true, cfg), nil
}

// tlsTimeout bounds the TLS handshake of a Dial.
const tlsTimeout = 10 * time.Second

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
func (a *attempt) require(ctx context.Context, c *Conn) (*Conn, error) {
	_, revision1 := a.d.known.Recall(a.to)
	if revision1 && c.cfg.Revision == 0 {
		c.cfg = inRevision1(c.cfg) // nobody else has c yet
	}
	err := c.EnableDDP(ctx, nil)
	if err == nil {
		switch {
		case c.cfg.Revision == a.cfg.Revision:
			a.d.known.Forget(a.to)
		case !revision1: // so it is known only now
			a.d.known.Note(a.to, nil, a.d.fallbackFor())
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
	if cfg := c.cfg; cfg.RetryRevision1 && errors.Is(err, ErrNoReply) && cfg.Revision == 0 && !cfg.PeerToPeer && ctx.Err() == nil {
		again, dialErr := a.connect(ctx, inRevision1(cfg))
		if dialErr != nil {
			return nil, dialErr
		}
		return a.require(ctx, again)
	}
	return nil, c.opError("dial", err)
}

func inRevision1(cfg *Config) *Config {
	older := *cfg
	older.Revision = 1
	return &older
}

// prefer switches where the peer can, and falls back to plain TCP where it can't.
func (a *attempt) prefer(ctx context.Context) (*Conn, error) {
	if before, _ := a.d.known.Recall(a.to); before != nil {
		return a.fallBack(ctx, &fallbackError{Reason: startup.Remembered, Err: before})
	}
	try := *a.cfg
	try.HandshakeTimeout = a.cfg.preferTimeout()
	c, err := a.connect(ctx, &try)
	if err != nil {
		return nil, err
	}
	c, err = a.require(ctx, c)
	if err == nil {
		return c, nil
	}
	why := &fallbackError{Err: err}
	switch {
	case c != nil: // ErrUnread: nothing was sent, so the connection is as good as new
		why.Reason = startup.NotMPA
		c.cfg = a.cfg // nobody else has c yet
		c.fallBack(why)
		a.d.known.Note(a.to, why, a.d.fallbackFor())
		return c, nil
	case a.unreachable || ctx.Err() != nil:
		return nil, err
	case errors.Is(err, ErrNoReply):
		why.Reason = startup.NoReply
	case errors.Is(err, ErrNotMPA), errors.Is(err, mpa.ErrSameRole): // the latter: an echo service gives our Request back
		why.Reason = startup.NotMPA
	case errors.Is(err, context.DeadlineExceeded):
		why.Reason = startup.TimedOut
	default: // a rejection, or MPA that makes no sense: an answer
		return nil, err
	}
	if why.Reason != startup.TimedOut && !isNetworkFault(err) { // the peer has said it, and is not just busy or out of reach
		a.d.known.Note(a.to, why, a.d.fallbackFor())
	}
	return a.fallBack(ctx, why)
}

// isNetworkFault reports whether err is the network's, and nothing that the peer has said.
func isNetworkFault(err error) bool {
	return slices.ContainsFunc(networkFaults, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

var networkFaults = []syscall.Errno{
	syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN,
}

// fallBack connects in plain TCP.
func (a *attempt) fallBack(ctx context.Context, why *fallbackError) (*Conn, error) {
	c, err := a.connect(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	c.fallBack(why)
	return c, nil
}

func (d *Dialer) fallbackFor() time.Duration { return orDefault(d.FallbackFor, time.Minute) }

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
	return netconn.New(c)
}
