package driver

import (
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Driver moves one connection's data between its Stream and its queue pair. It is the only type
// that sees all the layers.
//
// On the way in, one goroutine runs Receive as long as the connection lives: the home goroutine.
// The home goroutine owns rx, but it may lend the receive role to a goroutine that waits in Read:
// see role.
//
// On the way out, no goroutine waits for work. A goroutine that has posted takes the transmit
// token, if the token is free, and writes everything that is queued. If another goroutine holds the
// token, that goroutine looks for new work after it has set the token free. The holder owns tx.
//
// A goroutine that takes the token in this way never waits for TCP. When the send buffer is full,
// the goroutine passes the token to a new goroutine, which writes the rest and ends when the queue
// is empty. So posting never blocks. Neither does Receive when it answers a Read; otherwise two
// peers with full windows would wait for each other.
//
// The fields that each message touches stand together, here and in the types of the fields. With
// many connections most of the time of a message is spent waiting for their cache lines.
//
// A method belongs to the part whose state it uses, and each part says who owns it. The methods of
// the Driver are what the layer above calls, and what takes several parts to do.
type Driver struct {
	qp    *rdmap.QP       // from cfg
	in    *lockedDelivery // messages that wait for Read; nil if the application posts the buffers
	bytes *byteStream     // nil in message mode

	rx     rx   // the way in; the goroutine with the receive role owns it
	role   role // which goroutine that is
	tx     tx   // the way out; the holder of the transmit token owns it
	count  counters.Counters
	writer streamWriter           // Write in stream mode
	freed  wait.Signal            // Work Requests have completed, so a queue may have room
	later  putOff                 // what Post does not send at once
	end    ending                 // whether the connection ends, and why
	bound  readBound              // how long receiving goes on
	asking atomic.Pointer[asking] // a Look that waits for the home goroutine; nil: none
	idle   idle

	// background counts this connection's goroutines, and its stream until shut has closed it.
	background *wait.Background

	// recheck gets a value when the inbox has room or the connection ends. A goroutine that waits
	// for room then looks again.
	recheck chan struct{} // capacity 1

	blocking blocking
}

// A Config has what New needs to make a Driver.
type Config struct {
	Closed *wait.Latch // Conn.Close sets it; nil: nothing does
	// Background counts the stream, which is open. The Driver ends that when the connection is
	// over, and counts its own goroutines. nil: nothing waits for them.
	Background *wait.Background

	Taps      *observe.Taps // nil: none
	MaxFPDU   int           // as Config.MaxFPDU of package extsock
	LargeFPDU bool          // the peer takes FPDUs longer than its segments
	Fenced    bool          // this end is the Responder: see tx.fenced
	// NoEarlyPlacement is that of Config of package extsock.
	NoEarlyPlacement bool
	Shared           bool          // the application's receive buffers come from a shared receive queue
	Agreement        mpa.Agreement // the result of startup

	Stream toe.Stream // without deadlines that are set
	QP     *rdmap.QP  // New starts it with Start
	Start  rdmap.StartParams
	// SendBells and RecvBells are the doorbells of QP's completion queues. nil means that the queue
	// has none.
	SendBells, RecvBells *Doorbells

	Receive *ReceiveConfig // nil if the application posts the receive buffers

	CloseTimeout time.Duration
	WriteTimeout time.Duration // 0: none
	IdleTimeout  time.Duration // 0: none
	Crossover    int           // as Config.Crossover of package extsock
	PollTime     time.Duration // as Config.PollTime of package extsock

	Trace   *observe.Trace // nil: no trace
	Cause   error          // if not nil, the connection fails with this error at once
	Recover bool           // a panic becomes the error of the connection; otherwise it goes on
	// BadSTag is called when the peer has used an STag that it does not have. nil means that
	// nothing is called.
	BadSTag func()
	// Invalidated is called when a message of the peer that invalidates an STag has been handled.
	// nil means that nothing is called.
	Invalidated func(s ddp.STag)
}

// A ReceiveConfig says how a connection receives for Read.
type ReceiveConfig struct {
	Depth  int           // the maximum number of unread messages
	Size   int           // the maximum length of a message, in bytes
	Stream *StreamConfig // nil: message mode
	// Longest is Config.LongestMessage. Only message mode uses it.
	Longest func(before uint32, whole bool) int
	// Words says that the messages are those of a profile above the driver, and not the program's
	// data: Close throws them away without a reset.
	Words bool
}

// An earlyShower is a Stream that can do without its early runs. The method is not one of
// toe.Stream: if a wrapper hides it, the Stream shows runs that nobody uses, and no more is lost.
type earlyShower interface{ ShowEarly(show bool) }

// A quieter is a Stream that wants to know whether what it reads concerns the program: see
// toe.Stream.ReadSegment. If a wrapper hides the method, the Stream does a little more, and nothing
// is lost.
type quieter interface{ SetQuiet(quiet bool) }

// New joins the layers of a connection as startup has agreed. From then on the trace is called in
// goroutines of its own. Start and Receive must be called next.
func New(cfg Config) *Driver {
	receiver := cfg.QP.Start(cfg.Start)
	d := &Driver{
		qp: cfg.QP, recheck: make(chan struct{}, 1),
		rx: rx{wayIn: wayIn{mpa: *mpa.NewReceiver(cfg.Agreement), ddp: ddp.NewReceiver(receiver), invalidated: cfg.Invalidated}},
	}
	if a := cfg.Agreement; cfg.NoEarlyPlacement || !a.CRC || !a.RxMarkers {
		d.rx.mpa.IgnoreEarly()
		if s, ok := cfg.Stream.(earlyShower); ok {
			s.ShowEarly(false)
		}
	}
	d.rx.mpa.Destination = d.rx.ddp.Destination
	d.rx.quieter, _ = cfg.Stream.(quieter)
	d.rx.domain = receiver.Domain
	d.tx.init(&cfg)
	if d.background = cfg.Background; d.background == nil {
		d.background = new(wait.Background)
		d.background.Begin()
	}
	sendRest := d.sendRest // once: go d.sendRest() would allocate each time
	d.tx.goOn = func() {
		d.background.Begin()
		go sendRest()
	}
	d.end.init(&cfg)
	d.end.recovery.count, d.end.recovery.on = &d.count, cfg.Recover
	d.idle.timeout = max(cfg.IdleTimeout, 0)
	d.rx.patience.fixed = cfg.PollTime
	d.later.init(d.Flush, d.catch, cfg.SendBells, cfg.RecvBells)
	d.rx.awaitsRTR, d.rx.shared = cfg.Start.ExpectRTRSend, cfg.Shared
	d.rx.qp, d.rx.count, d.rx.fenced = d.qp, &d.count, &d.tx.fenced
	d.rx.stream, d.rx.role, d.rx.taps, d.rx.trace, d.rx.markers = cfg.Stream, &d.role, cfg.Taps, cfg.Trace, cfg.Agreement.RxMarkers
	d.bound.stream = cfg.Stream
	d.tx.qp, d.tx.count, d.tx.end = d.qp, &d.count, &d.end
	d.role.init(cfg.Stream)
	d.role.owner = &d.end
	d.role.patience = &d.rx.patience
	if r := cfg.Receive; r != nil {
		d.in = newDelivery(r.Depth, r.Size)
		d.in.delivery.longest = r.Longest // +checklocksignore: no other goroutine has it yet
		d.in.words = r.Words
		if r.Stream != nil {
			d.in.setWindow(r.Stream.Window)
			d.bytes = newByteStream(r.Stream, int(d.in.window.Load()), &d.count, cfg.Trace)
			d.writer.init(d, cfg.Crossover)
		}
		d.rx.in, d.rx.bytes, d.tx.bytes = d.in, d.bytes, d.bytes
	}
	d.end.trace.HandOff(d.background.Go, func(value any) { d.Kill(d.end.panicked(value)) })
	if cfg.Cause != nil {
		d.end.setReason(cfg.Cause)
		d.qp.Fail(cfg.Cause)
	}
	return d
}

// Start begins to send. If the QP has already failed, Start sends the Terminate. The caller must
// then have a goroutine call Receive. AllOpen returns owner for this connection.
func (d *Driver) Start(owner any) {
	d.count.Enlist(owner)
	d.idle.start(d.lookIdle)
	d.transmit()
}

// Receives reports whether the connection receives for Read. If it does, the application posts no
// receive buffers.
func (d *Driver) Receives() bool { return d.in != nil }

// IsByteStream reports whether the connection is in stream mode. Otherwise it is in message mode.
func (d *Driver) IsByteStream() bool { return d.bytes != nil }

// Window returns the maximum number of messages for which the peer of a byte stream has credits.
func (d *Driver) Window() int { return int(d.in.window.Load()) }

// Counts returns the counts of the connection, which the connection continues to change.
func (d *Driver) Counts() *counters.Counters { return &d.count }
