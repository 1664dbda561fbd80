package extsock

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// This file looks at the first octets of a connection that was accepted with StartupPrefer: they are an MPA
// Request, or the program's.

// keyLen is how many octets tell an MPA Request from everything else.
const keyLen = len("MPA ID Req Frame")

// awaitSniff waits for the first octets for ReceiveRequest, where Config.Startup prefers DDP mode. The error
// is a *fallbackError for a plain peer. nil means that the switch may begin, or that its beginning says why
// not.
func (c *Conn) awaitSniff(ctx context.Context) error {
	c.mu.Lock()
	s := &c.startup
	if !c.sniffsLocked() || c.switching != nil || c.mode == modeDDP || c.isClosed() {
		c.mu.Unlock()
		return nil
	}
	if s.judged {
		c.mu.Unlock()
		return ErrBusy
	}
	if s.sniffing == nil {
		c.beginSniffLocked()
		go c.sniff()
	}
	s.judged = true
	over := s.sniffing
	c.mu.Unlock()
	var err error
	select {
	case <-over:
	case <-c.closed:
		err = net.ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.judged = false
	switch {
	case err != nil:
		return err
	case s.fallback != nil:
		return s.fallback
	}
	return s.failed
}

// sniffsLocked reports whether the first octets have to be looked at to learn what the peer speaks.
//
// +checklocks:c.mu
func (c *Conn) sniffsLocked() bool {
	s := &c.startup
	return c.cfg.Startup == StartupPrefer && !c.initiator && !s.settled && len(s.ahead) < keyLen
}

// beginSniffLocked makes callers wait for a sniff, which the caller runs next, in a goroutine.
//
// +checklocks:c.mu
func (c *Conn) beginSniffLocked() {
	s := &c.startup
	s.sniffing, s.ahead = make(chan struct{}), make([]byte, 0, keyLen)
	if c.cfg.SniffTimeout > 0 {
		s.until = time.Now().Add(c.cfg.SniffTimeout)
	}
	c.boundSniffLocked()
}

// hurrySniffLocked is for a Write, or a Close, that waits for the first octets: where none have come, it waits for
// them for at most defaultSniff.
//
// +checklocks:c.mu
func (c *Conn) hurrySniffLocked() {
	s := &c.startup
	until := time.Now().Add(defaultSniff)
	if s.sniffing != nil && len(s.ahead) == 0 && (s.until.IsZero() || s.until.After(until)) {
		s.until = until
		c.boundSniffLocked()
	}
}

// boundSniff is boundSniffLocked for a sniff that may be over.
func (c *Conn) boundSniff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.startup.sniffing != nil {
		c.boundSniffLocked()
	}
}

// boundSniffLocked sets the stream's read deadline for the sniff. It reports whether it could: not for a stream without
// deadlines, nor for a closed one.
//
// +checklocks:c.mu
func (c *Conn) boundSniffLocked() bool {
	t := c.startup.until
	if c.startup.half.evicted() {
		t = time.Unix(1, 0)
	}
	return c.stream.SetReadDeadline(t) == nil
}

// sniff reads the first octets until they are an MPA Request's key, or can't become one. Of the key it
// takes no octet more, and what it has taken is kept. If they are the key sniff switches the connection,
// unless the Request is left to the program.
func (c *Conn) sniff() {
	s := &c.startup
	for {
		n, err := c.stream.Read(s.ahead[len(s.ahead):keyLen])
		c.mu.Lock()
		if n > 0 && len(s.ahead) == 0 {
			// It is not silent. But it may be a plain peer that has sent the first octets of the key and waits.
			s.until = time.Now().Add(c.cfg.handshakeTimeout(false))
			c.countLocked()
			defer s.half.whenEvicted(c.boundSniff)()
		}
		s.ahead = s.ahead[:len(s.ahead)+n]
		verdict := c.judgeSniffLocked(err)
		if verdict == sniffOn {
			c.boundSniffLocked() // the deadline may have moved
			c.mu.Unlock()
			continue
		}
		c.endSniff(verdict)
		return
	}
}

// A sniffed is what the first octets say.
type sniffed int

const (
	sniffOn      sniffed = iota // not enough of them
	sniffRequest                // an MPA Request
	sniffPlain                  // plain TCP
	sniffLate                   // nothing: plain TCP
	sniffEvicted                // the Listener has too many half-open connections
	sniffClosed                 // the connection was closed
)

