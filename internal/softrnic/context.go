package softrnic

import (
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// A Caller is the program that has sent a command.
type Caller interface {
	// Process returns the memory of the program.
	Process() (Process, error)
	// NewChannel makes a channel for events to the program, and returns its descriptor there.
	NewChannel() (fd uint32, c Channel, err error)
	// FindChannel returns the channel that a descriptor of the program stands for: the one that
	// NewChannel has returned, or any copy of it. It returns nil if the descriptor is not that of a
	// channel.
	FindChannel(fd int32) Channel
	// Site returns where the program has sent the command, or nil if that is not known.
	Site() check.Site
	// Thread returns the number of the thread that has sent it.
	Thread() int
	// PID returns the process that has sent the command, or 0 if it has ended. Lives reports
	// whether one that has sent a command has not ended.
	PID() int
	Lives(pid int) bool
}

// A Context is a device that a program has opened. Any goroutine may call the methods.
type Context struct {
	dev    *Device
	check  *check.Reporter // nil if the program is not checked
	filled filledMemory    // if the program is checked
	coming comingWrites    // if it is
	// memory is the memory that the program maps. The rings are in it.
	memory Memory

	number uint32 // among the objects of the device

	broken atomic.Bool // see recovers

	mu       locks.Mutex[locks.RNICContext]
	closed   bool                         // +checklocks:mu
	space    allocator                    // +checklocks:mu
	channels map[Channel]*channel         // +checklocks:mu
	pds      map[uint32]*protectionDomain // +checklocks:mu
	mrs      map[uint32]*memoryRegion     // +checklocks:mu
	cqs      map[uint32]*completionQueue  // +checklocks:mu
	srqs     map[uint32]*sharedQueue      // +checklocks:mu
	qps      map[uint32]*queuePair        // +checklocks:mu
	ahs      map[uint32]*protectionDomain // +checklocks:mu
	mws      map[uint32]*memoryWindow     // +checklocks:mu
	// the program has opened it, and not librdmacm
	own bool // +checklocks:mu
	// the program has been refused inline data, and so has found out how much the device has
	asksInline bool // +checklocks:mu
	// functions that have refused to make something, and have not made anything since, if the
	// program is checked
	refusals map[string]refusedCall // +checklocks:mu
	// it was open when its process ended, and no other one has used it since
	left bool // +checklocks:mu

	asyncMu locks.Mutex[locks.RNICAsync]
	async   Channel // +checklocks:asyncMu
	// ends the faults of the context; nil before the channel for events is there
	stopFaults func() // +checklocks:asyncMu

	// late looks for receives in queues that have been empty for a while
	late lookout

	// pairs are the queue pairs of qps, for the doorbell, by their handles.
	pairsMu locks.RWMutex[locks.RNICPairs]
	pairs   map[uint32]*queuePair // +checklocks:pairsMu
	// checked has the queue pairs of pairs, for package check, which needs them while mutexes of a
	// higher rank than pairsMu are locked. It is nil if the program is not checked
	checked atomic.Pointer[[]*queuePair]

	// makers are the processes that have made the objects of the maps above, by the names of these,
	// if the program is checked
	makers map[string]int // +checklocks:mu

	// shown are the objects of the maps above, for Objects
	shown shown
}

// A Memory is zeroed memory that a program can map by its offset. The rings are in it, from the
// offset From on. From is not 0, because the provider takes the offset 0 for "no ring".
type Memory struct {
	Bytes []byte
	From  uint64
	// Release is called with each part that is no longer in use. The part may come into use again.
	// Release may be nil.
	Release func(part []byte)
	// PID is the process that maps it, for the trace.
	PID int
	// Process is what findings about the program have as its process, or empty.
	Process string
}

// Open opens the device for a program. The memory belongs to the Context until Close returns.
func (d *Device) Open(m Memory) (*Context, error) {
	c := &Context{
		dev: d, check: d.check.Of(m.Process), memory: m, number: d.last.Add(1), space: allocator{[]extent{{m.From, uint64(len(m.Bytes))}}}, channels: make(map[Channel]*channel),
		pds: make(map[uint32]*protectionDomain), mrs: make(map[uint32]*memoryRegion), cqs: make(map[uint32]*completionQueue),
		srqs: make(map[uint32]*sharedQueue), qps: make(map[uint32]*queuePair), ahs: make(map[uint32]*protectionDomain),
		mws: make(map[uint32]*memoryWindow), makers: make(map[string]int), pairs: make(map[uint32]*queuePair),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.contexts == nil {
		return nil, syscall.ENODEV
	}
	d.contexts[c] = struct{}{}
	return c, nil
}

// onlyPort is the number of the device's port, which events of the port and of the device name.
const onlyPort = 1

// limits are the sizes of the device, which QUERY_DEVICE returns.
var limits = uverbs.Device{
	MaxMRSize: 1<<63 - 1, MaxQP: 16384, MaxQPWR: 16384, MaxSGE: 32, MaxReadSGE: 32, MaxCQ: 65536, MaxCQE: 1 << 20, MaxMR: 1 << 20, MaxPD: 16384,
	Atomics: uverbs.AtomicHCA, MaxRead: 128, MaxMW: 1 << 20, MaxAH: 65536, MaxSRQ: 16384, MaxSRQWR: 16384, MaxSRQSGE: 27,
	Caps: uverbs.CapCurrentState | uverbs.CapSystemGUID | uverbs.CapRNR | uverbs.CapPortActive |
		uverbs.CapWindow | uverbs.CapInvalidate | uverbs.CapWindow2B,
	VendorID: noVendor, PartID: 0, Hardware: 1, Paging: paging,
}

// paging lists the operations on memory with the right OnDemand: all of them. No memory is pinned,
// whatever its rights are.
var paging = uverbs.Paging{
	Implicit: true,
	RC: uverbs.PagingSend | uverbs.PagingReceive | uverbs.PagingWrite | uverbs.PagingRead | uverbs.PagingAtomic |
		uverbs.PagingSharedReceive,
	UC: uverbs.PagingSend | uverbs.PagingReceive | uverbs.PagingWrite | uverbs.PagingSharedReceive,
	UD: uverbs.PagingSend | uverbs.PagingReceive | uverbs.PagingSharedReceive,
}

// noVendor is the vendor ID that means no vendor, as in rxe. Programs take 0 for an error.
const noVendor = 0xffffff

// smallLimits are the sizes of a device that takes the liberty fault.Sizes: not more than common
// cards have.
var smallLimits = func() uverbs.Device {
	d := limits
	d.MaxQPWR, d.MaxSRQWR, d.MaxCQE = 4096, 4096, 65535
	d.MaxSGE, d.MaxReadSGE, d.MaxSRQSGE, d.MaxRead = 6, 6, 6, check.MostReads
	return d
}()

// smallInline is maxInline of such a device.
const smallInline = 96

// maxInline is the maximum length of inline data in bytes.
const maxInline = 1024

// Doorbell tells the device that the program has posted work requests to some queue pair.
func (c *Context) Doorbell() {
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	for _, q := range c.pairs {
		q.ring()
	}
}

// DoorbellOf is Doorbell for the queue pairs that the program's commands name: rxe's provider
// writes a POST_SEND for each post. The program may have written anything. If a command names no
// queue pair, DoorbellOf rings for all of them.
func (c *Context) DoorbellOf(commands []byte) {
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	var last *queuePair
	for ; len(commands) > 0; commands = commands[min(len(commands), uverbs.PostSendLen):] {
		h, err := uverbs.ParsePostSend(commands)
		q := c.pairs[h]
		if err != nil || q == nil {
			for _, q := range c.pairs {
				q.ring()
			}
			return
		}
		if q != last {
			q.ring()
		}
		last = q
	}
}

// HasPosted reports whether work requests wait in a queue of the program.
func (c *Context) HasPosted() bool {
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	for _, q := range c.pairs {
		if q.sq.Len() > 0 {
			return true
		}
	}
	return false
}

// HasFewPairs reports whether a look at all queue pairs takes less time than finding out which ones
// the program names.
func (c *Context) HasFewPairs() bool {
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	const few = 8
	return len(c.pairs) <= few
}

// DoorbellNow is DoorbellOf that returns once the device has looked. A thread of the program has
// written the command at a place, which may be nil. alone reports whether the queue pair of the
// command has at most one work request that is not over.
func (c *Context) DoorbellNow(command []byte, thread int, s check.Site) (alone bool) {
	defer c.recovers()
	if c.check != nil {
		c.lookNow()
	}
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	alone = true
	if h, err := uverbs.ParsePostSend(command); err == nil && c.pairs[h] != nil {
		c.pairs[h].checkRings(thread, s)
		alone = c.pairs[h].sq.Used() <= 1
	}
	for _, q := range c.pairs {
		if q.sq.Len() > 0 {
			q.traceRang()
			q.look()
		}
		if q.checked != nil && q.sq.Len() > 0 {
			q.lookAtSends()
		}
	}
	return alone
}

// look looks at every send queue. Unlike Doorbell, it waits for goroutines that are looking at one:
// the work requests that they have taken may not be complete yet.
func (c *Context) look() {
	c.pairsMu.RLock()
	defer c.pairsMu.RUnlock()
	for _, q := range c.pairs {
		q.look()
	}
}

// Close destroys all objects of the context. Peers notice that as they would with a NIC.
func (c *Context) Close() {
	c.destroy()
	c.dev.forget(c) // last, so that Device.Close waits for what destroy reports
}

func (c *Context) destroy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	if k := c.check; k != nil {
		c.checkLeftLocked(k)
	}
	c.shown.clear()
	for _, q := range c.qps {
		c.destroyQPLocked(q)
	}
	for _, q := range c.cqs {
		q.close()
		q.channel.leave()
	}
	for _, s := range c.srqs {
		s.close()
	}
	for _, m := range c.mrs {
		m.deregister()
	}
	for _, pd := range c.pds {
		pd.port.close()
	}
	for _, ch := range c.channels {
		ch.leave()
	}
	c.asyncMu.Lock()
	defer c.asyncMu.Unlock()
	if c.async != nil {
		c.stopFaults()
		c.async.Close()
		c.async = nil
	}
}

// Do carries out a command. in is its input, and driverIn the provider's input. Do returns the two
// answers.
func (c *Context) Do(caller Caller, cmd uverbs.Command, in, driverIn []byte) (out, driverOut []byte, err error) {
	x := c.commandsOf(caller, cmd)
	return c.do(x, x, cmd, in, driverIn)
}

// do carries out a command of x by h.
func (c *Context) do(x *commands, h uverbs.Handler, cmd uverbs.Command, in, driverIn []byte) (out, driverOut []byte, err error) {
	if err = syscall.EIO; c.broken.Load() {
		return nil, nil, err
	}
	defer c.recovers()
	if c.check != nil {
		c.lookNow()
	}
	out, driverOut, err = c.execute(h, cmd, in, driverIn)
	if x.later != nil {
		x.later()
	}
	return out, driverOut, err
}

func (c *Context) execute(h uverbs.Handler, cmd uverbs.Command, in, driverIn []byte) (out, driverOut []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, syscall.EIO
	}
	c.left = false
	return uverbs.Execute(h, cmd, in, driverIn)
}

