//go:build linux

package cm

import (
	"errors"
	"syscall"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
)

// recovers is deferred by each goroutine that acts on what a peer of i has sent. A panic there is a
// bug. It ends the connecting of i, and not the process with the ids of all programs. The function
// must unlock the CM's mutex by a deferred call, so that it is free when recovers runs.
func (i *id) recovers() {
	value := recover()
	if value == nil {
		return
	}
	err := panics.New(value)
	_ = err.Claim() // the log has it
	i.cm.log.Error("a bug of rddp run ends the connecting of an rdma_cm id", "id", i.num, "err", err)
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	if i.state == connecting {
		i.become(over)
		i.tell(ucma.ConnectError, syscall.EIO, ucma.ConnParam{})
	}
}

// guard is panics.Guard for what looks for a listener: a bug in what an answer leads to is in the
// log, and is the answer that there is no listener.
func (m *CM) guard(f func() error) error {
	err := panics.Guard(f)
	if p := (*panics.Error)(nil); errors.As(err, &p) && p.Claim() {
		m.log.Error("a bug of rddp run, in looking for an rdma_cm listener", "err", p)
	}
	return err
}
