package ping

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A Server answers pings.
type Server struct {
	l      net.Listener
	cfg    *Config
	memory *accept.Memory
}

// Listen listens at address ("host:port", or ":port" for every address of this machine). A nil cfg
// means the zero Config. A client may choose any kind of RTR unless Config.Socket limits them. The
// caller must call Serve or Close.
func Listen(address string, cfg *Config) (*Server, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	socket := cfg.socket()
	if socket.RTR == 0 {
		socket.RTR = mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead
	}
	l, err := extsock.Listen("tcp", address, socket)
	if err != nil {
		return nil, &Error{Ping: -1, Step: "listening at " + address, Err: err}
	}
	return &Server{l: l, cfg: cfg, memory: accept.NewMemory(serverMemory(cfg))}, nil
}

// Addr returns the address that the server listens at.
func (s *Server) Addr() net.Addr { return s.l.Addr() }

// Close stops listening. Serve returns when the open connections have ended.
func (s *Server) Close() error { return s.l.Close() }

// Serve accepts connections until ctx is done. If the server is not Persistent, Serve serves one
// connection that completes MPA startup, and returns the error of that connection. When Serve
// returns, the server and its connections are closed. It is not an error if ctx is done or Close is
// called.
func (s *Server) Serve(ctx context.Context) error {
	serving, cancel := context.WithCancel(ctx)
	var connections sync.WaitGroup
	o := &only{stop: cancel}
	l := accept.Loop[*extsock.Conn]{
		Accept: accept.From[*extsock.Conn](s.l), From: accept.Source[*extsock.Conn], Context: ctx, Most: maxConns, MostQuiet: maxConns,
		Serve: func(ctx context.Context, c *extsock.Conn, place *accept.Place) {
			if s.cfg.Persistent {
				s.serve(ctx, c, place)
			} else {
				s.serveOnly(ctx, serving, c, place, o)
			}
		},
		Refuse: func(c *extsock.Conn, _ bool) { c.Close() },
		Go:     connections.Go, Log: s.cfg.log(),
	}
	stop := context.AfterFunc(serving, func() { s.l.Close() })
	_ = l.Run(serving) // the only possible error means that the listener is closed
	stop()
	s.l.Close()
	connections.Wait()
	cancel()
	return o.err
}

// An only selects the one connection that a server serves if it is not Persistent.
type only struct {
	taken atomic.Bool
	stop  context.CancelFunc // stops accepting, and ends the startup of the other connections
	err   error              // the error of that connection; set before its goroutine ends
}

// serve serves one connection to its end.
func (s *Server) serve(ctx context.Context, c *extsock.Conn, place *accept.Place) {
	if _, err := answerConn(ctx, c, c.EnableDDP, place, s.memory, s.cfg); err != nil {
		s.failed(c, err)
	}
}

// serveOnly serves the connection to its end if it is the first to complete MPA startup. Silent
// peers do not delay the startup of others. serving is done as soon as one connection has completed
// startup.
func (s *Server) serveOnly(ctx, serving context.Context, c *extsock.Conn, place *accept.Place, o *only) {
	startup := func(_ context.Context, privateData []byte) error {
		err := c.EnableDDP(serving, privateData)
		if err == nil && !o.taken.CompareAndSwap(false, true) {
			err = net.ErrClosed
		}
		if err == nil {
			o.stop()
		}
		return err
	}
	started, err := answerConn(ctx, c, startup, place, s.memory, s.cfg)
	switch {
	case started:
		o.err = err
	case serving.Err() == nil && err != nil:
		s.failed(c, err)
	}
}

func (s *Server) failed(conn *extsock.Conn, err error) {
	if s.cfg.Failed != nil {
		s.cfg.Failed(conn.RemoteAddr(), err)
	}
}

// A startup runs MPA startup: the connection's EnableDDP, or the function in serveOnly.
type startup = func(ctx context.Context, privateData []byte) error

