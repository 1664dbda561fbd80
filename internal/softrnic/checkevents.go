package softrnic

import (
	"encoding/binary"
	"runtime"
	"time"

	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about events. A method does nothing unless the program is checked.

// checkArmLocked is the event that a thread of the program asks for an event.
//
// +checklocks:q.mu
func (q *completionQueue) checkArmLocked(n notice, thread int, s check.Site) {
	if q.checked == nil || q.ring == nil {
		return
	}
	if q.checked.armedAt = s; n == anyNext {
		q.checked.Arms(thread, int(q.ring.Len()))
	} else {
		q.checked.ArmsSolicited(thread)
	}
}

// checkFiresLocked is the event that the program gets the event.
//
// +checklocks:q.mu
func (q *completionQueue) checkFiresLocked() {
	if q.checked != nil {
		q.checked.Fires()
	}
}

// checkEndLocked is the event that q is about to be destroyed.
//
// +checklocks:q.mu
func (q *completionQueue) checkEndLocked() {
	if q.checked != nil && q.ring != nil {
		q.ctx.check.AddAt("armed", q.checked.armedAt, q.checked.Ends()...)
	}
}

// LookAtWaits looks whether the program waits for an event while no event tells of what is in its
// completion queues. It may wait for memory that the program withholds.
func (c *Context) LookAtWaits() {
	defer c.recovers()
	var stuck []*completionQueue
	tells := make(map[Channel]int) // the queues of which an event may tell
	for _, q := range c.shown.heardQueues() {
		is, may := q.checkStuck()
		if is {
			stuck = append(stuck, q)
		}
		if may {
			tells[q.channel.Channel]++
		}
	}
	for _, q := range stuck {
		q.checkWaits(q.channel.Waits(), tells[q.channel.Channel] > 0)
	}
}

// checkStuck reports whether completions are in q that the program has not polled since the last
// look, and whether it may get an event about q.
func (q *completionQueue) checkStuck() (is, mayTell bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return false, false
	}
	return q.checked.IsStuck(int(q.ring.Len())), q.checked.MayTell() || q.tellsLaterLocked()
}

// checkWaits is the event that the program has been seen to wait for an event. others says that it
// may get one about some queue.
func (q *completionQueue) checkWaits(w check.Waiting, others bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil || q.tellsLaterLocked() {
		return
	}
	n := int(q.ring.Len())
	if q.checked.IsStuck(n) {
		q.ctx.check.AddAt("armed", q.checked.armedAt, q.checked.Waits(w, n, others)...)
	}
}

// The structs ibv_cq, ibv_qp and ibv_srq of libibverbs, whose addresses are the user handles, have
// a mutex and a condition behind the handle, and then the numbers of acknowledged events. A
// condition has the same size in glibc and in musl, and a mutex has not on arm64.
var (
	cqAcks  = counterIn{handleAt: 24, at: 32 + condLen}
	asyncCQ = counterIn{handleAt: 24, at: 32 + condLen + 4}
	qpAcks  = counterIn{handleAt: 48, at: 64 + condLen}
	srqAcks = counterIn{handleAt: 24, at: 32 + condLen}
)

const condLen = 48

// mutexLens has the lengths that a mutex may have.
func mutexLens(arch string) []uint64 {
	if arch == "arm64" {
		return []uint64{48, 40}
	}
	return []uint64{40}
}

// A counterIn says where a struct of libibverbs has its handle, and a number of events. The length
// of the mutex adds to the latter.
type counterIn struct{ handleAt, at uint64 }

// lacks returns how many of the events that the program has got it has not acknowledged. ok is
// false if there is no such struct. If the number may be at two places, it counts as right if one
// of them has it.
func (x counterIn) lacks(p Process, addr uint64, handle, got uint32, arch string) (n int, ok bool) {
	var h, c [4]byte
	if p.Read(h[:], addr+x.handleAt) != nil || binary.NativeEndian.Uint32(h[:]) != handle {
		return 0, false
	}
	for i, mutexLen := range mutexLens(arch) {
		if p.Read(c[:], addr+x.at+mutexLen) != nil {
			return 0, false
		}
		if m := int(int32(got - binary.NativeEndian.Uint32(c[:]))); i == 0 || m <= 0 {
			n = m
		}
	}
	return n, true
}

// ackPatience is how long the destruction of an object may wait for a thread that acknowledges its
// events.
const ackPatience = 500 * time.Millisecond

// checkAcks is the event that an object is destroyed after the program has got so many events about
// it. Its destruction waits in libibverbs until all are acknowledged.
func (c *commands) checkAcks(object, by string, x counterIn, addr uint64, handle, got uint32) {
	if c.check == nil || got == 0 {
		return
	}
	p, err := c.caller.Process()
	if err != nil {
		return
	}
	if n, ok := x.lacks(p, addr, handle, got, runtime.GOARCH); !ok || n <= 0 {
		return
	}
	at := c.site
	time.AfterFunc(ackPatience, func() {
		if n, ok := x.lacks(p, addr, handle, got, runtime.GOARCH); ok && n > 0 {
			c.check.AddAt(inCall, at, check.Unacknowledged(object, by, n))
		}
	})
}
