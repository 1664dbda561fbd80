package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/tlshandshake"
)

// DefaultMaxConns is the default of ServerConfig.MaxConns.
const DefaultMaxConns = 64

// maxQuiet is the maximum number of connections that have sent their MPA Request, but no request of
// this protocol. If there are more, the oldest connection of the address with the most of them is
// closed. A quiet connection needs about 60 KiB, so all of them need about 60 MiB.
const maxQuiet = 1024

// A ServerConfig configures a Server. The zero value works, and nil means the zero value. A
// ServerConfig must not change while the Server uses it.
type ServerConfig struct {
	// Writable lets clients put files and make directories.
	Writable bool
	// MaxConns is the maximum number of connections on which the client has sent a request. Each of
	// them needs up to 17 MiB of memory. The requests of further clients are answered with
	// ErrTooManyClients until another connection has ended. If one address has more than its share
	// of the places, a client of another address gets the last of them. Zero means DefaultMaxConns.
	MaxConns int
	// IdleTimeout is the maximum time that a client may be silent. A busy client reports four times
	// in that time that it is alive, but at most every 100 ms. Zero means DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Grace is the time that connections have to end when the context of Serve is done. Zero means
	// none.
	Grace time.Duration
	// Log receives a record for each connection, file and failure. If nil, nothing is logged.
	Log *slog.Logger
	// Counts, if not nil, are the counters of the Server.
	Counts *Counts
	// Socket configures the connections. The Server overrides its settings for messages and startup
	// data.
	Socket extsock.Config

	limit func(io.Writer) io.Writer // wraps writes to the disk, in tests; may be nil
	chunk int                       // the maximum length of a chunk; zero means maxChunk
	quiet int                       // zero means maxQuiet
}

// A Server serves the files below a directory.
type Server struct {
	cfg  ServerConfig
	root *os.Root
	l    net.Listener
	conf extsock.Config
}

// Listen opens the directory dir and listens at address, like extsock.Listen. Serve then accepts
// the connections. If Serve is not called, the caller must call Close.
func Listen(address, dir string, cfg *ServerConfig) (*Server, error) {
	s := &Server{}
	if cfg != nil {
		s.cfg = *cfg
	}
	if s.cfg.IdleTimeout <= 0 {
		s.cfg.IdleTimeout = DefaultIdleTimeout
	}
	if s.cfg.MaxConns <= 0 {
		s.cfg.MaxConns = DefaultMaxConns
	}
	if s.cfg.chunk == 0 {
		s.cfg.chunk = maxChunk
	}
	if s.cfg.quiet == 0 {
		s.cfg.quiet = maxQuiet
	}
	if s.cfg.Log == nil {
		s.cfg.Log = slog.New(slog.DiscardHandler)
	}
	if s.cfg.Counts == nil {
		s.cfg.Counts = &Counts{}
	}
	s.conf = socket(s.cfg.Socket, s.cfg.IdleTimeout)
	s.conf.Startup = extsock.StartupOff // serveConn checks the Request first
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s.root = root
	if s.l, err = extsock.Listen("tcp", address, &s.conf); err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// socket returns the configuration of the connections of both ends. idle is the idle timeout of
// this end.
func socket(c extsock.Config, idle time.Duration) extsock.Config {
	c.Messages, c.RecvSize, c.RecvDepth, c.SendDepth = true, maxMessage, 4*window, 0
	c.SendCQ, c.RecvCQ, c.Domain = nil, nil, nil
	c.PrivateData, c.Revision = appendGreeting(nil, idle), 2
	return c
}

// Addr returns the address that the Server listens at.
func (s *Server) Addr() net.Addr { return s.l.Addr() }

// Serve serves until ctx is done. Then it waits up to ServerConfig.Grace for the open connections,
// ends the rest with ErrGrace, and returns nil. If the listener ends for another reason, Serve does
// the same and returns an error.
func (s *Server) Serve(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	late, cancel := accept.Graceful(ctx, s.cfg.Grace, ErrGrace)
	defer s.root.Close()
	defer cancel()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer end()
	defer context.AfterFunc(ctx, func() { s.l.Close() })()
	defer s.l.Close()
	l := accept.Loop[*extsock.Conn]{
		Accept: accept.From[*extsock.Conn](s.l), From: accept.Source[*extsock.Conn],
		Serve: s.serveConn, Context: late, Most: s.cfg.MaxConns, MostQuiet: s.cfg.quiet,
		Refuse: func(c *extsock.Conn, _ bool) { c.Close() },
		Go:     conns.Go, Log: s.cfg.Log,
	}
	return l.Run(ctx)
}

// serveConn serves one connection to its end.
func (s *Server) serveConn(ctx context.Context, c *extsock.Conn, place *accept.Place) {
	log := s.cfg.Log.With("client", fmt.Sprint(c.RemoteAddr())) // nil if the backend has no addresses
	defer c.Close()
	peerIdle, err := s.startup(ctx, c, place)
	if err != nil {
		level := slog.LevelDebug
		if tlshandshake.Words(err) != "" { // not a port scan: a client's TLS does not match
			level, err = slog.LevelWarn, tlshandshake.Brief(err)
		}
		log.Log(ctx, level, "no startup", "err", err)
		if ctx.Err() == nil {
			s.cfg.Counts.failures[failureStartup].Add(1)
		}
		return
	}
	conn := &serverConn{
		Server: s, ctx: ctx, session: newSession(ctx, c, s.cfg.IdleTimeout, peerIdle), log: log,
		place: place, pace: pace{limit: s.cfg.chunk}, names: names{root: s.root},
	}
	defer conn.close()
	log.Debug("connected")
	s.cfg.Counts.Connections.Add(1)
	s.cfg.Counts.Open.Add(1)
	defer s.cfg.Counts.Open.Add(-1)
	err = conn.serve()
	if !conn.counted {
		s.cfg.Counts.fail(ctx, err)
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, accept.ErrDisplaced):
		level := slog.LevelDebug
		if errors.Is(cause, admission.ErrShare) { // it was an active client
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "connection ended", "err", cause)
	case errors.Is(cause, ErrGrace):
		log.Warn("connection ended", "err", cause)
	case ctx.Err() != nil && !conn.counted: // log a failure even so, if the client was told of it
	case err != nil && !errors.Is(err, io.EOF):
		log.Warn("connection ended", "err", err)
	default:
		log.Debug("disconnected")
	}
}

// startup switches the connection to DDP mode if the client speaks this protocol, and returns the
// client's idle timeout. Until the client's MPA Request has arrived, the Listener limits the number
// of such connections; after that, place does.
func (s *Server) startup(ctx context.Context, c *extsock.Conn, place *accept.Place) (peerIdle time.Duration, err error) {
	r, err := c.ReceiveRequest(ctx)
	if err != nil {
		return 0, err
	}
	if !place.Enter() {
		return 0, accept.ErrDisplaced
	}
	peerIdle, ok := parseGreeting(r.PrivateData)
	if ok {
		return peerIdle, r.Accept(ctx, s.conf.PrivateData)
	}
	err = fmt.Errorf("a client of another protocol or version: private data %.20q", r.PrivateData)
	return 0, errors.Join(err, r.Reject(ctx, s.conf.PrivateData))
}
