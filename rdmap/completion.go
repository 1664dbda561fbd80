package rdmap

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/ring"
)

// A Status says how a request ended.
type Status uint8

// The statuses. With every status but StatusOK, Err contains the reason.
const (
	StatusOK              Status = iota
	StatusFlushed                // the stream ended first, or Cancel canceled the request
	StatusLocalLength            // the message was longer than this receive buffer
	StatusLocalProtection        // the peer's Read Response did not fit this Read
	StatusRemoteAccess           // the peer refused this Read's or atomic's STag or TO; on a device, a Write's too
	StatusRemoteOperation        // the peer could not perform this operation
	StatusGeneral                // another error of this request
)

var statusNames = [...]string{
	"success", "flushed", "local length error", "local protection error", "remote access error",
	"remote operation error", "general error",
}

// String returns the status in words.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// A Completion is the one result of one request. Fields that the operation does not have are zero.
type Completion struct {
	ID             uint64 // ID of the request
	QPNum          uint64 // Config.QPNum of the queue pair
	Op             WorkOp // WorkRecv for a receive buffer
	Status         Status
	Err            error    // the reason; nil if and only if Status is StatusOK
	Len            uint32   // bytes sent, read, or received into the buffer
	Solicited      bool     // of a receive: the sender asked for an Event
	HasInvalidated bool     // of a receive: Invalidated is valid
	Invalidated    ddp.STag // the local STag that the message has invalidated
	HasImmediate   bool     // of a receive: Immediate is valid
	Immediate      uint64   // the 8 bytes of Immediate Data, the first byte highest
	Original       uint64   // of an atomic: the previous value of the word
}

// String returns the Completion on one line.
func (c Completion) String() string {
	s := fmt.Sprintf("%v %d: %v", c.Op, c.ID, c.Status)
	if c.Err != nil {
		return s + ": " + c.Err.Error()
	}
	switch {
	case c.HasImmediate:
		s += fmt.Sprintf(", immediate %#016x", c.Immediate)
	case c.Op.isAtomic():
		s += fmt.Sprintf(", original %#x", c.Original)
	case !c.Op.isImmediate():
		s += fmt.Sprintf(", %d bytes", c.Len)
	}
	if c.HasInvalidated {
		s += fmt.Sprintf(", invalidated STag %#08x", uint32(c.Invalidated))
	}
	if c.Solicited {
		s += ", solicited"
	}
	return s
}

// wakes reports whether the Completion ends a Wait for solicited ones. Solicited Completions and
// failures do.
func (c Completion) wakes() bool { return c.Solicited || c.Status != StatusOK }

// A CompletionQueue holds Completions until they are taken. Any number of queue pairs can share
// one, and any goroutine may use it. It never overflows, because a request reserves its entry when
// it is posted and keeps the entry until its Completion is taken. A queue of depth 1, which serves
// one request at a time, takes no lock. NewCompletionQueue makes a CompletionQueue. The zero value
// has no room.
type CompletionQueue struct {
	// A value in ready means that the queue may hold Completions, and a value in solicited that it
	// may hold one that ends a Wait for solicited ones. Many queues are only polled, so the first
	// consumer that wants to wait makes the channel.
	ready     lazyChan
	solicited lazyChan

	depth int   // the maximum number of entries
	slot  *slot // the only entry if depth is 1; otherwise nil, and the fields below hold the entries

	// free is the number of entries that are neither in the ring nor reserved for a posted request.
	// A post changes free to reserve an entry without a lock.
	free atomic.Int64
	// n is the number of entries in the ring. It changes only while mu is held. A consumer that
	// finds an empty queue needs no lock.
	n atomic.Int64

	mu locks.Mutex[locks.Completions]
	// entries grows to the length that the queue needs.
	// +checklocks:mu
	entries ring.Ring[Completion]
	// waking is the number of entries that end a wait for solicited ones.
	// +checklocks:mu
	waking int
}

// NewCompletionQueue returns a queue with room for depth Completions, at least 1.
func NewCompletionQueue(depth int) *CompletionQueue {
	c := new(CompletionQueue)
	c.Init(depth)
	return c
}

// Init makes c what NewCompletionQueue returns. It is for an owner that has the queue in its own
// memory, and must be called before the other methods.
func (c *CompletionQueue) Init(depth int) {
	c.depth = max(depth, 1)
	if c.depth == 1 {
		c.slot = new(slot)
	}
	c.free.Store(int64(c.depth))
}

// Len returns the number of Completions in the queue.
func (c *CompletionQueue) Len() int {
	if c.slot != nil {
		return c.slot.len()
	}
	return int(c.n.Load())
}

// Ready returns a channel that receives a value when the queue may hold Completions. Call Poll to
// find out. If Poll leaves some Completions, the channel receives another value.
func (c *CompletionQueue) Ready() <-chan struct{} {
	ready, made := c.ready.get()
	if made && c.Len() > 0 { // these Completions found no channel
		signal(ready)
	}
	return ready
}

