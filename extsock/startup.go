package extsock

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
)

// This file runs the startup that Config.Startup asks for on an existing connection. Package
// internal/conn/startup has the phases of startup, dial.go has Dial, and ddpmode.go has the switch
// to DDP mode.

// A fallbackError says why a connection that preferred DDP mode is plain TCP. It is in the
// ConnectionState. ReceiveRequest is the only call that returns it.
type fallbackError struct {
	Reason startup.Reason
	Err    error // the cause; for startup.Remembered the *fallbackError of the earlier connection
}

func (e *fallbackError) Error() string {
	s := "plain TCP: " + e.Reason.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// fallbackCauses holds the error, for each reason, that errors.Is finds in a fallbackError besides
// the cause.
var fallbackCauses = map[startup.Reason]error{
	startup.NoReply: ErrNoReply, startup.NotMPA: ErrNotMPA, startup.TimedOut: os.ErrDeadlineExceeded,
	startup.PlainPeer: ErrNotMPA, startup.SniffTimeout: os.ErrDeadlineExceeded,
}

// Is reports whether target is ErrPlainTCP or the error of the reason.
func (e *fallbackError) Is(target error) bool {
	return target == ErrPlainTCP || target == fallbackCauses[e.Reason] //nolint:errorlint // Is must compare
}

// Unwrap returns the cause.
func (e *fallbackError) Unwrap() error { return e.Err }

// initStartup begins the life of a new connection.
func (c *Conn) initStartup() {
	cfg := c.cfg
	c.startup.Init(c.stream, startup.Config{
		Initiator: c.initiator, Prefer: cfg.Startup == StartupPrefer, Off: cfg.Startup == StartupOff, Judge: cfg.JudgeRequests, Foreign: cfg.NoCapabilities,
		Err: privateDataError(cfg, nil, true), SniffTimeout: cfg.SniffTimeout, Timeout: cfg.handshakeTimeout(c.initiator),
		Door: c.door, Tap: observe.Frames{Taps: &c.taps},
	})
}

// fellBack returns why the connection is plain TCP although Config.Startup preferred DDP mode. It
// returns nil in DDP mode, before startup has chosen a mode, and if the program asked for plain
// TCP.
func (c *Conn) fellBack() *fallbackError {
	f := c.startup.Fallback()
	if f.Reason == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback == nil {
		c.fallback = &fallbackError{Reason: f.Reason, Err: f.Err}
	}
	return c.fallback
}

// fallBack makes a new connection plain TCP.
func (c *Conn) fallBack(why *fallbackError) {
	c.startup.FallBack(startup.Fallback{Reason: why.Reason, Err: why.Err})
	c.traceFallback(why)
}

func (c *Conn) traceFallback(e *fallbackError) {
	c.trace.Info("plain TCP", "reason", e.Reason.String(), "err", e.Err)
}

// Handshake waits until the startup that Config.Startup asks for is over, as the connection's first
// Read or Write would, and also for TLS's handshake in TCP mode. With StartupPrefer an accepted
// connection waits for the peer's first bytes.
//
// Handshake returns nil if the connection is in DDP mode, and also if it is plain TCP;
// ConnectionState says which, and has the peer's certificates under TLS. If ctx is done first,
// Handshake returns ctx.Err(). Startup then goes on, and the connection remains usable.
func (c *Conn) Handshake(ctx context.Context) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	err := untilDone(ctx, func(d *wait.Deadline) (err error) {
		_, err = c.enter(startup.Waiting, d)
		return err
	})
	if s, ok := c.stream.(interface{ Handshake(context.Context) error }); ok && err == nil && !c.inDDPMode() {
		err = s.Handshake(ctx)
	}
	return c.opError("handshake", err)
}

// untilDone calls f with a deadline that passes when ctx is done.
func untilDone(ctx context.Context, f func(*wait.Deadline) error) error {
	var d wait.Deadline
	stop := context.AfterFunc(ctx, func() { d.Set(time.Unix(1, 0)) })
	defer stop()
	err := f(&d)
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// live runs startup, and then receives if the connection is in DDP mode. One goroutine for both
// costs less than two: its stack has grown already.
func (c *Conn) live() {
	if c.runStartup(nil) {
		c.ddp.Receive()
	}
}

// runStartup runs startup that the program has not asked for by a call. Later calls return its
// error. A Responder calls mayAnswer, unless it is nil, before it answers a Request. If runStartup
// reports that the connection is in DDP mode, the caller must call the driver's Receive.
func (c *Conn) runStartup(mayAnswer func()) (inDDP bool) {
	if c.startup.Phase() == startup.Sniffing && !c.sniff() {
		return false
	}
	ctx := context.Background()
	if c.initiator {
		c.endpoint()
		return c.initiate(ctx, nil, true) == nil
	}
	req, err := c.receiveRequest(ctx)
	if err != nil {
		return false
	}
	if mayAnswer != nil {
		mayAnswer()
	}
	return req.accept(ctx, nil, true) == nil
}

// sniff looks at the peer's first bytes. It reports whether they begin an MPA Request that startup
// itself must receive. It returns false if the program receives the Request by ReceiveRequest.
func (c *Conn) sniff() bool {
	found := c.startup.Sniff()
	mustClose := found.MustClose
	err := guarded(func() error {
		switch {
		case found.Fallback.Reason != 0:
			c.traceFallback(c.fellBack())
		case found.Err != nil:
			c.trace.Warn("no DDP mode", "err", found.Err)
		}
		return nil
	})
	if err != nil && !mustClose {
		mustClose = c.startup.Fail(err)
	}
	if mustClose {
		_ = c.closeStream() // no call waits for the error
	}
	return found.Request
}

// awaitSniff waits for the peer's first bytes if Config.Startup prefers DDP mode. For a peer that
// speaks plain TCP it returns a *fallbackError. If it returns nil, the caller begins the switch,
// which may fail with an error of its own.
func (c *Conn) awaitSniff(ctx context.Context) error {
	over, begun, err := c.startup.Claim()
	if err != nil || over == nil {
		return err
	}
	if begun {
		c.background.Go(c.live)
	}
	select {
	case <-over:
	case <-c.startup.Closed().Done():
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	failed := c.startup.Unclaim(err != nil)
	if failed != nil {
		return failed // more precise than net.ErrClosed
	}
	if fallback := c.fellBack(); err == nil && fallback != nil {
		return fallback
	}
	return err
}

// awaitDelay delays the answer to a peer whose address Config.BadSTagDelay delays.
func (c *Conn) awaitDelay(ctx context.Context) error {
	wait := c.startup.Delay()
	if wait <= 0 {
		return nil
	}
	c.trace.Debug("address waits", "for", wait)
	return c.startup.AwaitDelay(ctx, wait, c.cfg.handshakeTimeout(false))
}
