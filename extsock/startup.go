package extsock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// This file does what Config.Startup asks for on a connection that exists: it looks at the first octets
// (StartupPrefer, accepting side), or switches at the first use. What Dial does is in dial.go.

// A fallbackReason says why a connection that was to prefer DDP mode is plain TCP.
type fallbackReason int

// The reasons. The first four are those of the dialling side.
const (
	fallbackNoReply      fallbackReason = iota + 1 // the peer closed or reset the connection instead of an MPA Reply
	fallbackNotMPA                                 // the peer sent something else than an MPA Reply
	fallbackTimedOut                               // nothing came within Config.PreferTimeout
	fallbackRemembered                             // the peer said so a while ago, see Dialer.FallbackFor; nothing was tried
	fallbackPlainPeer                              // accepting: the peer's first octets are no MPA Request
	fallbackSniffTimeout                           // accepting: no MPA Request came within Config.SniffTimeout

	fallbackReasons
)

func (r fallbackReason) String() string {
	switch r {
	case fallbackNoReply:
		return "no MPA Reply"
	case fallbackNotMPA:
		return "the answer was not MPA"
	case fallbackTimedOut:
		return "no answer in time"
	case fallbackRemembered:
		return "the peer did not speak MPA a while ago"
	case fallbackPlainPeer:
		return "the peer speaks plain TCP"
	case fallbackSniffTimeout:
		return "no MPA Request in time"
	}
	return fmt.Sprintf("fallbackReason(%d)", int(r))
}

// A fallbackError says why a connection that was to prefer DDP mode is plain TCP. It is in the
// ConnectionState, and of all calls only ReceiveRequest fails with it.
type fallbackError struct {
	Reason fallbackReason
	Err    error // what was found; for fallbackRemembered the *fallbackError of the time before
}

