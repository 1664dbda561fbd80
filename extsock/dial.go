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

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/netconn"
)

// A Dialer connects to addresses, as net.Dialer does. Its connections are extended sockets, and
// each is the Initiator in MPA startup. The zero value is ready to use. The method DialContext fits
// http.Transport and others. A Dialer must not be copied after its first use. Its methods may be
// called from any goroutine.
type Dialer struct {
	// NetDialer has the settings of the operating system's TCP, which is used if Config.Backend is
	// nil. Its Timeout and Deadline bound the whole dial, with any Backend: connecting, TLS, MPA
	// startup, and the second connection of a fallback.
	NetDialer net.Dialer
	// Config says how the connections behave. Nil means the zero Config.
	Config *Config
	// FallbackFor is how long the Dialer remembers what it learned about a peer:
	//
	//   - The peer does not speak MPA, or closes the connection instead of answering. With
	//     StartupPrefer the Dialer then connects to that address in plain TCP at once.
	//   - The peer knows only revision 1 of MPA. The Dialer then begins in revision 1.
	//   - The peer refuses Markers that the program has not asked for. The Dialer then does not ask
	//     for them either, which saves a second connection for each dial.
	//
	// The Dialer does not remember that a peer was late. It forgets what a connection that enters
	// DDP mode disproves. It remembers at most 1024 addresses. Zero means one minute. A negative
	// value means that the Dialer remembers nothing.
	FallbackFor time.Duration

	known startup.Records
}

// defaultDialer holds what Dial remembers.
var defaultDialer Dialer

// Dial connects to address, as net.Dial does for the networks "tcp" and "unix". The connection is
// in TCP mode unless Config.Startup says otherwise, and it is the Initiator in MPA startup. A nil
// cfg means the zero Config. A Dialer has more settings, and takes a context.
func Dial(network, address string, cfg *Config) (*Conn, error) {
	return defaultDialer.dial(context.Background(), network, address, cfg)
}

// DialContext connects to address. The connection is a *Conn. The networks are those of
// Config.Backend: "tcp", "tcp4", "tcp6" and "unix" for the operating system's TCP. ctx bounds the
// call, but not the life of the connection.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.dial(ctx, network, address, d.Config)
	if err != nil {
		return nil, err // and not a nil *Conn in an interface
	}
	return c, nil
}

// DialDDP connects to address and switches the connection into DDP mode, whatever Config.Startup
// says. It never falls back to plain TCP, and it tries DDP mode even if the Dialer remembers that
// the peer does not speak MPA. DialDDP returns the errors of connecting and of Conn.EnableDDP. ctx
// bounds the call, but not the life of the connection.
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
	c, err := a.onDevice(ctx)
	if c != nil || err != nil {
		return c, err
	}
	switch cfg.Startup {
	case StartupOff:
		return a.connect(ctx, cfg)
	case StartupPrefer:
		return a.prefer(ctx)
	}
	if c, err = a.connect(ctx, cfg); err != nil {
		return nil, err
	}
	return a.require(ctx, c)
}

// An attempt is one call of dial.
type attempt struct {
	d           *Dialer
	to          startup.Address
	cfg         *Config
	unreachable bool  // connect failed, perhaps in the TLS handshake
	noMarkers   bool  // the peer has refused the Markers that Dial has asked for
	refusedIn   int   // Config.Revision of that Request
	noDevice    error // why the connection does not run on the device of Config.Backend
}

// connect returns a new connection in TCP mode.
func (a *attempt) connect(ctx context.Context, cfg *Config) (*Conn, error) {
	c, err := a.connectBelow(ctx, cfg)
	if err == nil {
		c.withoutDevice(a.noDevice)
	}
	return c, err
}

