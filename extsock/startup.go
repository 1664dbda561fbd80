package extsock

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/toe"
)

// This file runs what Config.Startup asks for on a connection that exists. How a connection begins is in
// internal/startup; what Dial does is in dial.go, and the switch to DDP mode in ddpmode.go.

// A FallbackReason says why a connection that was to prefer DDP mode is plain TCP.
type FallbackReason int

// The reasons. The first four are those of the dialling side.
const (
	FallbackNoReply      = FallbackReason(startup.NoReply)      // the peer closed or reset the connection instead of an MPA Reply
	FallbackNotMPA       = FallbackReason(startup.NotMPA)       // the peer sent something else than an MPA Reply
	FallbackTimedOut     = FallbackReason(startup.TimedOut)     // nothing came within Config.PreferTimeout
	FallbackRemembered   = FallbackReason(startup.Remembered)   // the peer said so a while ago, see Dialer.FallbackFor; nothing was tried
	FallbackPlainPeer    = FallbackReason(startup.PlainPeer)    // accepting: the peer's first octets are no MPA Request
	FallbackSniffTimeout = FallbackReason(startup.SniffTimeout) // accepting: no MPA Request came within Config.SniffTimeout
)

func (r FallbackReason) String() string { return startup.Reason(r).String() }

// A FallbackError says why a connection that was to prefer DDP mode is plain TCP. Conn.Fallback returns it, and
// of all calls only ReceiveRequest fails with it.
type FallbackError struct {
	Reason FallbackReason
	Err    error // what was found; for FallbackRemembered the *FallbackError of the time before
}

func (e *FallbackError) Error() string {
	s := "plain TCP: " + e.Reason.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *FallbackError) Unwrap() error { return e.Err }

// newStartup returns the startup of a connection.
func newStartup(s toe.Stream, initiator bool, cfg *Config, door *startup.Door, t *taps) *startup.Handshake {
	return startup.New(s, startup.Config{
		Initiator: initiator, Prefer: cfg.Startup == StartupPrefer, Off: cfg.Startup == StartupOff, Judge: cfg.JudgeRequests,
		Err: privateDataError(cfg, nil, true), SniffTimeout: cfg.SniffTimeout, Timeout: cfg.handshakeTimeout(initiator),
		Door: door, Tap: frameTap{t},
	})
}

// A frameTap shows startup frames to the Taps of a connection.
type frameTap struct{ taps *taps }

func (t frameTap) Sent(frame []byte)                 { t.taps.frame(frame, true, true) }
func (t frameTap) Received(frame []byte, whole bool) { t.taps.frame(frame, false, whole) }

// Fallback returns why the connection is plain TCP although Config.Startup preferred DDP mode; nil if it
// is in DDP mode, or undecided, or plain TCP was what it is to be.
func (c *Conn) Fallback() *FallbackError {
	f := c.startup.Fallback()
	if f.Reason == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fallback == nil {
		c.fallback = &FallbackError{Reason: FallbackReason(f.Reason), Err: f.Err}
	}
	return c.fallback
}

// fallBack settles that a new connection is plain TCP.
func (c *Conn) fallBack(why *FallbackError) {
	c.startup.FallBack(startup.Fallback{Reason: startup.Reason(why.Reason), Err: why.Err})
	c.traceFallback(why)
}

func (c *Conn) traceFallback(e *FallbackError) {
	c.trace.info("plain TCP", "reason", e.Reason.String(), "err", e.Err)
}

// Handshake waits until what Config.Startup asks for is done, which the connection's first Read or Write
// would wait for otherwise. With StartupPrefer on the accepting side that takes the peer's first octets. It
// returns nil also when the connection is plain TCP then; Mode and Fallback tell. When ctx is done first, the
// error is ctx.Err(), and the connection is as usable as before: startup goes on.
func (c *Conn) Handshake(ctx context.Context) error {
	return c.opError("handshake", untilDone(ctx, func(d *deadline) error {
		_, err := c.enter(startup.Waiting, d)
		return err
	}))
}

// untilDone runs f with a deadline that passes when ctx is done.
func untilDone(ctx context.Context, f func(*deadline) error) error {
	var d deadline
	stop := context.AfterFunc(ctx, func() { d.set(time.Unix(1, 0)) })
	defer stop()
	err := f(&d)
	if errors.Is(err, errDeadline) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// enter begins a call that uses the connection. It waits until startup is over, and begins it where that is due, and
// tells whether the connection is in DDP mode. In TCP mode the call is counted until startup.Leave.
func (c *Conn) enter(u startup.Use, d *deadline) (ddp bool, err error) {
	for {
		e, err := c.startup.Enter(u)
		if err != nil || e.Over == nil {
			return e.DDP, err
		}
		if e.Begun {
			go c.runStartup() // HandshakeTimeout bounds it, not the deadline of the call that happens to be the first
		}
		select {
		case <-e.Over:
		case <-c.closed:
		case <-d.done():
			return false, errDeadline
		}
	}
}

// runStartup runs startup that no call of the program has asked for. Later calls return its error.
func (c *Conn) runStartup() {
	if c.startup.Phase() == startup.Sniffing && !c.sniff() {
		return
	}
	ctx := context.Background()
	if c.initiator {
		c.endpoint()
		_ = c.initiate(ctx, nil)
		return
	}
	if req, err := c.receiveRequest(ctx); err == nil {
		_ = req.Accept(ctx, nil)
	}
}

// sniff looks at the first octets. It reports whether they begin a Request that nobody else wants to receive.
func (c *Conn) sniff() bool {
	found := c.startup.Sniff()
	mustClose := found.MustClose
	err := guarded(func() error {
		switch {
		case found.Fallback.Reason != 0:
			c.traceFallback(c.Fallback())
		case found.Err != nil:
			c.trace.warn("no DDP mode", "err", found.Err)
		}
		return nil
	})
	if err != nil && !mustClose {
		mustClose = c.startup.Fail(err)
	}
	if mustClose {
		_ = c.closeStream() // nobody waits for the error
	}
	return found.Request
}

// awaitSniff waits for the first octets for ReceiveRequest, where Config.Startup prefers DDP mode. The error
// is a *FallbackError for a plain peer. nil means that the switch may begin, or that its beginning says why
// not.
func (c *Conn) awaitSniff(ctx context.Context) error {
	over, begun, err := c.startup.Claim()
	if err != nil || over == nil {
		return err
	}
	if begun {
		go c.runStartup()
	}
	select {
	case <-over:
	case <-c.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	failed := c.startup.Unclaim()
	if failed != nil {
		return failed // it says more than that the connection is closed
	}
	if fallback := c.Fallback(); err == nil && fallback != nil {
		return fallback
	}
	return err
}

// awaitDelay makes the peer wait for its answer if Config.BadSTagDelay delays its address.
func (c *Conn) awaitDelay(ctx context.Context) error {
	wait := c.startup.Delay()
	if wait <= 0 {
		return nil
	}
	c.trace.debug("address waits", "for", wait)
	return c.startup.AwaitDelay(ctx, wait, c.cfg.handshakeTimeout(false))
}

// readPlain is Read in TCP mode.
func (c *Conn) readPlain(p []byte) (int, error) {
	if c.startup.IsAhead() && isClosed(c.readDeadline.done()) {
		return 0, c.opError("read", errDeadline) // as TCP, whatever has come
	}
	n, err := c.startup.Read(p)
	c.taps.plain(p[:n], false)
	return n, err
}
