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

// recovers is deferred by each function that acts on what the program has posted or commands. A
// panic there is a bug. It breaks the context, and not the process with the contexts of all
// programs: the program gets IBV_EVENT_DEVICE_FATAL, and errors from then on, as from a NIC that
// has broken down. Locks of the context may stay locked, so nothing else may wait for them.
func (c *Context) recovers() {
	if value := recover(); value != nil {
		c.breaks(panics.New(value))
	}
}

// breaks breaks the context down, if it is not broken yet.
func (c *Context) breaks(err *panics.Error) {
	_ = err.Claim() // the log has it
	if c.broken.Swap(true) {
		return
	}
	c.dev.log.Error("a bug of the device breaks the device of a program", "context", c.number, "err", err)
	c.raise(onlyPort, uverbs.EventDeviceFatal)
	for _, o := range c.shown.list() {
		if q, ok := o.(*queuePair); ok {
			c.dev.remove(q)
			q.failLater(nil, uverbs.FatalErr, "a bug of the device")
		}
	}
}