// answerConn answers the pings of one connection until the client closes it or ctx is done. It
// reports whether the connection completed MPA startup.
func answerConn(
	ctx context.Context, conn *extsock.Conn, startup startup, place *accept.Place, memory *accept.Memory, cfg *Config,
) (started bool, err error) {
	a, err := newSession(conn, cfg)
	if err != nil {
		return false, err
	}
	answers := &answerer{session: a, place: place, memory: memory}
	defer answers.release()
	err = a.start(ctx, startup)
	if started = err == nil; started {
		if !place.Enter() {
			err = a.fail("serving the client", accept.ErrDisplaced)
		} else {
			err = answers.run(ctx)
		}
	}
	// Decide this before the close: an interrupt during the close must not hide why the connection
	// failed.
	failed := err != nil && ctx.Err() == nil
	err = a.close(err)
	if ctx.Err() != nil && !failed {
		err = nil
	}
	if errors.Is(context.Cause(ctx), accept.ErrDisplaced) {
		err = a.fail("waiting for the client's source buffer", accept.ErrDisplaced)
	}
	return started, err
}

// An answerer is the server's end of a connection.
type answerer struct {
	*session
	place  *accept.Place  // nil: none
	memory *accept.Memory // nil: without a limit
	data   []byte         // data of the current ping: see hold
}

func (a *answerer) run(ctx context.Context) error {
	if a.conn.ConnectionState().ORD == 0 {
		return a.fail("starting", ErrNoReads)
	}
	late, cancel := accept.Graceful(ctx, grace, nil)
	defer cancel()
	for a.n = 0; ; a.n++ {
		source, err := a.receiveHandle(ctx)
		switch {
		case isClosed(err) && a.n > 0:
			a.cfg.trace(ctx, "the client has closed the connection", a.n)
			return nil
		case err != nil: // also after a close before the first ping, because siw refuses an MPA Reply by closing
			return a.fail("waiting for the client's source buffer", err)
		case a.place != nil && !a.place.Heard():
			return a.fail("serving the client", ErrTooMany)
		}
		if err := a.answer(late, source); err != nil {
			return err
		}
	}
}

// answer does the server's part of one ping.
func (a *answerer) answer(ctx context.Context, source rdmap.Handle) error {
	if err := a.read(ctx, source); err != nil {
		return err
	}
	a.cfg.show("server ping data: ", a.data)
	if err := a.send(ctx, goAhead[:]); err != nil {
		return a.fail("sending the go-ahead after the RDMA Read", err)
	}
	sink, err := a.receiveHandle(ctx)
	if err != nil {
		return a.fail("waiting for the client's sink buffer", err)
	}
	if err := a.write(ctx, sink); err != nil {
		return err
	}
	if err := a.send(ctx, goAhead[:]); err != nil {
		return a.fail("sending the go-ahead after the RDMA Write", err)
	}
	return nil
}

// read reads the ping data from the client's source buffer.
func (a *answerer) read(ctx context.Context, source rdmap.Handle) error {
	const step = "RDMA Read of the source buffer"
	a.traceHandle(ctx, step, source)
	if source.Len == 0 || uint64(source.Len) > uint64(a.cfg.limit()) {
		return a.fail(step, fmt.Errorf("the client's buffer has %d bytes; this server accepts 1 to %d", source.Len, a.cfg.limit()))
	}
	if err := a.hold(int(source.Len)); err != nil {
		return a.fail(step, err)
	}
	if err := a.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: a.data, Remote: source}); err != nil {
		return a.fail(step, err)
	}
	return nil
}

// write writes the same bytes into the client's sink buffer.
func (a *answerer) write(ctx context.Context, sink rdmap.Handle) error {
	const step = "RDMA Write to the sink buffer"
	a.traceHandle(ctx, step, sink)
	if uint64(sink.Len) < uint64(len(a.data)) {
		return a.fail(step, fmt.Errorf("%w: its buffer has %d bytes, the ping data %d", ErrProtocol, sink.Len, len(a.data)))
	}
	if err := a.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: a.data, Remote: sink}); err != nil {
		return a.fail(step, err)
	}
	return nil
}
