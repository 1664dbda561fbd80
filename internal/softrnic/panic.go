package softrnic

import (
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// recovers is deferred by each function that acts on what a peer has sent, at once or later. A
// panic there is a bug. It ends the queue pair, and not the process with the queue pairs of all
// programs. The function must unlock its locks by deferred calls, so that they are free when
// recovers runs.
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
