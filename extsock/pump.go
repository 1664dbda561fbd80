package extsock

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A pump moves one connection's data between its Stream and its queue pair. It is the one place
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
type pump struct {
	cfg    pumpConfig
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
	posted chan struct{} // capacity 1: the inbox has room, or the connection has ended
	freed  signal        // Work Requests have completed, so a queue may have room

	idle  idle
	count counters
	// writeLook is how often to look whether TCP takes something; 0 means never. The operating system calls a send
	// buffer full until a good part of it is free, and a slow peer may need long for that.
	writeLook time.Duration
}

// A pumpConfig is what a pump is made of.
type pumpConfig struct {
	stream    toe.Stream
	qp        *rdmap.QP     // in StateRTS
	agreement mpa.Agreement // what startup agreed on
	largeFPDU bool          // the peer takes FPDUs longer than its segments
	maxFPDU   int           // Config.MaxFPDU
	fenced    bool          // this end is the Responder: see tx.fenced

	receive *receiveConfig // how to receive for Read; nil if the application posts the buffers
	shared  bool           // the application's buffers come from a shared receive queue

	closeTimeout time.Duration
	writeTimeout time.Duration // 0: none
	idleTimeout  time.Duration // 0: none

	taps  *taps         // nil: none
	trace *trace        // nil: no trace
	door  *startup.Door // nil: none
}

// A receiveConfig says how a connection receives for Read.
type receiveConfig struct {
	cq     *rdmap.CompletionQueue
	depth  int           // the maximum number of unread messages
	size   int           // the maximum length of a message, in bytes
	stream *streamConfig // nil: message mode
}

// An rx is the way in, from the stream to messages.
type rx struct {
	mpa   *mpa.Receiver
	ddp   *ddp.Receiver
	queue *ddp.Queue // of the Sends
	free  []byte     // where in the buffer to read to; nil while no buffer is out
	loan  loan       // of that buffer
	// parked holds the FPDU that has only begun, in place of a whole buffer, while nothing comes; nil otherwise.
	parked   *bufpool.Chunk
	intake   intake
	err      error // why the intake is over
	patience patience

	seen     uint64 // stream offset up to which the Config's Tap has seen the bytes
	recorded uint64 // stream offset up to which the bytes are in the capture
}