func (a *attempt) connectBelow(ctx context.Context, cfg *Config) (*Conn, error) {
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
	t := tls.Client(netconn.ForTLS(s), tlsFor(cfg.TLS, a.to.Address))
	// The peer may send nothing, and ctx may have no deadline.
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := tlshandshake.Client(ctx, t); err != nil {
		a.unreachable = true
		s.Close()
		return nil, &net.OpError{Op: "tls", Net: a.to.Network, Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
	}
	return NewConn(t, true, cfg), nil
}

// tlsTimeout bounds the TLS handshake of Dial.
const tlsTimeout = 10 * time.Second

// tlsFor returns the TLS configuration of a client that connects to address.
func tlsFor(cfg *tls.Config, address string) *tls.Config {
	if cfg.ServerName != "" || cfg.InsecureSkipVerify {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.ServerName = tlshandshake.NameAt(address)
	return cfg
}

// require switches c into DDP mode, or a second connection if the peer rejects Markers that the
// program has not asked for, or closes the connection instead, or if Config.RetryRevision1 allows
// one. If it returns an error, c is closed, unless the error is ErrUnread with StartupPrefer: then
// it returns c too.
func (a *attempt) require(ctx context.Context, c *Conn) (*Conn, error) {
	known := a.d.known.Recall(a.to)
	if known.Revision1 && c.cfg.Revision == 0 {
		c.cfg = inRevision1(c.cfg) // no other goroutine has c yet
	}
	unmarked, asks := c.cfg, !a.noMarkers && !known.NoMarkers && !c.cfg.Markers && c.placesEarly()
	if asks {
		c.cfg = withMarkers(c.cfg)
	}
	err := c.EnableDDP(ctx, nil)
	if err == nil {
		a.agreed(c.cfg, known)
		return c, nil
	}
	if errors.Is(err, startup.ErrUnread) && a.cfg.Startup == StartupPrefer {
		return c, err
	}
	c.Close()
	if errors.Is(err, startup.ErrUnread) { // the peer spoke first, so it is not a Responder
		return nil, c.opError("dial", fmt.Errorf("%w: %w", ErrNotMPA, err))
	}
	if asks && (errors.Is(err, errMarkersRefused) || errors.Is(err, ErrNoReply)) && ctx.Err() == nil {
		a.noMarkers, a.refusedIn = true, unmarked.Revision
		return a.again(ctx, unmarked)
	}
	// A Responder that knows only RFC 5044 closes the connection when it gets a newer revision. RFC
	// 6581 §10 allows the Initiator to try again without the enhancements, on a new connection.
	if cfg := c.cfg; cfg.RetryRevision1 && errors.Is(err, ErrNoReply) && cfg.Revision == 0 && !cfg.PeerToPeer && ctx.Err() == nil {
		return a.again(ctx, inRevision1(cfg))
	}
	return nil, c.opError("dial", err)
}

// agreed remembers what a connection in DDP mode shows of the peer, and forgets what it disproves.
// cfg is the connection's Config. A refusal of Markers counts only if the peer then agreed in the
// same revision: otherwise it may have refused the revision.
func (a *attempt) agreed(cfg *Config, known startup.Record) {
	learned := startup.Record{
		Revision1: cfg.Revision != a.cfg.Revision,
		NoMarkers: !cfg.Markers && (known.NoMarkers || a.noMarkers && a.refusedIn == cfg.Revision),
	}
	switch {
	case !learned.Revision1 && !learned.NoMarkers:
		a.d.known.Forget(a.to)
	case known.Plain != nil || learned.Revision1 != known.Revision1 || learned.NoMarkers != known.NoMarkers:
		a.d.known.Note(a.to, learned, a.d.fallbackFor())
	}
}

// again is require on a new connection.
func (a *attempt) again(ctx context.Context, cfg *Config) (*Conn, error) {
	c, err := a.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return a.require(ctx, c)
}

func withMarkers(cfg *Config) *Config {
	marked := *cfg
	marked.Markers = true
	return &marked
}

func inRevision1(cfg *Config) *Config {
	older := *cfg
	older.Revision = 1
	return &older
}

// prefer switches the connection into DDP mode if the peer can, and otherwise falls back to plain
// TCP.
func (a *attempt) prefer(ctx context.Context) (*Conn, error) {
	if known := a.d.known.Recall(a.to); known.Plain != nil {
		return a.fallBack(ctx, &fallbackError{Reason: startup.Remembered, Err: known.Plain})
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
	case c != nil: // startup.ErrUnread: nothing was sent, so c can be used as plain TCP
		why.Reason = startup.NotMPA
		c.cfg = a.cfg // no other goroutine has c yet
		c.fallBack(why)
		a.d.known.Note(a.to, startup.Record{Plain: why}, a.d.fallbackFor())
		return c, nil
	case a.unreachable || ctx.Err() != nil:
		return nil, err
	case errors.Is(err, ErrNoReply):
		why.Reason = startup.NoReply
	case errors.Is(err, ErrNotMPA), errors.Is(err, mpa.ErrSameRole): // an echo service
		why.Reason = startup.NotMPA
	case errors.Is(err, context.DeadlineExceeded):
		why.Reason = startup.TimedOut
	default: // a rejection, or a broken MPA frame: the peer speaks MPA
		return nil, err
	}
	if why.Reason != startup.TimedOut && !isNetworkFault(err) { // a property of the peer
		a.d.known.Note(a.to, startup.Record{Plain: why}, a.d.fallbackFor())
	}
	return a.fallBack(ctx, why)
}

// isNetworkFault reports whether err says that the network failed, and so says nothing about the
// peer.
func isNetworkFault(err error) bool {
	return slices.ContainsFunc(networkFaults, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

var networkFaults = []syscall.Errno{
	syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN,
}

// fallBack returns a second connection, in plain TCP.
func (a *attempt) fallBack(ctx context.Context, why *fallbackError) (*Conn, error) {
	c, err := a.connect(ctx, a.cfg)
	if err != nil {
		return nil, err
	}
	c.fallBack(why)
	return c, nil
}

func (d *Dialer) fallbackFor() time.Duration { return orDefault(d.FallbackFor, time.Minute) }

// belowTLS returns the net.Conn to make a *tls.Conn of, for TLS over c. TLS over a Stream needs no
// second goroutine, but a Stream over any other net.Conn would need one itself.
func belowTLS(c net.Conn) net.Conn {
	switch c.(type) {
	case toe.Stream, *net.TCPConn, *net.UnixConn:
		return netconn.ForTLS(conn.StreamOf(c))
	}
	return c
}
