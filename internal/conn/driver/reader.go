package driver

import (
	"os"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// begin is begin of the delivery.
func (in *lockedDelivery) begin(p []byte, note *rdmap.Completion) (outcome, taking) {
	in.mu.Lock()
	defer in.unlock()
	found, t := in.delivery.begin(p, note)
	switch found {
	case behind:
		in.queued.Store(true)
	case took:
		in.noteWindow()
	}
	return found, t
}

// nextTurn wakes a Read that has found this one waiting, if there may be one.
func (in *lockedDelivery) nextTurn() {
	if in.queued.Load() {
		wait.Wake(in.turn)
	}
}

// awaitTurn waits until the Read before has returned. The error is that of the deadline.
//
//go:noinline
func (in *lockedDelivery) awaitTurn(limit *wait.Deadline) error {
	select {
	case <-in.turn:
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
}

// sleep waits until the Read that waits must look again: the inbox may have something, the receive
// role is offered, or the connection ends. The error is that of the deadline.
//
// It is a function of its own because a select takes much of the stack, and a Read that receives
// does not need it: the lines of its goroutine's stack are what a message has to fetch from memory.
//
//go:noinline
func (in *lockedDelivery) sleep(offer <-chan struct{}, end *ending, limit *wait.Deadline) error {
	select {
	case <-in.ready:
	case <-offer:
	case <-end.silent.Done():
	case <-end.closed.Done():
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// leave is leave of the delivery, after the message that DDP may be placing in the Read's memory.
func (in *lockedDelivery) leave() readResult {
	in.mu.Lock()
	defer in.unlock()
	for in.delivery.placing.holdsReader() { // a copy, no more
		in.leaving = true
		in.placed.Wait()
	}
	return in.delivery.leave()
}

// Other goroutines look at these bits of inbox.look without the lock.
const (
	lookHas     = 1 << iota // a Read has something to come back for
	lookWaiting             // a Read waits
)

// unlock updates what other goroutines look at without the lock, and releases mu.
//
// +checklocksrelease:in.mu
func (in *lockedDelivery) unlock() {
	b := &in.delivery
	look := uint32(0)
	if b.has() {
		look |= lookHas
	}
	if b.reader.isThere() {
		look |= lookWaiting
	}
	in.look.Store(look)
	if in.leaving && !b.placing.holdsReader() {
		in.leaving = false
		in.placed.Broadcast()
	}
	in.mu.Unlock()
}

// has reports whether a Read has something to come back for.
func (in *lockedDelivery) has() bool { return in.look.Load()&lookHas != 0 }

// notify wakes the waiting Read if the inbox has something for the Read. A Read looks at the inbox
// after it has noted that it waits, and the inbox looks for a Read after a message has arrived. So
// one of the two sees the other.
func (in *lockedDelivery) notify() {
	if in.look.Load()&(lookHas|lookWaiting) == lookHas|lookWaiting {
		wait.Wake(in.ready)
	}
}
