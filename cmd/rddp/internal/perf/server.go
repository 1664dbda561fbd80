package perf

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/tlshandshake"
)

// A Server serves the clients of Run. It does what they ask for, within the limits of this package;
// without TLS it has no authentication.
type Server struct {
	// Log receives a record for each connection that fails. If nil, nothing is logged.
	Log *slog.Logger
	// TLS is the configuration for all connections, including plain TCP. Nil means no TLS. It must
	// be set before Serve.
	TLS *tls.Config

	l        net.Listener
	own      string // congestion control of l before any session; empty if unknown
	mu       locks.Mutex[locks.Leaf]
	sessions map[string]*session // +checklocks:mu
	memory   int64               // +checklocks:mu
	pinned   bool                // +checklocks:mu
	going    sync.WaitGroup
}

// maxSessions and maxMemory limit the resources that all clients of a server together can make it
// use.
const (
	maxSessions = 64
	maxMemory   = int64(2 * MaxRing)
	helloTime   = 5 * time.Second
)

// A session is the state that the connections of one client share.
type session struct {
	*recorders
	conns connections
	next  atomic.Uint32
}

// connections contains the connections of a session or of a door, until it ends.
type connections struct {
	mu    locks.Mutex[locks.Leaf]
	all   map[*closer]bool // +checklocks:mu
	ended bool             // +checklocks:mu
}

// enter adds a connection. It returns false if end has been called.
func (s *connections) enter(k *closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.all[k] = true
	}
	return !s.ended
}

func (s *connections) leave(k *closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, k)
}

// end closes all connections.
func (s *connections) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for k := range s.all {
		go k.close() // close may wait for the peer
	}
}

// A closer closes a connection whose owner may change, because an extended socket takes over the
// TCP connection.
type closer struct {
	mu     locks.Mutex[locks.Leaf]
	c      net.Conn // +checklocks:mu
	closed bool     // +checklocks:mu
}

func (k *closer) close() {
	k.mu.Lock()
	c := k.c
	k.closed = true
	k.mu.Unlock()
	c.Close()
}

// over waits until the background work for a closed connection has ended, and its memory is
// released, or until ctx is done.
func (k *closer) over(ctx context.Context) {
	k.mu.Lock()
	c := k.c
	k.mu.Unlock()
	if x, ok := c.(*extsock.Conn); ok {
		_ = x.Wait(ctx)
	}
}

// set replaces the connection. It closes c if close has been called.
func (k *closer) set(c net.Conn) {
	k.mu.Lock()
	k.c = c
	closed := k.closed
	k.mu.Unlock()
	if closed {
		c.Close()
	}
}

// Listen returns a Server that listens at the TCP address.
func Listen(ctx context.Context, address string, log *slog.Logger) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{Log: log, l: l, sessions: make(map[string]*session)}
	if raw, err := l.(*net.TCPListener).SyscallConn(); err == nil {
		s.own, _ = congestionOf(raw) // an error leaves it unknown
	}
	return s, nil
}

// beginWith sets the initial congestion control of connections accepted from now on. An empty name
// means the system's.
func (s *Server) beginWith(congestion string) error {
	if congestion = cmp.Or(congestion, s.own); congestion == "" {
		return nil
	}
	raw, err := s.l.(*net.TCPListener).SyscallConn()
	if err != nil {
		return err
	}
	return setCongestion(raw, congestion)
}

// Addr returns the address at which the server listens.
func (s *Server) Addr() net.Addr { return s.l.Addr() }

// Serve serves clients until ctx is done, and then returns nil. When it returns, all connections
// are closed.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.l.Close() })
	defer stop()
	defer s.going.Wait()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	loop := accept.Loop[net.Conn]{
		Accept: s.l.Accept, From: accept.Source[net.Conn], Context: inner, Most: MaxConns + maxSessions, MostQuiet: maxSessions * 4, EnterAtOnce: true,
		Refuse: func(c net.Conn, _ bool) { c.Close() }, Go: s.going.Go, Log: s.Log,
		Serve: func(ctx context.Context, c net.Conn, p *accept.Place) {
			k := &closer{c: c}
			stop := context.AfterFunc(ctx, k.close)
			defer stop()
			defer k.close()
			if err := s.serve(ctx, k, p); err != nil && ctx.Err() == nil {
				s.Log.Warn("connection", "peer", c.RemoteAddr(), "err", errtext.Brief(err))
			}
		},
	}
	if err := loop.Run(ctx); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// serve serves one connection.