// commands executes the commands of one caller: a uverbs.Handler. The mutex of the Context is held.
type commands struct {
	*Context
	caller Caller
	site   check.Site // of the command, if it hasPlace
	later  func()     // what is left to do without the mutex, or nil
}

// commandsOf returns what executes a command. It asks for the command's place in the program before
// the mutex is taken, because to find it takes a while.
func (c *Context) commandsOf(caller Caller, cmd uverbs.Command) *commands {
	x := &commands{Context: c, caller: caller}
	if c.check != nil && hasPlace(cmd) {
		x.site = caller.Site()
	}
	return x
}

// QueryDevice returns the limits of the device.
func (c *commands) QueryDevice() uverbs.Device {
	d := c.dev.limits
	d.GUID = c.dev.guid
	if c.check != nil && !c.dev.strict { // as of common cards
		d.MaxRead, d.MaxSGE, d.MaxReadSGE = check.MostReads, check.MostSGEs, check.MostSGEs
	}
	if c.dev.rnic {
		d.Atomics = uverbs.AtomicNone
		d.Paging.RC &^= uverbs.PagingAtomic
	}
	return d
}

// none is the error of a command that names an object which is not there.
func none(kind string, handle uint32) error {
	return uverbs.Refuse(syscall.EINVAL, "there is no %s with handle %d", kind, handle)
}

