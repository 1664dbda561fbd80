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

// beginLook makes the Look the waiting Read, without memory that a message may go to. It reports
// false if there is one.
func (in *lockedDelivery) beginLook() bool {
	in.mu.Lock()
	defer in.unlock()
	if in.delivery.reader.isThere() {
		in.queued.Store(true)
		return false
	}
	in.delivery.reader.become(readerWaiting)
	return true
}

// show copies what a Read of p would get now to p. all says that this is all that is unread, and
// ended that nothing follows it.
func (in *lockedDelivery) show(p []byte) (n int, all, ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.delivery.unread.Show(p)
}

// use takes len(p) bytes that a Look has shown, or fewer if Close has thrown them away. They go to
// p.
func (in *lockedDelivery) use(p []byte) taking {
	in.mu.Lock()
	defer in.unlock()
	if in.delivery.unread.Len() == 0 {
		return taking{}
	}
	t := in.delivery.take(p, nil)
	in.noteWindow()
	return t
}