// Poll takes up to len(dst) Completions, the oldest first, and returns their number. It never
// waits.
func (c *CompletionQueue) Poll(dst []Completion) int { return c.take(dst, false) }

// Wait takes up to len(dst) Completions, the oldest first, and returns their number. If there is
// none, it waits for one. If solicited is true, it waits until the queue holds a Completion that is
// solicited (RFC 5040 §5.3) or a failure. Wait returns Completions that are in the queue even
// if ctx is done. The only error is ctx.Err(), with 0 Completions. With an empty dst Wait does not
// wait.
func (c *CompletionQueue) Wait(ctx context.Context, dst []Completion, solicited bool) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	// The loop looks for Completions after that, so it misses none that found no channel.
	wake, _ := c.sleeper(solicited).get()
	for {
		if n := c.take(dst, solicited); n > 0 {
			return n, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			if n := c.take(dst, solicited); n > 0 { // select takes either of two channels that are ready
				return n, nil
			}
			return 0, ctx.Err()
		}
	}
}

// take takes as many Completions as dst holds, without waiting. If solicited is true, and no
// Completion in the queue wakes, take takes none. If take leaves Completions, it wakes the next
// consumer.
func (c *CompletionQueue) take(dst []Completion, solicited bool) int {
	// complete signals after it has changed Len, so a consumer misses nothing.
	if c.Len() == 0 {
		return 0
	}
	if c.slot != nil {
		if len(dst) > 0 {
			return c.slot.take(&dst[0], solicited)
		}
		c.ready.signal()
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if solicited && c.waking == 0 {
		return 0
	}
	n := c.pollLocked(dst)
	if c.n.Load() > 0 {
		c.ready.signal()
	}
	if solicited && c.waking > 0 {
		c.solicited.signal()
	}
	return n
}

// pollLocked takes the oldest entries, at most as many as dst holds.
//
// +checklocks:c.mu
func (c *CompletionQueue) pollLocked(dst []Completion) int {
	n := min(len(dst), int(c.n.Load()))
	for i := range n {
		dst[i] = *c.entries.First()
		c.entries.Pop()
		c.n.Add(-1)
		c.free.Add(1)
		if dst[i].wakes() {
			c.waking--
		}
	}
	return n
}

// reserve reserves an entry for a request. It returns false if no entry is free.
func (c *CompletionQueue) reserve() bool {
	if c.slot != nil {
		return c.slot.reserve()
	}
	for free := c.free.Load(); free > 0; free = c.free.Load() {
		if c.free.CompareAndSwap(free, free-1) {
			return true
		}
	}
	return false
}

// release gives back a reserved entry that is not needed.
func (c *CompletionQueue) release() {
	if c.slot != nil {
		c.slot.release()
		return
	}
	c.free.Add(1)
}

// Reserve reserves an entry, for a request whose Completion does not come from a QP of this package
// but, for example, from an RDMA device. It returns false if no entry is free.
func (c *CompletionQueue) Reserve() bool { return c.reserve() }

// Fill puts done into an entry that Reserve has reserved. If done is nil, Fill gives the entry
// back.
func (c *CompletionQueue) Fill(done *Completion) {
	if done == nil {
		c.release()
		return
	}
	c.complete(*done)
}

// complete fills a reserved entry.
func (c *CompletionQueue) complete(done Completion) {
	wakes := done.wakes()
	if c.slot != nil {
		c.slot.complete(&done, wakes)
	} else {
		c.push(&done, wakes)
	}
	c.ready.signal()
	if wakes {
		c.solicited.signal()
	}
}

// sleeper returns the channel that a consumer waits for.
func (c *CompletionQueue) sleeper(solicited bool) *lazyChan {
	if solicited {
		return &c.solicited
	}
	return &c.ready
}

// push appends an entry to the ring. wakes says whether the Completion ends a Wait for solicited
// ones.
func (c *CompletionQueue) push(done *Completion, wakes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n.Load()
	if n+c.free.Load() >= int64(c.depth) {
		panic(errNotReserved)
	}
	*c.entries.Push() = *done
	if wakes {
		c.waking++
	}
	c.n.Store(n + 1)
}

// errNotReserved is the panic value for a bug of this package.
const errNotReserved = "BUG: Completion without a reserved entry"

// A lazyChan is a channel of capacity 1 that is made when the first consumer wants to wait for it.
type lazyChan struct{ c atomic.Pointer[chan struct{}] }

// get returns the channel, and whether this call has made it. Signals sent before that are lost, so
// the caller must then check for Completions.
func (l *lazyChan) get() (c chan struct{}, made bool) {
	p := l.c.Load()
	if p == nil {
		c := make(chan struct{}, 1)
		if l.c.CompareAndSwap(nil, &c) {
			return c, true
		}
		p = l.c.Load()
	}
	return *p, false
}

// signal sends a value on the channel, if it is made and holds none.
func (l *lazyChan) signal() {
	if p := l.c.Load(); p != nil {
		signal(*p)
	}
}

// signal sends a value on a channel of capacity 1 unless the channel already holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