func (e *fallbackError) Error() string {
	s := "plain TCP: " + e.Reason.String()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// fallbackCauses has what errors.Is finds in a fallbackError besides what was found, by reason.
var fallbackCauses = [fallbackReasons]error{
	fallbackNoReply: ErrNoReply, fallbackNotMPA: ErrNotMPA, fallbackTimedOut: os.ErrDeadlineExceeded,
	fallbackRemembered: ErrRemembered, fallbackPlainPeer: ErrNotMPA, fallbackSniffTimeout: os.ErrDeadlineExceeded,
}

// Is reports whether target is ErrPlainTCP or the cause that the reason stands for.
func (e *fallbackError) Is(target error) bool {
	return target == ErrPlainTCP || target == fallbackCauses[e.Reason] //nolint:errorlint // that is what Is is for
}

// Unwrap returns the cause.
func (e *fallbackError) Unwrap() error { return e.Err }

// fallbacks counts the connections of the process that fell back to plain TCP, by reason.
var fallbacks [fallbackReasons]atomic.Uint64

// fallbackCounts returns how many connections of the process fell back to plain TCP for each reason.
func fallbackCounts() (counts [fallbackReasons]uint64) {
	for r := range fallbacks {
		counts[r] = fallbacks[r].Load()
	}
	return counts
}

// alreadyOver is closed.
var alreadyOver = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// A startup is how far a connection has come with what Config.Startup asks for. Conn.mu guards it.
//
//	undecided ──► sniffing ──► switching │ settled: plain TCP │ failed: evicted │ undecided: the Request is ReceiveRequest's
//	undecided ──► switching ──► settled: DDP mode, or rejected by the application │ failed
type startup struct {
	settled  bool           // nothing is left to do
	alone    bool           // no call waits for the switch's error, so failed keeps it
	failed   error          // why that switch failed; nil again after Close
	fallback *fallbackError // nil unless the connection fell back

	begun    bool          // MPA startup has begun at least once, so buffers may be posted
	sniffing chan struct{} // not nil while sniff looks at the first octets, closed at the end of that
	judged   bool          // ReceiveRequest waits for what sniff finds
	until    time.Time     // when to stop and take the connection for plain TCP; zero: never
	half     *halfOpen     // not nil while the Listener counts it as half open

	// byListener is set while the Listener's goroutine sees startup to its end, whatever the program
	// does. Close then leaves the connection to that goroutine, so that a peer which was on its way in
	// finds a connection that was accepted and closed, as it would over TCP.
	byListener atomic.Bool

	// ahead is what was read and has not been given out, aheadErr the error behind it. While sniffing
	// is not nil sniff alone changes them, and Read gives nothing out.
	ahead    []byte
	aheadErr error
}

// endLocked notes how a switch has ended.
func (s *startup) endLocked(err error) {
	switch {
	case err == nil:
		s.settled, s.failed = true, nil
	case s.alone:
		s.failed = err
	default:
		s.settled = true // rejected, by one of the two programs, or closed
	}
	s.alone = false
	s.byListener.Store(false)
}

// Handshake waits until what Config.Startup asks for is done, which the connection's first Read or Write
// would wait for otherwise. With StartupPrefer on the accepting side that takes the peer's first octets. It
// returns nil also when the connection is plain TCP then; ConnectionState tells. When ctx is done first, the
// error is ctx.Err(), and the connection is as usable as before: startup goes on.
func (c *Conn) Handshake(ctx context.Context) error {
	calls := 0
	return c.opError("handshake", untilDone(ctx, func(d *deadline) error {
		_, err := c.enter(&calls, d)
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

// countLocked makes the Listener count the connection as half open.
//
// +checklocks:c.mu
func (c *Conn) countLocked() {
	if c.startup.half == nil {
		c.startup.half = c.door.enter()
	}
}

// joinStartupLocked begins what Config.Startup asks for, unless that has begun. The channel is closed when a
// part of it is over.
//
// +checklocks:c.mu
func (c *Conn) joinStartupLocked() (over <-chan struct{}, err error) {
	s := &c.startup
	switch {
	case c.switching != nil:
		return c.switching, nil
	case s.sniffing != nil:
		return s.sniffing, nil
	case c.sniffsLocked():
		c.beginSniffLocked()
		go c.sniff()
		return s.sniffing, nil
	}
	mine, err := c.beginAloneLocked()
	if c.cfg.Startup == StartupPrefer && errors.Is(err, ErrUnread) { // the peer speaks first, so it is no Responder
		c.fallBackLocked(&fallbackError{Reason: fallbackNotMPA, Err: err})
		return alreadyOver, nil
	}
	if err != nil {
		return nil, err
	}
	// HandshakeTimeout bounds the switch, not the deadline of the call that happens to be the first.
	go c.switchAlone(mine)
	return c.switching, nil
}

// beginAloneLocked begins a switch that the caller leaves to switchAlone.
//
// +checklocks:c.mu
func (c *Conn) beginAloneLocked() (mine mpa.Config, err error) {
	mine, err = c.beginSwitchLocked(nil)
	c.startup.alone = err == nil
	return mine, err
}

// switchAlone is EnableDDP for a connection that switches by itself. startup.failed takes its error.
func (c *Conn) switchAlone(mine mpa.Config) {
	ctx := context.Background()
	if c.initiator {
		c.endpoint()
		_ = c.endSwitch(c.bounded(ctx, "the MPA Reply", func() error { return c.initiate(mine) }))
		return
	}
	if req, err := c.receiveRequest(ctx); err == nil {
		_ = req.Accept(ctx, nil)
	}
}

// fallBackLocked settles that the connection is plain TCP.
//
// +checklocks:c.mu
func (c *Conn) fallBackLocked(e *fallbackError) {
	c.startup.settled, c.startup.fallback = true, e
	fallbacks[e.Reason].Add(1)
}

// traceFallback is called without the lock; e may be nil.
func (c *Conn) traceFallback(e *fallbackError) {
	if e != nil {
		c.trace.info("plain TCP", "reason", e.Reason.String(), "err", e.Err)
	}
}

// readPlain is Read in TCP mode.
func (c *Conn) readPlain(p []byte) (int, error) {
	if c.ahead.Load() && isClosed(c.readDeadline.done()) {
		return 0, c.opError("read", errDeadline) // as TCP, whatever has come
	}
	n, err := c.readStream(p)
	c.taps.plain(p[:n], false)
	return n, err
}

// readStream reads from the stream; what was read ahead comes first.
func (c *Conn) readStream(p []byte) (int, error) {
	if c.ahead.Load() && len(p) > 0 {
		if n, err := c.takeAhead(p); n > 0 || err != nil {
			return n, err
		}
	}
	return c.stream.Read(p)
}

// takeAhead gives out what was read ahead, and then the error that came behind it, once.
func (c *Conn) takeAhead(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.startup
	n = copy(p, s.ahead)
	s.ahead = s.ahead[n:]
	if n == 0 {
		err, s.aheadErr = s.aheadErr, nil
	}
	if len(s.ahead) == 0 && s.aheadErr == nil {
		s.ahead = nil
		c.ahead.Store(false)
	}
	return n, err
}

// unreadLocked returns how many octets are known to have come and not been read, and the first of them.
// Nobody is reading.
//
// +checklocks:c.mu
func (c *Conn) unreadLocked() (n int, begin []byte) {
	s := &c.startup
	waiting := 0
	if p, ok := c.stream.(toe.Pender); ok {
		waiting, _ = p.Pending() // an error comes again
	}
	n = len(s.ahead) + waiting
	if room := keyLen - len(s.ahead); waiting > 0 && room > 0 {
		s.ahead = slices.Grow(s.ahead, room)
		m, _ := c.stream.Read(s.ahead[len(s.ahead):keyLen][:min(waiting, room)]) // does not wait
		s.ahead = s.ahead[:len(s.ahead)+m]
	}
	c.ahead.Store(len(s.ahead) > 0 || s.aheadErr != nil)
	return n, s.ahead
}

// passed reports whether t, unless it is zero, lies in the past.
func passed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// isTimeout reports whether err goes away when a deadline is moved.
func isTimeout(err error) bool {
	var e net.Error
	return err != nil && err != io.EOF && errors.As(err, &e) && e.Timeout() //nolint:errorlint // the common case first
}