// judgeSniffLocked judges the octets in startup.ahead, and err, which came behind them.
//
// +checklocks:c.mu
func (c *Conn) judgeSniffLocked(err error) sniffed {
	s := &c.startup
	key := mpa.Key(false)
	late := isTimeout(err)
	closed := c.isClosed() && !s.byListener.Load()
	if err != nil && !late && !closed {
		s.aheadErr = err
	}
	switch {
	case closed:
		return sniffClosed
	case s.half.evicted():
		return sniffEvicted
	case !bytes.HasPrefix(key[:], s.ahead):
		return sniffPlain
	case len(s.ahead) == keyLen:
		return sniffRequest
	case s.aheadErr != nil: // io.EOF, say
		return sniffPlain
	case late && passed(s.until) && !c.moreSniffLocked():
		return sniffLate
	}
	return sniffOn
}

// moreSniffLocked reports whether the first octets have come, and the read whose time was over has not taken them. Then
// this process was late and not the peer: the sniff gets as much time as a Request. It does so once, or a peer could
// have as much for each octet.
//
// +checklocks:c.mu
func (c *Conn) moreSniffLocked() bool {
	p, ok := c.stream.(toe.Pender)
	if !ok || len(c.startup.ahead) > 0 {
		return false
	}
	n, err := p.Pending()
	more := err == nil && n > 0
	if more {
		c.startup.until = time.Now().Add(c.cfg.handshakeTimeout(false))
	}
	return more
}

// endSniff acts on what the first octets say, and lets the waiting callers go on. c.mu is held when it is
// called, and not when it returns.
//
// +checklocksrelease:c.mu
func (c *Conn) endSniff(verdict sniffed) {
	s := &c.startup
	switch verdict {
	case sniffPlain:
		c.fallBackLocked(&fallbackError{Reason: fallbackPlainPeer, Err: s.sniffError()})
	case sniffLate:
		c.fallBackLocked(&fallbackError{Reason: fallbackSniffTimeout, Err: s.sniffError()})
	case sniffEvicted:
		s.failed = ErrHalfOpen
	}
	c.ahead.Store(len(s.ahead) > 0 || s.aheadErr != nil)
	_ = c.stream.SetReadDeadline(c.readDeadline.time())
	close(s.sniffing)
	s.sniffing = nil
	var mine mpa.Config
	switches := verdict == sniffRequest && !s.judged && !c.cfg.JudgeRequests
	if verdict == sniffRequest && !s.judged && !switches {
		s.until = time.Time{} // nobody waits for the rest of the Request; whoever asks for it begins a new time
	}
	if switches {
		var err error
		mine, err = c.beginAloneLocked()
		switches = err == nil
	}
	if !switches {
		s.byListener.Store(false)
	}
	fallback, closed := s.fallback, c.isClosed()
	if verdict == sniffEvicted {
		c.abandonLocked()
	}
	c.mu.Unlock()
	if fallback != nil {
		c.leaveDoor()
		told := guarded(func() error { c.traceFallback(fallback); return nil })
		closed = closed || c.fails(told)
	}
	switch {
	case switches:
		c.switchAlone(mine)
	case closed && verdict != sniffClosed: // Close has left the stream to the sniff
		_ = c.closeStream() // nobody waits for the error
	case verdict == sniffEvicted:
		_ = guarded(func() error { c.trace.warn("no DDP mode", "err", ErrHalfOpen); return nil })
		_ = c.closeStream() // ErrHalfOpen says more
	}
}

// fails ends a connection in TCP mode because of err, a panic, unless that is nil or the connection is closed. It
// reports whether the caller has to close the stream.
func (c *Conn) fails(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil || c.isClosed() {
		return false
	}
	c.startup.failed = err
	c.abandonLocked()
	return true
}

// sniffError says what was found instead of a Request.
func (s *startup) sniffError() error {
	switch {
	case len(s.ahead) > 0:
		return fmt.Errorf("%w: it begins %q", ErrNotMPA, s.ahead)
	case s.aheadErr != nil:
		return fmt.Errorf("%w: %w", ErrNoRequest, s.aheadErr)
	}
	return ErrNoRequest
}
