package proxy

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/states"
)

// A Proxy is an entrance or an exit.
type Proxy struct {
	cfg    *Config
	listen Address
	to     atomic.Pointer[Address]
	state  states.Atomic[State] // see become
	stuck  atomic.Bool          // the last Accept has failed, and the next has not begun
	socket extsock.Config
	l      listener

	total         directions
	open          atomic.Int64
	ended, failed atomic.Int64
	refused       atomic.Int64
	fallbacks     atomic.Int64
	dialer        lastDialer // of an entrance
}

// A listener is a net.Listener or an extsock.Listener.
type listener struct {
	accept func() (net.Conn, error)
	close  func() error
	addr   func() net.Addr
}

// Listen listens at the address listen for connections to the address to. One of the two must be
// DDP. A nil cfg means the zero Config. Serve then accepts the connections. If Serve is not called,
// the caller must call Close.
func Listen(ctx context.Context, listen, to Address, cfg *Config) (*Proxy, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if listen.DDP == to.DDP {
		return nil, ErrSides
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	p := &Proxy{cfg: cfg, listen: listen, socket: cfg.socket()}
	p.to.Store(&to)
	var err error
	if listen.DDP {
		err = p.listenDDP()
	} else {
		err = p.listenPlain(ctx)
	}
	if err != nil {
		return nil, fail(err, "listening at %v", listen)
	}
	return p, nil
}

func (p *Proxy) listenPlain(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, p.listen.Network, p.listen.Address)
	if errors.Is(err, syscall.EADDRINUSE) && p.listen.Network == "unix" && isStale(ctx, p.listen.Address) && os.Remove(p.listen.Address) == nil {
		l, err = new(net.ListenConfig).Listen(ctx, p.listen.Network, p.listen.Address)
	}
	if err != nil {
		return err
	}
	p.l = listener{l.Accept, l.Close, l.Addr}
	return nil
}

