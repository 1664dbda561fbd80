package driver

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/extsock/internal/observe"
	"github.com/rddp/rddp/extsock/internal/wait"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Driver moves one connection's data between its Stream and its queue pair. It is the one place
// that sees all the layers.
//
// On the way in, one goroutine runs receive as long as the connection lives. That goroutine owns rx,
// but it may lend the receive role to a goroutine that waits in Read: see role.
//
// On the way out, no goroutine waits for work. A goroutine that has posted takes the transmit token,
// if the token is free, and writes everything that is queued. If the token is taken, its holder finds
// the new work before it lets go. The holder owns tx. A goroutine that takes the token that way never
// waits for TCP: a goroutine that gets the token finishes what the send buffer does not take at once,
// and ends when the queue is empty. So posting never blocks. Neither does receive when it answers a
// Read; otherwise two peers with full windows would wait for each other.
type Driver struct {
	cfg    Config
	stream toe.Stream // of cfg
	qp     *rdmap.QP  // of cfg

	life   life
	silent chan struct{} // closed when nothing more will come up: how goroutines wait for intakeOver
	rx     rx            // the receive role guards it
	tx     tx            // the transmit token guards it
	role   role
	bound  readBound

	in     *inbox        // where messages wait for Read; nil if the application posts the buffers
	bytes  *byteStream   // nil in message mode
	writer *streamWriter // nil in message mode
	// recheck gets a value when the inbox has room, or the connection ends: whoever waits for room looks again.
	recheck chan struct{} // capacity 1
	freed   wait.Signal   // Work Requests have completed, so a queue may have room

	idle  idle
	count Counters
	// writeLook is how often to look whether TCP takes something; 0 means never. The operating system calls a send
	// buffer full until a good part of it is free, and a slow peer may need long for that.
	writeLook time.Duration

	ids     atomic.Uint64 // of the Work Requests of blocking calls
	waiters sync.Pool     // of completion queues; see waiter
}

// A Config is what a driver is made of.
type Config struct {
	Stream    toe.Stream
	QP        *rdmap.QP     // in StateRTS
	Agreement mpa.Agreement // what startup agreed on

	MaxFPDU   int  // Config.MaxFPDU
	LargeFPDU bool // the peer takes FPDUs longer than its segments
	Fenced    bool // this end is the Responder: see tx.fenced
	// ExpectsRTR says that the peer's first Send is its Ready to Receive indication (RFC 6581 §9).
	ExpectsRTR bool
	Shared     bool // the application's receive buffers come from a shared receive queue

	Receive *ReceiveConfig // how to receive for Read; nil if the application posts the buffers

	CloseTimeout time.Duration
	WriteTimeout time.Duration // 0: none
	IdleTimeout  time.Duration // 0: none
	Crossover    int           // as Config.Crossover

	Closed <-chan struct{} // closed by Conn.Close

	Taps     *observe.Taps         // nil: none
	Trace    *observe.Trace        // nil: no trace
	Cause    error                 // the connection fails with it at once; nil: it does not
	Panicked func(value any) error // makes an error of a panic, in the goroutine that has panicked
	BadSTag  func()                // called when the peer has used an STag that it does not have; nil: nothing
}

// A ReceiveConfig says how a connection receives for Read.
type ReceiveConfig struct {
	Depth  int           // the maximum number of unread messages
	Size   int           // the maximum length of a message, in bytes
	Stream *StreamConfig // nil: message mode
}

// An rx is the way in, from the stream to messages.
type rx struct {
	mpa  *mpa.Receiver
	ddp  *ddp.Receiver
	free []byte // where in the buffer to read to; nil while no buffer is out
	loan loan   // of that buffer
	// parked holds the FPDU that has only begun, in place of a whole buffer, while nothing comes; nil otherwise.
	parked   *bufpool.Chunk
	intake   intake
	err      error // why the intake is over
	patience patience
	fault    error      // what a layer has found wrong in the stream, until the connection ends for it
	result   readResult // of the Read that has the role, once its wait is over
	// awaitsRTR says that the peer's first Send has not come, which is its Ready to Receive indication (RFC 6581 §9).
	awaitsRTR bool

	seen     uint64 // stream offset up to which the Config's Tap has seen the bytes
	recorded uint64 // stream offset up to which the bytes are in the capture
}

