package softrnic

import (
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// recovers is deferred where a peer's bytes are acted upon, and what comes after them. A panic
// there is a bug. It fails the queue pair, and not the process with the queue pairs of all
// programs. The locks that are held must be unlocked by deferred calls.
func (q *queuePair) recovers() {
	value := recover()
	if value == nil {
		return
	}
	err := panics.New(value)
	_ = err.Claim() // the log has it
	q.ctx.dev.log.Error("a bug of the device ends a queue pair", "qpn", q.num, "err", err)
	if life := q.fail(nil, uverbs.FatalErr, "a bug of the device"); life != 0 {
		q.raise(life, uverbs.EventQPFatal)
	}
}
