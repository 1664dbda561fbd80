package startup

import (
	"math"
	"net"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
)

// A Door admits the connections of one Listener. It limits how many of them are half open, and it
// delays the addresses whose peers have tried STags. A nil Door limits nothing.
type Door struct {
	open  *admission.Limiter // of half-open connections, which all are quiet; nil: any number
	delay time.Duration      // for each bad STag; negative: none

	mu    locks.Mutex[locks.Door]
	until map[admission.Source]time.Time // +checklocks:mu
	known [maxDelayed]admission.Source   // +checklocks:mu
	next  int                            // +checklocks:mu
	// until says when a source is served again. known is a ring of the keys of until, and next is
	// the place of its next key.
}

const (
	maxDelayed = 1024 // addresses that a Door remembers
	maxDelays  = 60   // the longest delay of an address, in delays of one bad STag
)

// NewDoor returns a Door for at most most half-open connections, which delays an address by delay
// for each bad STag. A negative value of either means no limit, and no delay. The longest delay of
// an address must be a time.Duration too, so NewDoor limits delay to less than five years.
func NewDoor(most int, delay time.Duration) *Door {
	d := &Door{delay: min(delay, math.MaxInt64/maxDelays)}
	if most > 0 {
		d.open = admission.New(0, most)
	}
	return d
}

// A halfOpen is the place of one half-open connection: its peer has not sent its whole MPA Request
// yet. The methods of a nil halfOpen do nothing.
type halfOpen struct {
	door  *Door
	place *admission.Place
	gone  wait.Latch // the connection has left or was evicted; set with door.mu held

	evicted bool   // +checklocks:door.mu
	wake    func() // +checklocks:door.mu
	// wake runs when the connection is evicted.
}

// enter counts one more half-open connection. If there are too many, the oldest of the address with
// most of them is evicted. An honest peer stays half open for one round trip, so the oldest
// half-open connection is the least likely to be honest. If the newest were evicted, a few silent
// peers could keep everybody out. enter returns nil if the Door has no limit.
func (d *Door) enter(from net.Addr) *halfOpen {
	if d == nil || d.open == nil {
		return nil
	}
	h := &halfOpen{door: d}
	h.place = d.open.New(admission.SourceOf(from), func(error) { h.evict() })
	if !h.place.Enter() { // newer connections have entered first
		h.evict()
	}
	return h
}

// evict wakes the goroutine that waits for the peer of a connection that has lost its place.
func (h *halfOpen) evict() {
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	if h.gone.IsSet() {
		return // it is not half open any more
	}
	h.gone.Set()
	h.evicted = true
	evictions.Add(1)
	if h.wake != nil {
		go guard(h.wake) // it takes locks
	}
}

// leave ends enter. It may be called more than once.
func (h *halfOpen) leave() {
	if h == nil {
		return
	}
	h.place.Leave()
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	if !h.gone.IsSet() {
		h.gone.Set()
	}
}

// done returns a channel that is closed when the connection is evicted, or leaves. It is nil for a
// nil halfOpen.
func (h *halfOpen) done() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.gone.Done()
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
// evicted before. It replaces an earlier wake; nil removes it.
func (h *halfOpen) whenEvicted(wake func()) {
	if h == nil {
		return
	}
	h.door.mu.Lock()
	defer h.door.mu.Unlock()
	h.wake = wake
	if wake != nil && h.evicted {
		go guard(wake)
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
// ends. Peers that have no address, such as those at a unix socket, are not delayed.
func (d *Door) Penalize(a net.Addr) {
	from := admission.SourceOf(a)
	if d == nil || d.delay < 0 || !from.IsKnown() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	until, there := d.until[from]
	if !there {
		if d.until == nil {
			d.until = make(map[admission.Source]time.Time)
		}
		delete(d.until, d.known[d.next])
		d.known[d.next] = from
		d.next = (d.next + 1) % maxDelayed
	}
	if until.Before(now) {
		until = now
	}
	if last := now.Add(maxDelays * d.delay); until.After(last.Add(-d.delay)) {
		until = last.Add(-d.delay)
	}
	d.until[from] = until.Add(d.delay)
}

// Delay returns how long the address must wait from now on. It is zero or negative if the address
// need not wait.
func (d *Door) Delay(a net.Addr) time.Duration {
	if d == nil || d.Remembered() == 0 { // the common case: a key costs more than this look
		return 0
	}
	from := admission.SourceOf(a)
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.until[from])
}