func (s *Server) serve(ctx context.Context, k *closer, p *accept.Place) error {
	c := k.c // +checklocksignore: nobody sets it before this goroutine does
	c.SetDeadline(time.Now().Add(helloTime))
	c, err := s.secure(ctx, c, k)
	if err != nil {
		return err
	}
	var h hello
	if err := receive(c, &h, maxRequest); err != nil {
		return err
	}
	if !p.Heard() {
		return nil
	}
	if h.Token == "" {
		return s.control(ctx, c, &h)
	}
	return s.data(ctx, c, k, &h)
}

// secure puts TLS over an accepted connection, if the server has a TLS configuration, and passes
// the result to k.
func (s *Server) secure(ctx context.Context, c net.Conn, k *closer) (net.Conn, error) {
	if s.TLS == nil {
		return c, nil
	}
	t := tls.Server(belowTLS(c), s.TLS)
	k.set(t)
	return t, tlshandshake.Server(ctx, t)
}

// refuse sends reason as the answer, and returns it.
func refuse(c net.Conn, reason error) error {
	return errors.Join(reason, send(c, answer{Refused: reason.Error()}))
}

// control serves a control connection. The session ends with it.
func (s *Server) control(ctx context.Context, c net.Conn, h *hello) error {
	token, v, err := s.open(h.CPU != nil)
	if err != nil {
		return refuse(c, err)
	}
	defer s.close(token, v)
	if err := s.beginWith(h.Congestion); err != nil {
		return refuse(c, err)
	}
	if h.CPU != nil {
		_, unpin, err := pin(*h.CPU)
		if err != nil {
			return refuse(c, err)
		}
		defer unpin()
	}
	d := &desk{s: s, c: c, v: v}
	defer func() { d.door.close() }()
	for a := (answer{Token: token, Files: fileLimit()}); ; {
		_, a.HasCPU = processTime()
		if err := send(c, a); err != nil {
			return err
		}
		c.SetDeadline(time.Now().Add(2 * maxTimeout))
		var q command
		if err := receive(c, &q, maxRequest); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if a, err = d.answer(ctx, &q); err != nil {
			return refuse(c, err)
		}
	}
}

// A desk answers the commands of a control connection.
type desk struct {
	s      *Server
	c      net.Conn
	v      *session
	before cpuTime // at the beginning of a run
	door   *door
}

func (d *desk) answer(ctx context.Context, q *command) (a answer, err error) {
	now, _ := processTime()
	switch {
	case q.Begin:
		d.before = now
	case q.Open != nil:
		d.door.close()
		if d.door, err = d.s.openDoor(ctx, d.v, d.c, q.Open); err == nil {
			a.Address = d.door.l.Addr().String()
		}
	case q.Shut:
		d.door.close()
		d.door = nil
	case q.Collapse:
		_, err = extsock.CollapseHeap(ctx)
	case q.Memory:
		m := memoryNow()
		a.Memory = &m
	default:
		a.CPU = now.minus(d.before)
		if h := d.v.take(); h.TotalCount() > 0 {
			a.Histogram, err = h.EncodeV2()
		}
	}
	return a, err
}

// open adds a session. If pinned is set, it must be the only one.
func (s *Server) open(pinned bool) (token string, v *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.sessions) >= maxSessions:
		return "", nil, fmt.Errorf("there are %d sessions already", len(s.sessions))
	case len(s.sessions) > 0 && (pinned || s.pinned):
		return "", nil, errors.New("another session is under way, and one of the two needs the process pinned to one CPU")
	}
	s.pinned = pinned
	token = rand.Text()
	v = &session{recorders: newRecorders(len(recorders{})), conns: connections{all: make(map[*closer]bool)}}
	s.sessions[token] = v
	return token, v, nil
}

