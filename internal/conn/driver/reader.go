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

// nextTurn wakes a Read that has found the caller's Read waiting, if there may be one.
func (in *lockedDelivery) nextTurn() {
	if in.queued.Load() {
		in.turn.Wake()
	}
}

// awaitTurn waits until the Read before has returned. The error is that of the deadline.
//
//go:noinline
func (in *lockedDelivery) awaitTurn(limit *wait.Deadline) error {
	select {
	case <-in.turn.C():
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
}

// sleep waits until the Read that waits must look again: see ready. Whoever changes something that
// the Read waits for wakes it afterwards. The error is that of the deadline.
//
// A select of all conditions would cost more: for each, a channel, and memory of the runtime while
// the Read waits, and a stack of 4 KiB instead of 2.
func (in *lockedDelivery) sleep(limit *wait.Deadline) error {
	<-in.ready.C()
	if limit.HasPassed() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// leave waits until DDP places nothing in the Read's memory, and is then leave of the delivery.
func (in *lockedDelivery) leave() readResult {
	in.mu.Lock()
	defer in.unlock()
	for in.delivery.placing.holdsReader() { // for the time of a copy
		in.leaving = true
		in.placed.Wait()
	}
	return in.delivery.leave()
}

// beginLook makes the Look the waiting Read, without memory that a message may go to. It reports
// false if another Read or Look waits.
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

// show copies to p what a Read of p would get now. all says that nothing else is unread, and ended
// that nothing follows.
func (in *lockedDelivery) show(p []byte) (n int, all, ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.delivery.unread.Show(p)
}

// use takes len(p) bytes that a Look has shown, or fewer if Close has discarded them. They go to p.
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