// isStale reports whether a unix socket has no listener, because its process was killed.
func isStale(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func (p *Proxy) listenDDP() error {
	socket := p.socket
	socket.Startup = extsock.StartupOff // exit dials the service before it answers the Request
	l, err := extsock.Listen(p.listen.Network, p.listen.Address, &socket)
	if err != nil {
		return err
	}
	p.l = listener{l.Accept, l.Close, l.Addr}
	return nil
}

// Addr returns the address that the Proxy listens at.
func (p *Proxy) Addr() Address {
	a := p.listen
	a.Address = p.l.addr().String()
	return a
}

// Close stops listening. Serve returns when the open connections have ended.
func (p *Proxy) Close() error {
	p.become(StateDraining)
	return p.l.close()
}

// accept accepts a connection from the listener.
func (p *Proxy) accept() (net.Conn, error) {
	p.stuck.Store(false)
	c, err := p.l.accept()
	p.stuck.Store(err != nil)
	return c, err
}

// isReady reports whether p accepts connections: it is serving, and has free descriptors.
func (p *Proxy) isReady() bool { return p.State() == StateServing && !p.stuck.Load() }

// Target returns the address that the Proxy connects to.
func (p *Proxy) Target() Address { return *p.to.Load() }

// Retarget changes the address that the Proxy connects to, for connections that it accepts from now
// on. The new address must be DDP if the current one is.
func (p *Proxy) Retarget(to Address) error {
	if p.listen.DDP == to.DDP {
		return ErrSides
	}
	p.to.Store(&to)
	return nil
}

// Stats returns the current counters.
func (p *Proxy) Stats() Stats {
	return Stats{
		Open: int(p.open.Load()), Ended: p.ended.Load(), Failed: p.failed.Load(),
		Refused: p.refused.Load(), Fallbacks: p.fallbacks.Load(),
		There: p.total.there.octets.Load(), Back: p.total.back.octets.Load(),
	}
}

// Serve accepts connections until ctx is done. Then it waits up to Config.Grace for the open
// connections, ends the rest with ErrGrace, and returns nil. If the listener ends for another
// reason, Serve returns an error.
func (p *Proxy) Serve(ctx context.Context) error {
	var conns sync.WaitGroup
	late, cancel := accept.Graceful(ctx, p.cfg.grace(), ErrGrace)
	defer cancel()
	p.become(StateServing)
	defer p.become(StateEnded)
	defer conns.Wait()
	defer p.become(StateDraining)
	defer context.AfterFunc(ctx, func() { p.Close() })()
	defer p.l.close()
	l := accept.Loop[net.Conn]{
		Accept: p.accept, Most: p.cfg.maxConns(), Go: conns.Go, Log: p.cfg.log(),
		Serve: p.serve, Context: late, EnterAtOnce: !p.listen.DDP, From: accept.Source[net.Conn],
		Refuse: func(c net.Conn, ending bool) {
			if !ending {
				p.refused.Add(1)
				p.cfg.log().Warn(ErrTooMany.Error(), "peer", peerOf(c), "limit", p.cfg.maxConns())
			}
			refuse(c)
		},
	}
	return l.Run(ctx)
}

// refuse resets an accepted connection that is not served.
func refuse(c net.Conn) { (&plainEnd{Conn: c}).abort() }

// peerOf returns the name of the peer of an accepted connection. A peer at a unix socket has no
// address.
func peerOf(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil && a.String() != "" && a.String() != "@" {
		return a.String()
	}
	return "local"
}

// serve serves one connection to its end.
func (p *Proxy) serve(ctx context.Context, c net.Conn, place *accept.Place) {
	p.open.Add(1)
	s := Summary{From: peerOf(c), To: p.Target().String()}
	begin := time.Now()
	err := errPanic
	defer func() { // also after a panic, which the accept loop recovers
		s.Err, s.Duration = err, time.Since(begin)
		p.open.Add(-1)
		if errors.Is(err, errTrial) {
			p.cfg.log().Debug("an entrance has tried this exit", "peer", s.From)
			return
		}
		p.ended.Add(1)
		if err != nil {
			p.failed.Add(1)
		}
		if p.cfg.Ended != nil {
			p.cfg.Ended(s)
		}
	}()
	if p.listen.DDP {
		err = p.exit(ctx, c.(*extsock.Conn), place, &s)
	} else {
		err = p.entrance(ctx, c, place, &s)
	}
}

// abortOnPanic, when deferred, aborts e after a panic. The accept loop closes only the accepted
// connection.
func abortOnPanic(e end) {
	if value := recover(); value != nil {
		e.abort()
		panic(value)
	}
}

// loopPause is longer than two proxies usually take to pass on the end of a connection.
const loopPause = 100 * time.Millisecond

// stillThere returns ErrGone if the peer of an accepted connection has already closed it. That ends
// loops of proxies that dial each other. A loop grows by one connection with each dial until all
// places are taken. Then each new connection displaces the oldest, and the end of the oldest
// travels along the loop from connection to connection. It must catch up with the newest, so a
// connection that has displaced another waits first.
func stillThere(ctx context.Context, c net.Conn, starting bool, place *accept.Place) error {
	if place.HasDisplaced() && !retry.Pause(ctx, loopPause) {
		return context.Cause(ctx)
	}
	if hasGone(c, starting) {
		return ErrGone
	}
	return nil
}

// entrance serves a client.
func (p *Proxy) entrance(ctx context.Context, c net.Conn, place *accept.Place, s *Summary) error {
	from := &plainEnd{Conn: c}
	if err := stillThere(ctx, c, false, place); err != nil {
		from.abort()
		return fail(p.cause(ctx, err), "accepting the client")
	}
	to, err := p.dialDDP(ctx, s)
	if err != nil {
		from.abort()
		return fail(p.cause(ctx, err), "connecting to the exit")
	}
	defer abortOnPanic(to)
	return p.carry(ctx, side{from, "the client"}, side{to, "the exit"}, place, s)
}

// exit serves an entrance. It dials the service before the entrance gets its Reply. Until the
// entrance's MPA Request has arrived, the Listener limits the number of such connections; after
// that, place does.
func (p *Proxy) exit(ctx context.Context, c *extsock.Conn, place *accept.Place, s *Summary) error {
	from := &ddpEnd{Conn: c, stream: c}
	under := c.NetConn()
	if under != nil { // nil if the connection has already failed
		from.stream = under
	}
	request, err := from.ReceiveRequest(ctx)
	if err != nil {
		from.abort()
		return fail(p.cause(ctx, err), "MPA startup with the entrance")
	}
	if string(request.PrivateData) == trialData {
		_ = request.Reject(ctx, []byte(trialData)) // the entrance says what has failed
		from.Close()
		return errTrial
	}
	if !place.Enter() {
		p.refused.Add(1)
		return p.reject(ctx, from, request, fail(ErrTooMany, "serving the entrance"))
	}
	if err := stillThere(ctx, under, true, place); err != nil {
		from.abort()
		return fail(p.cause(ctx, err), "MPA startup with the entrance")
	}
	to, err := p.dialPlain(ctx)
	if err != nil {
		return p.reject(ctx, from, request, fail(p.cause(ctx, err), "connecting to the service"))
	}
	defer abortOnPanic(to)
	if err := request.Accept(ctx, nil); err != nil {
		from.abort()
		to.abort()
		return fail(p.cause(ctx, err), "MPA startup with the entrance")
	}
	s.DDPMode = from.ConnectionState().DDPMode
	return p.carry(ctx, side{from, "the entrance"}, side{to, "the service"}, place, s)
}

// reject rejects a Request because of err, and returns err.
func (p *Proxy) reject(ctx context.Context, from *ddpEnd, request *extsock.Request, err error) error {
	// The entrance can report the reason to its user. If the entrance has gone, the error does not
	// matter.
	_ = request.Reject(ctx, shorten(err.Error()))
	from.Close()
	return err
}

// carry copies bytes between the two sides, for the entrance and the exit.
func (p *Proxy) carry(ctx context.Context, from, to side, place *accept.Place, s *Summary) error {
	from, err := p.introduce(ctx, from, to, place, s)
	if err != nil {
		from.abort()
		to.abort()
		return err
	}
	s.Through = true
	pipe := newPipe(from, to, &p.total, func() { place.Heard() }) // there is room, because the connection has entered
	err = pipe.run(ctx, p.cfg.Idle)
	s.There, s.Back = pipe.there.octets.Load(), pipe.back.octets.Load()
	return err
}

// cause returns the cause of ctx if it is done, because err then follows from that, and err
// otherwise.
func (p *Proxy) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// maxReason is the maximum length in bytes of the reason for a rejection. Linux shows at most 231
// bytes of private data.
const maxReason = 160

func shorten(s string) []byte { return []byte(s[:min(len(s), maxReason)]) }

func (p *Proxy) dialPlain(ctx context.Context) (*plainEnd, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.timeout())
	defer cancel()
	to := p.Target()
	c, err := new(net.Dialer).DialContext(ctx, to.Network, to.Address)
	if err != nil {
		return nil, err
	}
	return &plainEnd{Conn: c}, nil
}