// A tx is the way out, from messages to the stream.
type tx struct {
	token atomic.Bool // the transmit token: true while a goroutine holds it
	// fenced holds back all output until the Initiator's first FPDU is here.
	// "MPA Responder mode implementations MUST receive and validate at least one FPDU before sending
	// any FPDUs or Markers." (RFC 5044 §7.1.2)
	// The fence is not a state of the connection's life: Close may come before that FPDU, and what is queued then still
	// waits for it.
	fenced atomic.Bool
	taken  atomic.Uint64 // bytes that TCP has taken
	finish func()        // pump.finish, made a function once so that passing it costs no allocation

	// mu guards the fields below in addition to the token, for detach. It is not held while a goroutine waits for TCP.
	mu     locks.Mutex[locks.Batch]
	ddp    ddp.Sender
	mpa    *mpa.Sender
	batch  *mpa.Batch // lent by loan while the token is held and there is output
	loan   batchLoan
	middle bool     // ddp has begun a message that is not in the batch to its end
	full   bool     // the batch has FPDUs that TCP has not taken; only the token's holder uses it
	left   [][]byte // what TCP has not taken yet of the batch
	done   int      // messages that are in the batch to their end
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

// newPump joins the layers of a connection as startup has agreed.
func newPump(cfg pumpConfig) *pump {
	receiver := cfg.qp.ReceiverConfig()
	p := &pump{
		cfg: cfg, stream: cfg.stream, qp: cfg.qp,
		silent: make(chan struct{}), posted: make(chan struct{}, 1),
		rx: rx{mpa: mpa.NewReceiver(cfg.agreement), ddp: ddp.NewReceiver(receiver), queue: receiver.Queues[ddp.QNSend]},
	}
	p.tx.mpa, p.tx.finish = mpa.NewSender(cfg.agreement), p.finish
	p.tx.fenced.Store(cfg.fenced)
	p.life.init()
	p.role.init(cfg.stream.Capabilities().Deadlines)
	if r := cfg.receive; r != nil {
		p.in = newInbox(cfg.qp, r.cq, r.depth, r.size)
		if r.stream != nil {
			p.in.setWindow(r.stream.window)
			p.bytes = newByteStream(p, r.stream)
		}
	}
	// An error is that of a closed stream, and comes again, or of one without deadlines.
	_ = cfg.stream.SetReadDeadline(time.Time{})
	p.writeLook = writeLook(&cfg)
	return p
}

// start begins to receive. The QP may have failed before: then the peer gets the Terminate, and the connection ends.
func (p *pump) start() {
	p.enlist()
	p.watchIdle()
	go p.receive()
	p.transmit()
}

// receive is the way up: octets to FPDUs to segments to messages.
func (p *pump) receive() {
	for p.rx.intake != intakeOver {
		if !p.receiveOnce(false) { // a waiter goes on
			p.role.yield()
			p.role.standBy()
		}
	}
	p.freed.broadcast()
	if p.closing() {
		close(p.silent)
		p.linger()
	} else {
		p.ended(p.rx.err)
		close(p.silent)
	}
	p.captureArrived(true)
	if p.tx.fenced.Load() { // and will never open
		p.kill(p.why())
	}
	last := p.life.deafen()
	p.transmit()
	if last {
		p.shut()
	}
}

// receiveOnce is run for the goroutine that has the role. It notes the end.
func (p *pump) receiveOnce(reader bool) (over bool) {
	err, over := p.run(reader)
	if over {
		p.rx.err, p.rx.intake = err, intakeOver
	}
	return over
}

// run receives until the stream ends, and says why, or until the protocol has: then it is over without
// an error. It is not over if the role is to change hands: where the caller is a reader, as soon as the inbox
// has something for it, else where a waiter is better off with it.
func (p *pump) run(reader bool) (err error, over bool) { //nolint:revive // err is why it is over
	defer func() { // the one recover of the way up
		if value := recover(); value != nil {
			err, over = p.panicked(value), true
		}
	}()
	defer p.giveBack()
	if p.rx.intake == intakeStalled {
		if !p.place(true) {
			return nil, true
		}
		p.placed()
	}
	for {
		serves := p.role.serves.Load()
		n, off, err := p.read()
		if n > 0 {
			p.captureRun(off, p.rx.free[:n])
			p.rx.mpa.Fill(off, n)
			if p.count.received.octets.Load() == off { // not early: that comes again
				p.count.received.octets.Add(uint64(n))
			}
			p.captureArrived(false)
			if !p.place(!reader) {
				return nil, true
			}
			p.placed()
		}
		interrupted := errors.Is(err, os.ErrDeadlineExceeded) && p.resume()
		switch {
		case err != nil && !interrupted:
			return err, true
		case reader && (interrupted || p.rx.intake == intakeStalled || p.in.has()):
			return nil, false
		case !reader && p.yields(serves):
			return nil, false
		}
		p.giveBack()
	}
}

// read waits until something has come and reads it. While it waits it holds no buffer, unless much of
// an FPDU that has only begun is in one.
func (p *pump) read() (n int, off uint64, err error) {
	var patience time.Duration
	if p.role.driving.Load() {
		patience = p.rx.patience.begin()
	}
	n, off, err = p.stream.ReadSegment(p, patience)
	p.rx.patience.end(err == nil)
	return n, off, err
}

var _ toe.Lender = (*pump)(nil)

// Lend borrows a buffer, unless one is out, and returns where in it to read to.
func (p *pump) Lend() []byte {
	if p.rx.free == nil {
		b := p.rx.loan.get()
		p.rx.mpa.SetBuffer(b) // takes over what is parked
		if p.rx.parked != nil {
			p.rx.parked.Put()
			p.rx.parked = nil
		}
	}
	p.rx.free = p.bounded(p.rx.mpa.Free())
	return p.rx.free
}

// TakeBack gives the buffer back before the stream waits. It reports whether the buffer stays out,
// because much of an FPDU is in it.
func (p *pump) TakeBack() (kept bool) {
	p.giveBack()
	p.park()
	p.rx.patience.end(false)
	return p.rx.free != nil
}

// bounded is b, or as much of it as a Read that receives for itself has use for: what is behind stays in TCP's
// buffer until the next Read, and then goes to that one's memory with no copy in between.
func (p *pump) bounded(b []byte) []byte {
	if p.bytes == nil || !p.role.driving.Load() {
		return b
	}
	if room := p.in.room(); room >= boundedFrom {
		return b[:min(len(b), room+boundedFrom/64)]
	}
	return b
}

// boundedFrom is the length in octets of a Read that is worth a system call of its own.
const boundedFrom = 32 << 10

// parkedMost is how many octets of an FPDU that has begun are worth two copies, so that a peer that stops in the middle
// of one does not hold a whole buffer.
const parkedMost = 16 << 10

// park gives the buffer back where giveBack has not, if little of an FPDU is in it.
func (p *pump) park() {
	if p.rx.free == nil || p.rx.intake == intakeStalled {
		return
	}
	if b, _ := p.rx.mpa.Arrived(); len(b) <= parkedMost {
		p.rx.parked = bufpool.GetChunk(len(b))
		p.rx.loan.put(p.rx.mpa.SetBuffer(p.rx.parked.B))
		p.rx.free = nil
	}
}

// giveBack gives the buffer back, unless an FPDU that has only begun is in it, or one that waits.
func (p *pump) giveBack() {
	if p.rx.intake == intakeStalled || p.rx.parked != nil {
		return
	}
	if needed, _ := p.rx.mpa.Arrived(); len(needed) > 0 {
		return
	}
	if b := p.rx.mpa.SetBuffer(nil); b != nil {
		p.rx.loan.put(b)
		p.rx.free = nil
	}
}

// place takes every ULPDU that is whole, in order, and has its messages handled. It reports whether
// the stream is still sound. Where it would have to wait, and may not, it is stalled afterwards.
func (p *pump) place(mayWait bool) bool {
	for p.rx.intake == intakeStalled || p.rx.mpa.Next() { // one verified ULPDU, each exactly once
		u := p.rx.mpa.ULPDU()
		if p.rx.intake == intakeOpen && !u.Early {
			p.count.received.fpdus.Add(1)
		}
		// The way down may have ended the stream: "MUST NOT allow any further data transfer" (RFC 5040 §7)
		if !p.sound() {
			p.rx.intake = intakeOpen
			return false
		}
		if u.Early {
			if !p.rx.ddp.TryPlace(u.Off, u.Data) {
				p.rx.mpa.Unread() // not placeable yet: it comes again in order
			}
			continue
		}
		if !p.bind(u.Data) {
			p.rx.intake = intakeStalled
			if !mayWait {
				return true
			}
			if !p.awaitRoom(u.Data) {
				return false
			}
		}
		p.rx.intake = intakeOpen
		p.rx.ddp.Place(u.Off, u.Data)
		if !p.deliver() {
			return false
		}
	}
	if !p.deliver() { // the edge may have passed what was placed early
		return false
	}
	if err := p.rx.mpa.Err(); err != nil {
		p.fail(err)
		return false
	}
	return true
}

// deliver has the messages handled whose last octet lies below the edge. It reports whether the stream
// is still sound.
func (p *pump) deliver() bool {
	sound := p.handle()
	if p.in != nil {
		p.in.unbind()
	}
	return sound
}

func (p *pump) handle() bool {
	if p.rx.mpa.Edge() > 0 {
		p.tx.fenced.Store(false)
	}
	for p.rx.ddp.Deliver(p.rx.mpa.Edge()) {
		m := p.rx.ddp.Message()
		p.count.received.message(m.RsvdULP)
		isSend := !m.Tagged && m.QN == ddp.QNSend
		if !isSend {
			p.role.oneSided()
		}
		if m.Tagged && m.Contiguous && p.bytes != nil {
			p.bytes.rx.Placed(rdmap.Handle{STag: m.STag, TO: m.TO, Len: m.Len})
		}
		p.qp.Handle(m) // completions and responses, in stream order
		if isSend && p.in != nil {
			if err := p.settle(); err != nil {
				p.fail(err)
				return false
			}
		}
	}
	if err := p.rx.ddp.Err(); err != nil {
		p.fail(err)
		return false
	}
	return p.sound()
}

// sound reports whether the stream still takes messages. It has the end go its way where it does not.
func (p *pump) sound() bool {
	if s := p.qp.State(); s == rdmap.StateRTS || s == rdmap.StateClosing {
		return true
	}
	p.traceTerminate()
	p.setReason(p.qp.Err())
	p.transmit()
	return false
}

// placed ends the placing of what one read has brought: the answers go out, and who waits is told.
func (p *pump) placed() {
	p.reapStream()
	p.transmit() // Read Responses, and what the completions have let go
	p.freed.broadcast()
	if p.in != nil {
		p.in.notify()
	}
}

// bind has a buffer posted if the segment begins a Send, where it is the connection that posts them: in DDP
// mode it is the ULP whose job that is (RFC 5041 §7.2). It reports false if there is no room for one.
func (p *pump) bind(ulpdu []byte) bool {
	if p.in == nil && !p.cfg.shared || ddp.IsTagged(ulpdu) {
		return true
	}
	h, payload, err := ddp.ParseUntagged(ulpdu)
	switch {
	case err != nil || h.QN != ddp.QNSend || h.MO != 0:
		return true
	case p.cfg.shared:
		p.qp.TakeShared() // where it fails DDP finds no buffer
		return true
	case p.rx.queue.Len() > 0: // that one is for the peer's RTR
		return true
	}
	return p.in.bind(payload, h.Last)
}

// settle hands a message that has come over to Read.
func (p *pump) settle() error {
	head, body, there := p.in.settle()
	switch {
	case !there:
		return nil
	case p.bytes != nil:
		return p.arrived(head, body)
	}
	p.in.accept(len(body), bytestream.DataBuffer)
	return nil
}

// awaitRoom waits until Read has made room for the message. It reports false when the connection ends meanwhile.
func (p *pump) awaitRoom(ulpdu []byte) bool {
	p.placed() // nothing that is already due may wait with us
	if p.in.isShort() {
		p.count.memoryStalls.Add(1)
		p.cfg.trace.debug("memory limit")
	}
	for !p.bind(ulpdu) {
		<-p.posted
		if !p.life.maySend() || p.closing() {
			p.rx.intake = intakeOpen
			return false
		}
	}
	return true
}
