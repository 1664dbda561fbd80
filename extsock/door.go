package extsock

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
)

// A door is where the connections of a Listener come in: it bounds how many are half open, and makes the
// addresses wait whose peers have tried STags. A nil door bounds nothing.
type door struct {
	most  int           // half-open connections; less than 0: any number
	delay time.Duration // for a bad STag; less than 0: none

	mu locks.Mutex[locks.Door]
	// of *halfOpen, oldest first
	open list.List // +checklocks:mu
	// when an address is served again
	until map[string]time.Time // +checklocks:mu
	// the keys of until, a ring
	known [maxDelayed]string // +checklocks:mu
	// where the next key goes
	next int // +checklocks:mu
}

const (
	defaultHalfOpen = 4096
	defaultDelay    = time.Second
	// maxDelayed bounds what is remembered of addresses, and maxDelays how long one waits after many bad STags, in delays.
	maxDelayed = 1024
	maxDelays  = 60
)

func newDoor(cfg *Config) *door {
	return &door{
		most:  orDefault(cfg.MaxHalfOpen, defaultHalfOpen),
		delay: orDefault(cfg.BadSTagDelay, defaultDelay),
	}
}

// A halfOpen is a connection whose peer has to send its MPA Request, or the rest of it.
type halfOpen struct {
	ctx   context.Context // done when it has to go
	evict context.CancelCauseFunc
	place *list.Element // nil once it is not in the list; the door's mu guards it
}

// enter counts one more. Where there are too many, the oldest goes: an honest peer is half open for a round trip,
// so who has been that longest is most likely none. If the newest went, as many silent peers could keep everybody out.
func (d *door) enter() *halfOpen {
	if d == nil || d.most < 0 {
		return nil
	}
	h := &halfOpen{}
	h.ctx, h.evict = context.WithCancelCause(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	h.place = d.open.PushBack(h)
	if d.open.Len() > d.most {
		oldest := d.open.Remove(d.open.Front()).(*halfOpen)
		oldest.place = nil
		oldest.evict(ErrHalfOpen)
		evictions.Add(1)
	}
	return h
}

// leave ends enter. h may be nil, and may have left before.
func (d *door) leave(h *halfOpen) {
	if h == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h.place != nil {
		d.open.Remove(h.place)
		h.place = nil
	}
	h.evict(nil)
}

// evicted reports whether the connection has to go. h may be nil.
func (h *halfOpen) evicted() bool {
	return h != nil && h.ctx.Err() != nil && errors.Is(context.Cause(h.ctx), ErrHalfOpen)
}

// whenEvicted has f called, in a goroutine of its own, once the connection has to go. stop takes that back. h may be nil.
func (h *halfOpen) whenEvicted(f func()) (stop func() bool) {
	if h == nil {
		return func() bool { return false }
	}
	return context.AfterFunc(h.ctx, f)
}

// Counts of the process.
var evictions, handshakeTimeouts, delays atomic.Uint64

// guessed reports whether err, which has ended a connection, is the peer's use of memory that it does not have: what
// trying STags looks like.
func guessed(err error) bool {
	var access *ddp.AccessError
	return errors.As(err, &access) || errors.Is(err, ddp.ErrUnknownSTag) || errors.Is(err, ddp.ErrWrongStream)
}

// penalize has the address wait once more, from now or from the end of the wait it has already.
func (d *door) penalize(a net.Addr) {
	key, ok := delayKey(a)
	if d == nil || d.delay < 0 || !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	until, there := d.until[key]
	if !there {
		if d.until == nil {
			d.until = make(map[string]time.Time)
		}
		delete(d.until, d.known[d.next])
		d.known[d.next] = key
		d.next = (d.next + 1) % maxDelayed
	}
	if until.Before(now) {
		until = now
	}
	if last := now.Add(maxDelays * d.delay); until.After(last.Add(-d.delay)) {
		until = last.Add(-d.delay)
	}
	d.until[key] = until.Add(d.delay)
}

// wait returns how long the address has to wait.
func (d *door) wait(a net.Addr) time.Duration {
	key, ok := delayKey(a)
	if d == nil || !ok {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.until[key])
}

// delayKey returns under what an address is known. Of IPv6 that is the network, of which one host has all addresses;
// a unix socket has none.
func delayKey(a net.Addr) (string, bool) {
	if a == nil {
		return "", false
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		host := p.Addr().Unmap().WithZone("")
		if host.Is6() {
			network, _ := host.Prefix(64)
			return network.String(), true
		}
		return host.String(), true
	}
	host, _, err := net.SplitHostPort(a.String())
	return host, err == nil && host != ""
}

// awaitDelay lets the peer wait whose address has to, before its Request is answered.
func (c *Conn) awaitDelay(ctx context.Context) error {
	wait := c.door.wait(c.RemoteAddr())
	if wait <= 0 {
		return nil
	}
	delays.Add(1)
	c.trace.debug("address waits", "for", wait)
	if wait > c.cfg.handshakeTimeout(false) {
		return ErrDelayed
	}
	c.mu.Lock()
	half := c.startup.half
	c.mu.Unlock()
	gone := make(chan struct{})
	defer half.whenEvicted(func() { close(gone) })()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-gone:
		if half.evicted() {
			return ErrHalfOpen
		}
		return net.ErrClosed
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return net.ErrClosed
	}
}

// leaveDoor notes that the connection is not half open any more.
func (c *Conn) leaveDoor() {
	c.mu.Lock()
	h := c.startup.half
	c.startup.half = nil
	c.mu.Unlock()
	c.door.leave(h)
}
