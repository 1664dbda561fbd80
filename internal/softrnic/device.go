package softrnic

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/softrnic/trace"
	"github.com/rddp/rddp/internal/softrnic/user"
)

// A Config configures a Device.
type Config struct {
	// Addresses are the addresses of this host at which peers find the device. Each is a GID, in
	// this order. There must be at least one.
	Addresses []netip.Addr
	// Log receives an event for each context, and for the beginning and the end of each
	// connection. Nil means none.
	Log *slog.Logger
	// Faults are the injected faults. Nil means none.
	Faults *fault.Injector
	// OnlyTCP says that even peers on this host are connected by TCP, instead of through memory.
	OnlyTCP bool
	// RNIC makes the device like a card for iWARP: it reports that it has no atomics, has RC queue
	// pairs only, and programs cannot connect these by ibv_modify_qp, but by rdma_cm.
	RNIC bool
	// Check, if not nil, gets the mistakes of the programs.
	Check *check.Reporter
	// Trace, if not nil, gets what the device does.
	Trace *trace.Tracer
	// Capture, if not nil, gets what is said on connections.
	Capture *pcapng.Writer
}

// A Device is an RDMA device. Programs open it: see Open.
type Device struct {
	addresses   []netip.Addr
	log         *slog.Logger
	faults      *fault.Injector
	check       *check.Reporter // nil if the programs are not checked
	trace       *trace.Tracer   // nil if the device is not traced
	capture     *pcapng.Writer  // nil if there is none
	onlyTCP     bool            // even to peers on this host
	rnic        bool            // see Config
	limits      uverbs.Device   // its sizes
	maxInline   uint32
	strict      bool // see fault.Sizes
	rnrTick     time.Duration
	missMost    time.Duration
	managerTime time.Duration
	userOf      func(*conn.Conn) user.Relation // the function userOf, unless a test replaces it
	guid        [8]byte
	// ctx is done when the device closes.
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // the connections and what they still have to send
	last   atomic.Uint32  // the last handle of an object, or number of a context

	mu locks.Mutex[locks.Leaf]
	// queue pairs by QPN
	pairs map[uint32]*queuePair // +checklocks:mu
	// the calls of Expect that are in effect, by peer
	expected map[far]int // +checklocks:mu
	warnings warnings    // +checklocks:mu

	keys keyBook
	ends checkedEnds
	uses checkedUses
	// the open contexts; nil once the device is closed
	contexts map[*Context]struct{} // +checklocks:mu
}

// missMost is how long work requests wait at most for a peer that has left. Tests may use another
// time.
const missMost = time.Second

// rnrTick is the unit of the table in rnrTime. Tests may use another unit.
const rnrTick = 10 * time.Microsecond

// managerTime is how long a connection manager that is expected to connect a queue pair has for
// that: see joinLater. Tests may use another time. A program accepts a request as soon as it has
// taken its queue pair to RTR.
const managerTime = 100 * time.Millisecond

// New returns a new device.
func New(c Config) (*Device, error) {
	if len(c.Addresses) == 0 {
		return nil, errors.New("softrnic: no address")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := &Device{
		addresses: c.Addresses, log: c.Log, faults: c.Faults, check: c.Check, trace: c.Trace, capture: c.Capture, onlyTCP: c.OnlyTCP, rnic: c.RNIC,
		rnrTick: rnrTick, missMost: missMost, managerTime: managerTime, userOf: userOf,
		pairs: make(map[uint32]*queuePair), warnings: make(warnings), contexts: make(map[*Context]struct{}),
	}
	d.limits, d.maxInline = limits, maxInline
	if d.strict = d.faults.Takes(fault.Sizes); d.strict {
		d.limits, d.maxInline = smallLimits, smallInline
	}
	if dice := d.faults.Dice(fault.GIDs); dice != nil && len(d.addresses) > 1 {
		d.addresses = slices.Clone(d.addresses)
		dice.Shuffle(len(d.addresses), func(i, j int) { d.addresses[i], d.addresses[j] = d.addresses[j], d.addresses[i] })
		d.faults.Took(fault.GIDs)
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	_, _ = rand.Read(d.guid[:])
	d.guid[0] = d.guid[0]&^1 | 2 // as in a locally administered address
	return d, nil
}

// GUID returns the GUID of the device, which is random.
func (d *Device) GUID() [8]byte { return d.guid }

// GIDs returns the addresses of the device as GIDs.
func (d *Device) GIDs() []uverbs.GID {
	var all []uverbs.GID
	for _, a := range d.addresses {
		all = append(all, uverbs.GID(a.As16()))
	}
	return all
}

// Linger is how long Close waits for peers to take what was sent to them.
const Linger = 2 * time.Second

// Close closes all contexts of the device. It waits until the peers have what was sent to them, for
// at most Linger.
func (d *Device) Close() {
	d.mu.Lock()
	contexts := d.contexts
	d.contexts = nil
	d.mu.Unlock()
	for c := range contexts {
		if !c.broken.Load() { // else it may be locked for ever
			c.Close()
		}
	}
	done := make(chan struct{})
	go func() {
		d.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(Linger):
	}
	d.cancel()
}

// forget is the event that a context is closed.
func (d *Device) forget(c *Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.contexts, c)
}

// begin counts n goroutines that Close must wait for. It returns false if the device is closed.
func (d *Device) begin(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.contexts == nil {
		return false
	}
	d.work.Add(n)
	return true
}

// add gives q a QPN at port p and makes it known to peers. It returns false if the port has no
// number left.
func (d *Device) add(q *queuePair, p uint16) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range uint32(pairsPerPort) {
		if n := uint32(p)<<8 | i; d.pairs[n] == nil {
			q.num = n
			d.pairs[n] = q
			return true
		}
	}
	return false
}

func (d *Device) remove(q *queuePair) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pairs, q.num)
}

func (d *Device) find(qpn uint32) *queuePair {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pairs[qpn]
}

// pairsPerPort is how many queue pairs a port has: a QPN is a port and 8 bits.
const pairsPerPort = 256

// qpnAddress returns the address at which the device with the given GID has a queue pair.
func qpnAddress(gid uverbs.GID, qpn uint32) string {
	a := netip.AddrFrom16(gid).Unmap()
	return net.JoinHostPort(a.String(), uintString(qpn>>8))
}

// A far names a queue pair of any device.
type far struct {
	gid uverbs.GID
	qpn uint32
}

// expects reports whether a connection manager may connect the queue pair that a program joins with
// p.
func (d *Device) expects(p far) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expected[p] > 0
}