// inUse is the error of a command that would destroy an object which others use.
func inUse(kind string, users int) error {
	return uverbs.Refuse(syscall.EBUSY, "the %s is in use by %d objects", kind, users)
}

// errNoRoom is the error of a command that would make a ring for which there is no memory.
var errNoRoom = uverbs.Refuse(syscall.ENOMEM, "the file of the device has no room for the ring of the queue")

// newHandle returns a handle that no object of the device has.
func (c *Context) newHandle() uint32 { return c.dev.last.Add(1) }

// newRingLocked makes a ring in the memory of c. ok is false if there is no room.
//
// +checklocks:c.mu
func (c *Context) newRingLocked(n, entryLen uint32) (r *ring.Ring, m uverbs.Mapping, ok bool) {
	size, ok := ring.Size(n, entryLen)
	if !ok {
		return nil, m, false
	}
	off, ok := c.space.take(size)
	if !ok {
		return nil, m, false
	}
	return ring.New(c.memory.Bytes[off:off+uint64(size):off+uint64(size)], n, entryLen), uverbs.Mapping{Offset: off, Size: size}, true
}

// newQueueLocked makes a ring for work requests. There is room for n alone if the program is
// checked, or if the device takes that liberty.
//
// +checklocks:c.mu
func (c *Context) newQueueLocked(n, entryLen uint32) (r *ring.Ring, m uverbs.Mapping, ok bool) {
	if r, m, ok = c.newRingLocked(max(n, 1), entryLen); ok && (c.dev.strict || c.check != nil) {
		if c.dev.strict {
			c.dev.faults.Took(fault.Sizes)
		}
		r.Limit(n)
	}
	return r, m, ok
}

// giveBackLocked takes back the memory of a ring that is no longer in use.
//
// +checklocks:c.mu
func (c *Context) giveBackLocked(m uverbs.Mapping) {
	if m.Size > 0 && c.memory.Release != nil {
		c.memory.Release(c.memory.Bytes[m.Offset:][:m.Size])
	}
	c.space.giveBack(m)
}

// QueryPort returns the number of GIDs of the one port.
func (c *commands) QueryPort(port uint8) (gids uint32, err error) {
	if port != onlyPort {
		return 0, uverbs.Refuse(syscall.EINVAL, "there is no port %d, only port %d", port, onlyPort)
	}
	return uint32(len(c.dev.addresses)), nil
}

func uintString(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
