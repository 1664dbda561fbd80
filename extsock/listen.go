package extsock

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/kernel"
	"github.com/rddp/rddp/toe/rnic"
)

// A Listener is a net.Listener whose connections are extended sockets. Its methods may be called
// from any goroutine. Listen and NewListener make a Listener. The methods of the zero value, and of
// a nil *Listener, return syscall.EINVAL, as those of the zero net.TCPListener do; Addr returns
// nil.
//
// Unless Config.Startup is StartupOff, a Listener runs the startup of each connection in the
// background as soon as the connection arrives, whatever the program does. At most 128 connections
// wait for Accept in this way. Further connections wait in the operating system's backlog. If the
// program calls AcceptDDP, Config.MaxHalfOpen limits the connections whose Request has not come,
// and at most 128 others wait.
//
// A Listener leaves startup to the program in two cases: if Config.JudgeRequests is set, and if
// Config.RecvCQ is set without Config.SRQ. In the second case the program must post receive buffers
// to each connection before startup.
type Listener struct {
	l       net.Listener
	cfg     *Config
	door    *startup.Door
	backlog *backlog // nil: startup does not begin before Accept

	noDevice error // why the connections do not run on the device of Config.Backend

	background wait.Background // counts the listener below too, until Close
	closing    sync.Once
}

var (
	_ net.Listener = (*Listener)(nil)
	_ syscall.Conn = (*Listener)(nil)
)

func newListener(l net.Listener, cfg *Config, noDevice error) *Listener {
	if cfg == nil {
		cfg = &Config{}
	}
	x := &Listener{l: l, cfg: cfg, door: newDoor(cfg), noDevice: noDevice}
	x.background.Begin() // the listener below: Close ends it
	on, onDevice := l.(*deviceListener)
	if onDevice {
		on.outlives = func(c *Conn) {
			x.background.Begin()
			c.background.Then(x.background.End)
		}
	}
	if !onDevice && cfg.Startup != StartupOff && !cfg.JudgeRequests && (cfg.RecvCQ == nil || cfg.SRQ != nil) {
		x.backlog = newBacklog(x)
	}
	return x
}

// ok reports whether l is neither nil nor the zero Listener.
func (l *Listener) ok() bool { return l != nil && l.l != nil }

const (
	defaultHalfOpen = 4096
	defaultDelay    = time.Second
)

func newDoor(cfg *Config) *startup.Door {
	return startup.NewDoor(orDefault(cfg.MaxHalfOpen, defaultHalfOpen), orDefault(cfg.BadSTagDelay, defaultDelay))
}