// A tx is the way out, from messages to the stream. All but the first three fields belong to the holder of the token.
type tx struct {
	token token
	// fenced holds back all output until the Initiator's first FPDU is here.
	// "MPA Responder mode implementations MUST receive and validate at least one FPDU before sending
	// any FPDUs or Markers." (RFC 5044 §7.1.2)
	// The fence is not a state of the connection's life: Close may come before that FPDU, and what is queued then still
	// waits for it.
	fenced atomic.Bool
	taken  atomic.Uint64 // bytes that TCP has taken

	sendRest func() // Driver.sendRest, made a function once so that passing it costs no allocation
	ddp      ddp.Sender
	mpa      *mpa.Sender
	batch    *mpa.Batch // lent by loan while the token is held and there is output
	loan     batchLoan
	middle   bool     // ddp has begun a message that is not in the batch to its end
	unsent   bool     // the batch has FPDUs that TCP has not taken
	left     [][]byte // what TCP has not taken yet of the batch
	done     int      // messages that are in the batch to their end
}

// An intake is how far receiving has come. It is apart from life, because it belongs to the goroutine that has the
// receive role.
//
//	open ◀──▶ stalled ──▶ over ◀── open
type intake uint8

const (
	intakeOpen    intake = iota
	intakeStalled        // the ULPDU at hand waits for a buffer
	intakeOver           // nothing more will come up
)

// Buffers and batches are lent to whichever connection is busy; an idle one holds neither.
var (
	buffers bufpool.Pool
	batches = sync.Pool{New: func() any { return mpa.NewBatch(batchCost) }}
)

// New joins the layers of a connection as startup has agreed.
func New(cfg Config) *Driver {
	receiver := cfg.QP.ReceiverConfig()
	d := &Driver{
		cfg: cfg, stream: cfg.Stream, qp: cfg.QP,
		silent: make(chan struct{}), recheck: make(chan struct{}, 1),
		rx: rx{mpa: mpa.NewReceiver(cfg.Agreement), ddp: ddp.NewReceiver(receiver)},
	}
	d.tx.token.init()
	d.tx.mpa, d.tx.sendRest = mpa.NewSender(cfg.Agreement), d.sendRest
	d.tx.fenced.Store(cfg.Fenced)
	d.life.init()
	d.rx.awaitsRTR = cfg.ExpectsRTR
	d.role.init(cfg.Stream.Capabilities().Deadlines)
	if r := cfg.Receive; r != nil {
		d.in = newInbox(r.Depth, r.Size)
		if r.Stream != nil {
			d.in.setWindow(r.Stream.Window)
			d.bytes = newByteStream(d, r.Stream)
			d.writer = newStreamWriter(d)
		}
		d.cfg.Receive = nil // its values are in the inbox and the byte stream
	}
	// An error is that of a closed stream, and comes again, or of one without deadlines.
	_ = cfg.Stream.SetReadDeadline(time.Time{})
	d.writeLook = writeLook(&cfg)
	if cfg.Cause != nil {
		d.setReason(cfg.Cause)
		d.qp.Fail(cfg.Cause)
	}
	return d
}

// Start begins to receive. The QP may have failed before: then the peer gets the Terminate, and the connection ends.
func (d *Driver) Start() {
	d.enlist()
	d.watchIdle()
	go d.receive()
	d.transmit()
}

// Receives reports whether the connection receives for Read: then the application posts no receive buffers.
func (d *Driver) Receives() bool { return d.in != nil }

// IsByteStream reports whether the connection is in stream mode. Else it is in message mode.
func (d *Driver) IsByteStream() bool { return d.bytes != nil }

// Window returns for how many messages the peer of a byte stream has credits at most.
func (d *Driver) Window() int { return int(d.in.window.Load()) }

// Counts returns the counts of the connection. They go on changing.
func (d *Driver) Counts() *Counters { return &d.count }
