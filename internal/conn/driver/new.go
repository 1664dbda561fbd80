package driver

import (
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
)

// New connects the layers as the two ends have agreed in startup. From then on the trace calls its
// handler in goroutines of its own. Start and Receive must be called next.
func New(cfg Config) *Driver {
	d := &Driver{qp: cfg.QP, background: cfg.Background}
	if d.background == nil {
		d.background = new(wait.Background)
		d.background.Begin()
	}
	started := cfg.QP.Start(cfg.Start)
	d.end.init(&cfg, &d.count)
	d.idle.timeout = max(cfg.IdleTimeout, 0)
	d.bound.stream = cfg.Stream
	d.later.init(d.Flush, d.flushIfIdle, cfg.SendBells, cfg.RecvBells)
	offer := new(wait.Cell) // of Reads, which cannot wait if there is no delivery
	if r := cfg.Receive; r != nil {
		d.in = deliveryOf(r)
		offer = &d.in.ready
		if r.Stream != nil {
			d.bytes = newByteStream(r.Stream, d.Window(), &d.count, cfg.Trace)
		}
	}
	d.role.init(cfg.Stream, &d.end, offer, &d.rx.patience)
	d.tx.init(&cfg, d.bytes, &d.count, &d.end, d.goOn())
	d.rx.init(&cfg, started, reports{d.in, d.bytes, &d.count, &d.tx.fenced}, &d.role)
	if d.bytes != nil {
		d.writer.init(cfg.Crossover, d, d.bytes, &d.tx, &d.role)
	}
	d.end.trace.HandOff(d.background.Go, func(value any) { d.Kill(d.end.panicked(value)) })
	if cfg.Cause != nil {
		d.end.setReason(cfg.Cause)
		d.qp.Fail(cfg.Cause)
	}
	return d
}

// goOn returns the function that starts a goroutine with sendRest. It is made once, because
// go d.sendRest() would allocate each time.
func (d *Driver) goOn() func() {
	sendRest := d.sendRest
	return func() {
		d.background.Begin()
		go sendRest()
	}
}

// Start begins to send. If the QP has already failed, Start sends the Terminate. After Start, a
// goroutine must call Receive. counters.AllOpen returns owner for this connection.
func (d *Driver) Start(owner counters.Owner) {
	d.count.Enlist(owner)
	d.idle.start(d.lookIdle)
	d.transmit()
}
