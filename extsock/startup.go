package extsock

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/toe"
)

// This file runs what Config.Startup asks for on a connection that exists. How a connection begins is in
// internal/startup; what Dial does is in dial.go, and the switch to DDP mode in ddpmode.go.

// A fallbackError says why a connection that was to prefer DDP mode is plain TCP. It is in the
// ConnectionState, and of all calls only ReceiveRequest fails with it.
type fallbackError struct {
	Reason startup.Reason
	Err    error // what was found; for startup.Remembered the *fallbackError of the time before
}

func (e *fallbackError) Error() string {
	s := "plain TCP: " + e.Reason.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// fallbackCauses has what errors.Is finds in a fallbackError besides what was found, by reason.
var fallbackCauses = map[startup.Reason]error{
	startup.NoReply: ErrNoReply, startup.NotMPA: ErrNotMPA, startup.TimedOut: os.ErrDeadlineExceeded,
	startup.PlainPeer: ErrNotMPA, startup.SniffTimeout: os.ErrDeadlineExceeded,
}

// Is reports whether target is ErrPlainTCP or the cause that the reason stands for.
func (e *fallbackError) Is(target error) bool {
	return target == ErrPlainTCP || target == fallbackCauses[e.Reason] //nolint:errorlint // that is what Is is for
}

// Unwrap returns the cause.
func (e *fallbackError) Unwrap() error { return e.Err }

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

// fellBack returns why the connection is plain TCP although Config.Startup preferred DDP mode. It returns nil in DDP mode,
// before the decision, and if plain TCP is what the program asked for.
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

// fallBack settles that a new connection is plain TCP.
func (c *Conn) fallBack(why *fallbackError) {
	c.startup.FallBack(startup.Fallback{Reason: why.Reason, Err: why.Err})
	c.traceFallback(why)
}

func (c *Conn) traceFallback(e *fallbackError) {
	c.trace.info("plain TCP", "reason", e.Reason.String(), "err", e.Err)
}

// Handshake waits until what Config.Startup asks for is done, which the connection's first Read or Write
// would wait for otherwise. With StartupPrefer on the accepting side that takes the peer's first octets. It
// returns nil also when the connection is plain TCP then; ConnectionState tells. When ctx is done first, the
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
			c.traceFallback(c.fellBack())
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
// is a *fallbackError for a plain peer. nil means that the switch may begin, or that its beginning says why
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
	if fallback := c.fellBack(); err == nil && fallback != nil {
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
