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
