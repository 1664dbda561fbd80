package startup

import (
	"container/list"
	"math"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A Door is where the connections of one Listener come in. It limits how many connections are half
// open, and it delays the addresses whose peers have tried STags. A nil Door limits nothing.
type Door struct {
	most  int           // half-open connections; negative: any number
	delay time.Duration // for each bad STag; negative: none

	mu    locks.Mutex[locks.Door]
	open  list.List            // +checklocks:mu
	until map[string]time.Time // +checklocks:mu
	known [maxDelayed]string   // +checklocks:mu
	next  int                  // +checklocks:mu
	// open holds the *halfOpen values, oldest first. until says when an address is served again.
	// known is a ring of the keys of until, and next is the place of its next key.
}

const (
	maxDelayed = 1024 // addresses that a Door remembers
	maxDelays  = 60   // the longest delay of an address, in delays of one bad STag
)

// NewDoor returns a Door for at most most half-open connections, which delays an address by delay
// for each bad STag. A negative value of either means no limit, and no delay. The longest delay
// must be a time.Duration too, so a Door makes delay at most 4 years.
func NewDoor(most int, delay time.Duration) *Door {
	return &Door{most: most, delay: min(delay, math.MaxInt64/maxDelays)}
}

// A halfOpen is the place of one half-open connection: its peer has not sent its whole MPA Request
// yet. The methods of a nil halfOpen do nothing.
type halfOpen struct {
	door *Door
	gone chan struct{} // closed when the connection has left or was evicted

	element *list.Element // +checklocks:door.mu
	evicted bool          // +checklocks:door.mu
	wake    func()        // +checklocks:door.mu
	// element is nil once the connection is out of the list. wake runs when the connection is
	// evicted.
}

// enter counts one more half-open connection. If there are too many, the oldest is evicted. An
// honest peer stays half open for one round trip, so the oldest half-open connection is the least
// likely to be honest. If the newest were evicted, a few silent peers could keep everybody out.
// enter returns nil if the Door has no limit.
//
// The analyzer cannot know that the door of each halfOpen in the list is d.
//
// +checklocksignore
func (d *Door) enter() *halfOpen {
	if d == nil || d.most < 0 {
		return nil
	}
	h := &halfOpen{door: d, gone: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	h.element = d.open.PushBack(h)
	if d.open.Len() > d.most {
		d.open.Front().Value.(*halfOpen).evictLocked()
	}
	return h
}

// evictLocked takes the connection out of the list and wakes the goroutine that waits for its peer.
//
// +checklocks:h.door.mu
func (h *halfOpen) evictLocked() {
	h.outLocked()
	h.evicted = true
	evictions.Add(1)
	if h.wake != nil {
		go h.wake() // it takes locks
	}
}

// outLocked takes the connection out of the list.
//
// +checklocks:h.door.mu
func (h *halfOpen) outLocked() {
	h.door.open.Remove(h.element)
	h.element = nil
	close(h.gone)
}

// leave ends enter. It may be called more than once.
func (h *halfOpen) leave() {
	if h == nil {
		return
	}
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	if h.element != nil {
		h.outLocked()
	}
}

// done returns a channel that is closed when the connection is evicted, or leaves. It is nil for a
// nil halfOpen.
func (h *halfOpen) done() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.gone
}

// isEvicted reports whether the connection must be closed.
func (h *halfOpen) isEvicted() bool {
	if h == nil {
		return false
	}
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	return h.evicted
}

// whenEvicted makes eviction call wake in a goroutine of its own, at once if the connection was
// evicted before. It replaces an earlier wake; nil takes that away.
func (h *halfOpen) whenEvicted(wake func()) {
	if h == nil {
		return
	}
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	h.wake = wake
	if wake != nil && h.evicted {
		go wake()
	}
}

// Counts of the process.
var evictions, handshakeTimeouts, delays atomic.Uint64

// HalfOpenEvictions returns how many half-open connections of the process were evicted.
func HalfOpenEvictions() uint64 { return evictions.Load() }

// HandshakeTimeouts returns how many MPA startups of the process took too long.
func HandshakeTimeouts() uint64 { return handshakeTimeouts.Load() }

// BadSTagDelays returns how many MPA Requests of the process were delayed because of bad STags.
func BadSTagDelays() uint64 { return delays.Load() }

// Remembered returns how many addresses the Door remembers.
func (d *Door) Remembered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.until)
}

// Penalize delays an address once more. The delay begins now, or when the address's present delay
// ends.
func (d *Door) Penalize(a net.Addr) {
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

// Delay returns how long the address must wait from now on. It is zero or negative if the address
// need not wait.
func (d *Door) Delay(a net.Addr) time.Duration {
	if d == nil || d.Remembered() == 0 { // the common case: a key costs more than to look
		return 0
	}
	key, ok := delayKey(a)
	if !ok {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.until[key])
}

// delayKey returns the key under which a Door remembers an address. For IPv6 the key is the /64
// network, because one host can have all of its addresses. A unix socket has no key.
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