// Listen listens at address, as net.Listen does. The networks are those of Config.Backend: "tcp",
// "tcp4", "tcp6" and "unix" for the operating system's TCP. A nil cfg means the zero Config. For
// the settings of a net.ListenConfig, pass its listener to NewListener. As with tls.Listen, a
// Config.TLS must have a certificate, or a function that returns one.
func Listen(network, address string, cfg *Config) (*Listener, error) {
	if cfg != nil && cfg.TLS != nil && len(cfg.TLS.Certificates) == 0 && cfg.TLS.GetCertificate == nil && cfg.TLS.GetConfigForClient == nil {
		return nil, errors.New("extsock: the Config.TLS of a Listener has none of Certificates, GetCertificate and GetConfigForClient")
	}
	var backend toe.Backend = &kernel.Backend{}
	if cfg != nil && cfg.Backend != nil {
		backend = cfg.Backend
	}
	on, noDevice := listenOnDevice(network, address, cfg)
	if on != nil {
		return newListener(on, cfg, nil), nil
	}
	var u *rnic.UnavailableError
	if noDevice != nil && !errors.As(noDevice, &u) {
		return nil, noDevice
	}
	l, err := backend.Listen(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	return newListener(streamListener{l}, cfg, noDevice), nil
}

// NewListener returns a Listener on top of l. The connections that l accepts become extended
// sockets, as by NewConn. Config.Backend is not used. The Listener owns l from now on, and its
// Close closes l. A nil cfg means the zero Config.
func NewListener(l net.Listener, cfg *Config) *Listener {
	return newListener(l, cfg, nil)
}

// A streamListener is a Backend's listener as a net.Listener.
type streamListener struct{ toe.Listener }

func (l streamListener) Accept() (net.Conn, error) {
	s, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Accept waits for the next connection and returns it. The connection is a *Conn, and it is the
// Responder in MPA startup.
//
// As over TCP, Accept does not wait for data of the peer. The connection's startup may still be
// running; Read and Write wait for it, and return its error if it fails. Accept does not return
// connections whose startup has already failed. With StartupOff the connection is in TCP mode, and
// its TLS handshake runs at the first use.
func (l *Listener) Accept() (net.Conn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (l *Listener) accept() (*Conn, error) {
	if l.backlog != nil {
		return l.backlog.accept(false)
	}
	return l.acceptBelow()
}

// AcceptDDP waits for the next connection in DDP mode and returns it, whatever Config.Startup says.
// It closes connections whose startup fails, and with StartupPrefer also connections of peers that
// speak plain TCP. A program that serves such peers must use Accept.
//
// If the Listener runs startup itself, AcceptDDP returns the first connection that reaches DDP
// mode, so a silent peer does not delay other peers. If there are more than Config.MaxHalfOpen
// silent peers, the oldest connection of the address with most of them is closed. Otherwise, for
// example with StartupOff, AcceptDDP calls EnableDDP on one connection after another, and a silent
// peer delays the next one for HandshakeTimeout. A server all of whose peers use DDP mode should
// set StartupRequire. AcceptDDP accepts every Request, even with Config.JudgeRequests.
func (l *Listener) AcceptDDP() (*Conn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	if err := privateDataError(l.cfg, nil, true); err != nil { // no connection could be switched
		a := l.Addr()
		return nil, &net.OpError{Op: "accept", Net: a.Network(), Addr: a, Err: err}
	}
	if l.backlog != nil {
		return l.backlog.accept(true)
	}
	for {
		c, err := l.acceptBelow()
		if err != nil || c.inDDPMode() { // on a device
			return c, err
		}
		if c.EnableDDP(context.Background(), nil) == nil {
			return c, nil
		}
		c.Close() // the trace has the error of startup
	}
}

// acceptBelow returns a Conn for the next connection of the listener below.
func (l *Listener) acceptBelow() (*Conn, error) {
	nc, err := l.l.Accept()
	if err != nil {
		return nil, err
	}
	return l.over(nc), nil
}

// over returns a Conn over nc, which the listener below has accepted.
func (l *Listener) over(nc net.Conn) (c *Conn) {
	if c, ok := nc.(*Conn); ok && c.ok() && c.engine().device() != "" {
		return c
	}
	if l.cfg.TLS != nil {
		nc = tls.Server(belowTLS(nc), l.cfg.TLS)
	}
	defer func() {
		if c == nil { // Config.Tap panicked
			nc.Close()
		}
	}()
	c = newNetConn(nc, false, l.cfg, l.door)
	c.withoutDevice(l.noDevice)
	return c
}

// Close stops listening. It does not affect connections that Accept has returned. It resets
// connections that wait for Accept, as the operating system does.
func (l *Listener) Close() error {
	if !l.ok() {
		return syscall.EINVAL
	}
	err := l.l.Close()
	if l.backlog != nil {
		l.backlog.close()
	}
	l.closing.Do(l.background.End)
	return err
}

// Wait waits until the Listener is closed and no work for it remains in the background: it accepts
// no connection, and Conn.Wait would return for every connection that it has accepted and not given
// to the program. Connections that Accept has returned are not counted. Wait returns an error,
// ctx.Err(), only if ctx is done first.
func (l *Listener) Wait(ctx context.Context) error {
	if !l.ok() {
		return syscall.EINVAL
	}
	return l.background.Wait(ctx)
}

// Addr returns the address at which the Listener listens.
func (l *Listener) Addr() net.Addr {
	if !l.ok() {
		return nil
	}
	return l.l.Addr()
}

// SetDeadline sets the deadline of Accept and AcceptDDP, including calls that are waiting now. The
// zero time means no deadline. The error is errors.ErrUnsupported if the Listener does not run
// startup itself and the listener below has no deadlines.
func (l *Listener) SetDeadline(t time.Time) error {
	if !l.ok() {
		return syscall.EINVAL
	}
	if l.backlog != nil {
		return l.backlog.setDeadline(t)
	}
	d, ok := l.below().(interface{ SetDeadline(time.Time) error })
	if !ok {
		return l.unsupported("set")
	}
	return d.SetDeadline(t)
}

// File returns a copy of the operating system's listening socket, as net.TCPListener does. The
// caller must close it. If there is no such socket, the error is errors.ErrUnsupported.
//
// A connection that arrives goes either to the Listener or to the copy. From now on the Listener
// accepts no connection in advance, but only while the program waits in Accept or AcceptDDP.
//
// The copy also shares its blocking mode with the Listener. Calling Fd on the copy makes the socket
// blocking. Accept and Close may then last until the next connection arrives.
func (l *Listener) File() (*os.File, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	f, ok := l.below().(interface{ File() (*os.File, error) })
	if !ok {
		return nil, l.unsupported("file")
	}
	file, err := f.File()
	if err == nil && l.backlog != nil {
		l.backlog.share()
	}
	return file, err
}

// SyscallConn returns access to the operating system's listening socket, for its settings. If there
// is no such socket, the error is errors.ErrUnsupported.
func (l *Listener) SyscallConn() (syscall.RawConn, error) {
	if !l.ok() {
		return nil, syscall.EINVAL
	}
	s, ok := l.below().(syscall.Conn)
	if !ok {
		return nil, l.unsupported("raw")
	}
	return s.SyscallConn()
}

// SetUnlinkOnClose sets whether Close removes the file of a unix socket, as for a net.UnixListener.
// It does nothing if there is no such socket.
func (l *Listener) SetUnlinkOnClose(unlink bool) {
	if !l.ok() {
		return
	}
	if u, ok := l.below().(interface{ SetUnlinkOnClose(unlink bool) }); ok {
		u.SetUnlinkOnClose(unlink)
	}
}

// below returns the listener that has the settings of TCP.
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
