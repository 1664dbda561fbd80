package driver

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// New connects the layers as the two ends have agreed in startup. From then on the trace calls its
// handler in goroutines of its own. Start and Receive must be called next.
func New(cfg Config) *Driver {
	d, in, bytes := newParts(cfg.Receive)
	d.qp, d.background = cfg.QP, cfg.Background
	if d.background == nil {
		d.background = new(wait.Background)
		d.background.Begin()
	}
	started := cfg.QP.Start(cfg.Start)
	d.end.init(&cfg, &d.count)
	d.idle.timeout = max(cfg.IdleTimeout, 0)
	d.bound.stream = cfg.Stream
	d.later.init(d, cfg.SendBells, cfg.RecvBells)
	var offer *wait.Cell
	if in != nil {
		in.init(cfg.Receive)
		d.in, offer = in, &in.ready
	} else {
		offer = new(wait.Cell) // of Reads, which cannot wait if there is no delivery
	}
	if bytes != nil {
		bytes.init(cfg.Receive.Stream, d.Window(), &d.count, cfg.Trace)
		d.bytes = bytes
	}
	d.role.init(cfg.Stream, &d.end, offer, &d.rx.patience)
	d.tx.init(&cfg, d)
	d.rx.init(&cfg, started, reports{d.in, d.bytes, &d.count, &d.tx.fenced}, &d.role)
	if d.bytes != nil {
		d.writer.init(cfg.Crossover, d, d.bytes, &d.tx, &d.role)
	}
	if cfg.Trace != nil {
		d.end.trace.HandOff(d.background.Go, func(value any) { d.Kill(d.end.panicked(value)) })
	}
	if cfg.Cause != nil {
		d.end.setReason(cfg.Cause)
		d.qp.Fail(cfg.Cause)
	}
	return d
}

// newParts makes a Driver, its delivery and its byte stream, as far as the connection needs them,
// in one allocation: who opens a connection pays for each, and so does each garbage collection.
func newParts(r *ReceiveConfig) (*Driver, *lockedDelivery, *byteStream) {
	switch {
	case r == nil:
		return new(Driver), nil, nil
	case r.Stream == nil:
		p := new(messageParts)
		return &p.Driver, &p.in, nil
	}
	p := new(streamParts)
	return &p.Driver, &p.in, &p.bytes
}

type messageParts struct {
	Driver
	in lockedDelivery
}

type streamParts struct {
	Driver
	in    lockedDelivery
	bytes byteStream
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
	if d.idle.timeout != 0 {
		d.idle.start(d.lookIdle)
	}
	d.transmit()
}

// init makes the way in: see receiver.init. role is that of the connection.
func (r *streamReceiver) init(cfg *Config, started ddp.ReceiverConfig, to reports, role *role) {
	r.receiver.init(cfg, started, to)
	if a := cfg.Agreement; cfg.NoEarlyPlacement || !a.CRC || !a.RxMarkers {
		r.mpa.IgnoreEarly()
		if s, ok := cfg.Stream.(earlyShower); ok {
			s.ShowEarly(false)
		}
	}
	r.stream, r.taps, r.trace, r.markers = cfg.Stream, cfg.Taps, cfg.Trace, cfg.Agreement.RxMarkers
	r.quieter, _ = cfg.Stream.(quieter)
	r.poller, _ = cfg.Stream.(poller)
	r.domain, r.role = started.Stream.Domain(), role
	r.patience.fixed = cfg.PollTime
	r.leaves = cfg.StandsBy
}

// init makes the way in of a connection. started is the result of starting its queue pair.
func (w *receiver) init(cfg *Config, started ddp.ReceiverConfig, to reports) {
	w.mpa = *mpa.NewReceiver(cfg.Agreement)
	w.ddp.Init(started)
	w.mpa.Destination = w.ddp.Destination
	w.awaitsRTR, w.shared = cfg.Start.ExpectRTRSend, cfg.Shared
	w.qp, w.invalidated, w.reports = cfg.QP, cfg.Invalidated, to
}

// init gives the role to home. offer makes the waiting Read look. p is the patience of the way in.
func (r *role) init(s toe.Stream, owner *ending, offer *wait.Cell, p *patience) {
	r.owner, r.offer, r.patience = owner, offer, p
	can := s.Capabilities()
	r.stream, r.lends, r.watches = s, can.Deadlines, can.Watch != toe.WatchNone
	r.gate.Init(can.Watch)
	now := sinceStart()
	r.stays = can.Watch == toe.WatchOutside && isBubbles(now)
	r.readHistory.init(now)
	r.alarms = alarmsFor(now)
}

// init makes the way out of the connection of d.
func (t *streamSender) init(cfg *Config, d *Driver) {
	t.qp, t.bytes, t.count, t.end, t.starter = cfg.QP, d.bytes, &d.count, &d.end, d
	t.mpa = *mpa.NewSender(cfg.Agreement)
	t.crc = cfg.Agreement.CRC
	t.token.init()
	t.fenced.Store(cfg.Fenced)
	t.stream, t.taps = cfg.Stream, cfg.Taps
	t.ddp.Far = t
	t.maxFPDU, t.largeFPDU, t.markers = cfg.MaxFPDU, cfg.LargeFPDU, cfg.Agreement.TxMarkers
	t.aligns = cfg.Stream.Capabilities().Aligns
	t.writeTimeout, t.writeLook = cfg.WriteTimeout, writeLook(cfg)
}

func (w *streamWriter) init(crossover int, out transmitter, bytes *byteStream, tx *streamSender, role *role) {
	w.out, w.bytes, w.tx, w.role, w.end = out, bytes, tx, role, tx.end
	w.crossover = crossover
	w.wrote.Store(int64(sinceStart()))
}
