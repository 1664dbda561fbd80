package extsock

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
)

// A Listener is a net.Listener whose connections are extended sockets.
//
// Unless Config.Startup is StartupOff, it runs the startup of each connection in the background, from the moment it
// comes, whatever the program does; at most 128 connections wait for Accept so, and the others wait in the
// operating system's backlog. A Listener leaves startup to the program where Config.JudgeRequests says so, and where
// Config.RecvCQ makes the program post receive buffers to each connection, which it has to do before startup.
type Listener struct {
	l       net.Listener
	cfg     *Config
	door    *startup.Door
	backlog *backlog // nil: connections are not started up before Accept
}

var (
	_ net.Listener = (*Listener)(nil)
	_ syscall.Conn = (*Listener)(nil)
)

func newListener(l net.Listener, cfg *Config) *Listener {
	if cfg == nil {
		cfg = &Config{}
	}
	x := &Listener{l: l, cfg: cfg, door: newDoor(cfg)}
	if cfg.Startup != StartupOff && !cfg.JudgeRequests && (cfg.RecvCQ == nil || cfg.SRQ != nil) {
		x.backlog = newBacklog(x)
	}
	return x
}

const (
	defaultHalfOpen = 4096
	defaultDelay    = time.Second
)

func newDoor(cfg *Config) *startup.Door {
	return startup.NewDoor(orDefault(cfg.MaxHalfOpen, defaultHalfOpen), orDefault(cfg.BadSTagDelay, defaultDelay))
}

// A ListenConfig makes Listeners, as net.ListenConfig does. The zero value works.
type ListenConfig struct {
	// NetListenConfig has the settings of the operating system's TCP, which a nil Config.Backend uses.
	NetListenConfig net.ListenConfig
	// Config says how the connections behave. Nil means the zero Config.
	Config *Config
}

// Listen listens at address. The Listener is a *Listener. Networks are those of Config.Backend. ctx bounds
// the address look-up.
func (lc *ListenConfig) Listen(ctx context.Context, network, address string) (net.Listener, error) {
	l, err := lc.listen(ctx, network, address)
	if err != nil {
		return nil, err // and not a nil *Listener in an interface
	}
	return l, nil
}

func (lc *ListenConfig) listen(ctx context.Context, network, address string) (*Listener, error) {
	cfg := lc.Config
	if cfg == nil {
		cfg = &Config{}
	}
	backend := cfg.Backend
	if backend == nil {
		backend = &kernel.Backend{ListenConfig: lc.NetListenConfig}
	}
	l, err := backend.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return newListener(streamListener{l}, cfg), nil
}

// Listen listens at address, as net.Listen does for "tcp". A nil cfg means the zero Config.
func Listen(network, address string, cfg *Config) (*Listener, error) {
	return (&ListenConfig{Config: cfg}).listen(context.Background(), network, address)
}

// NewListener makes a Listener of any other one, whose connections become extended sockets as by
// NewConn; Config.Backend is not used. The Listener owns l from now on. A nil cfg means the zero Config.
func NewListener(l net.Listener, cfg *Config) *Listener {
	return newListener(l, cfg)
}

// A streamListener is the listener of a Backend as package net has it.
type streamListener struct{ toe.Listener }

func (l streamListener) Accept() (net.Conn, error) {
	s, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Accept waits for the next connection, a *Conn whose part in MPA startup is the Responder's. As over TCP, it does
// not wait for anything that the peer has to send: startup of the connection may be under way still, and Read and
// Write wait for that. If it fails, they say so; a connection of which it has failed before is never handed out.
// With StartupOff the connection is in TCP mode, and TLS comes with its first use.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (l *Listener) accept() (*Conn, error) {
	if l.backlog != nil {
		return l.backlog.accept((*backlog).oldestLocked)
	}
	return l.acceptBelow()
}

// AcceptDDP waits for the next connection in DDP mode, whatever Config.Startup says. A connection of which startup fails
// is closed, and so is one of a plain peer under StartupPrefer: a program that serves plain peers uses Accept.
//
// If the Listener runs startup itself, AcceptDDP returns whichever connection is in DDP mode first, so a silent peer keeps
// nobody waiting. Otherwise, with StartupOff, say, AcceptDDP calls EnableDDP on one connection after the other, and a
// silent peer delays the next for HandshakeTimeout. A server that expects DDP mode of everybody sets StartupRequire.
// Config.JudgeRequests does not matter here: AcceptDDP accepts every Request.
func (l *Listener) AcceptDDP() (*Conn, error) {
	if err := privateDataError(l.cfg, nil, true); err != nil { // no connection could be switched
		a := l.Addr()
		return nil, &net.OpError{Op: "accept", Net: a.Network(), Addr: a, Err: err}
	}
	if l.backlog != nil {
		return l.backlog.accept((*backlog).switchedLocked)
	}
	for {
		c, err := l.acceptBelow()
		if err != nil {
			return nil, err
		}
		if c.EnableDDP(context.Background(), nil) == nil {
			return c, nil
		}
		c.Close() // startup has failed, which says more
	}
}

// acceptBelow makes a Conn of the next connection of the listener below.
func (l *Listener) acceptBelow() (*Conn, error) {
	nc, err := l.l.Accept()
	if err != nil {
		return nil, err
	}
	if l.cfg.TLS != nil {
		nc = tls.Server(nc, l.cfg.TLS)
	}
	var c *Conn
	defer func() {
		if c == nil { // Config.Tap has panicked
			nc.Close()
		}
	}()
	c = newNetConn(nc, false, l.cfg, l.door)
	return c, nil
}

// Close stops listening. Connections that were accepted stay; those that wait for Accept are reset, as TCP does.
func (l *Listener) Close() error {
	err := l.l.Close()
	if l.backlog != nil {
		l.backlog.close()
	}
	return err
}

// Addr returns the address that the Listener has.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// SetDeadline bounds Accept, calls under way included; the zero time takes the bound away. The error is
// errors.ErrUnsupported where the listener below has no deadlines and the Listener starts nothing up.
func (l *Listener) SetDeadline(t time.Time) error {
	if l.backlog != nil {
		return l.backlog.setDeadline(t)
	}
	d, ok := l.below().(interface{ SetDeadline(time.Time) error })
	if !ok {
		return l.unsupported("set")
	}
	return d.SetDeadline(t)
}

// File returns a copy of the operating system's listening socket, as for a net.TCPListener. Where there is none the
// error is errors.ErrUnsupported. The two share their mode: after the File's Fd, which makes the socket a blocking one,
// an Accept under way may last until the next connection, and so may Close. A Listener that runs startup itself always has
// an Accept under way.
func (l *Listener) File() (*os.File, error) {
	f, ok := l.below().(interface{ File() (*os.File, error) })
	if !ok {
		return nil, l.unsupported("file")
	}
	return f.File()
}

// SyscallConn gives access to the operating system's listening socket, for its settings. Where there is none the
// error is errors.ErrUnsupported.
func (l *Listener) SyscallConn() (syscall.RawConn, error) {
	s, ok := l.below().(syscall.Conn)
	if !ok {
		return nil, l.unsupported("raw")
	}
	return s.SyscallConn()
}

// below returns the listener that has the settings.
func (l *Listener) below() any {
	if s, ok := l.l.(streamListener); ok {
		return s.Listener
	}
	return l.l
}

func (l *Listener) unsupported(op string) error {
	a := l.Addr()
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: errors.ErrUnsupported}
}