// close removes a session and closes its connections.
func (s *Server) close(token string, v *session) {
	s.mu.Lock()
	delete(s.sessions, token)
	s.mu.Unlock()
	v.conns.end()
}

// enter adds a connection to the session, and returns the recorder of its latencies.
func (v *session) enter(k *closer) (*recorder, error) {
	if !v.conns.enter(k) {
		return nil, net.ErrClosed
	}
	return v.of(int(v.next.Add(1) - 1)), nil
}

// data serves a data connection.
func (s *Server) data(ctx context.Context, c net.Conn, k *closer, h *hello) error {
	s.mu.Lock()
	v := s.sessions[h.Token]
	s.mu.Unlock()
	if err := h.check(); err != nil || v == nil {
		return refuse(c, errors.Join(err, ErrProtocol))
	}
	times, err := v.enter(k)
	if err != nil {
		return refuse(c, err)
	}
	defer v.conns.leave(k)
	if !s.reserve(h.memory()) {
		return refuse(c, errNoMemory)
	}
	defer s.reserve(-h.memory())
	// The connection may have begun with the congestion control of another session.
	if err := tune(c, cmp.Or(h.Congestion, s.own), h.Buffer); err != nil {
		return refuse(c, err)
	}
	if err := send(c, answer{}); err != nil {
		return err
	}
	c.SetDeadline(time.Time{})
	e, err := newEnd(ctx, c, h, false, k)
	if err != nil {
		return err
	}
	e.times = times
	return e.serve(ctx, h.Reverse)
}

// reserve reserves n bytes of the server's memory, or releases them if n is negative.
func (s *Server) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > maxMemory-s.memory {
		return false
	}
	s.memory += n
	return true
}

// memory returns about the number of bytes that a data connection may need: its ring, its posted
// Work Requests with their Completions, and the unread message that a connection in message mode
// may hold beyond extsock's memory limit.
func (h *hello) memory() int64 {
	n := int64(h.Ring) + int64(h.Depth)<<10
	if h.Transport == overVerbs {
		n += int64(h.config().RecvSize)
	}
	return n
}

// check checks the hello of a data connection.
func (h *hello) check() error {
	known := h.Transport == overTCP || h.Transport == overStream || h.Transport == overVerbs
	if !known || h.Ring < headLen || h.Ring > MaxRing || h.RecvSize < 0 || h.RecvSize > MaxSize || h.Depth < 1 || h.Depth > MaxDepth ||
		h.Timeout <= 0 || h.Timeout > maxTimeout || h.Buffer < 0 || h.Buffer > MaxRing || h.PollTime > MaxPollTime {
		return fmt.Errorf("%w: hello %+v", ErrProtocol, *h)
	}
	return nil
}

// serve serves runs until the connection ends. If reverse is set, this end is the active one.
func (e *end) serve(ctx context.Context, reverse bool) error {
	b := make([]byte, headLen)
	for {
		if e.patient { // the session ends with its control connection
			e.SetDeadline(time.Time{})
		} else {
			e.SetDeadline(time.Now().Add(maxTimeout)) // the client may be measuring something else
		}
		if _, err := io.ReadFull(e, b); errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			return err
		}
		h, err := parseHead(b)
		if err != nil {
			return err
		}
		if err := e.check(h); err != nil {
			return err
		}
		e.makeRing()
		if err := e.run(ctx, h, reverse); err != nil {
			return err
		}
		if reverse {
			if err := e.sign(signOver); err != nil {
				return err
			}
		}
	}
}

// run takes part in a run, until ctx is done or the time is over.
func (e *end) run(ctx context.Context, h head, active bool) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	e.SetDeadline(time.Now().Add(e.timeout))
	stop := context.AfterFunc(ctx, func() { e.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if !active {
		return e.runPassive(h)
	}
	return e.runActive(ctx, h)
}
