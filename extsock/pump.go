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
// Up, one goroutine runs receive for as long as the connection lives. It owns mrx and drx, but may lend
// that role to a goroutine that waits in Read: see role.
//
// Down, there is no goroutine to hand work to: whoever has posted takes the transmit token, if it
// is free, and writes everything that is queued; if it is not, its holder finds the new work before
// it lets go. The holder alone owns dtx, mtx and batch. Nobody who takes the token that way waits
// for TCP: what the send buffer does not take at once is finished by a goroutine that gets the
// token and ends when the queue is empty. So posting never blocks, and neither does receive when it
// answers a Read, or two peers with full windows would wait for each other.
type pump struct {
	stream       toe.Stream
	taps         *taps  // nil: none
	trace        *trace // nil: no trace
	qp           *rdmap.QP
	closeTimeout time.Duration
	writeTimeout time.Duration // 0: none
	// writeLook is how often to look whether TCP takes something, 0: not at all. The operating system calls a send buffer
	// full until a good part of it is free, and a slow peer may need long for that.
	writeLook time.Duration
	door      *startup.Door // nil: none
	idle      idle

	rxMarkers bool   // we receive markers
	recorded  uint64 // stream offset up to which what came is in the capture

	mrx  *mpa.Receiver
	drx  *ddp.Receiver
	free []byte // where in the buffer to read to; nil while no buffer is out
	loan loan   // of that buffer
	// parked has the FPDU that has only begun, in place of a whole buffer, while nothing comes; nil where it has not.
	parked     *bufpool.Chunk
	seen       uint64        // octets that the Config's Tap has seen
	finishFunc func()        // finish, made a function once so that passing it costs no allocation
	in         *inbox        // where messages wait for Read; nil where the application posts the buffers
	bytes      *byteStream   // nil in message mode
	queue      *ddp.Queue    // the receive queue
	shared     bool          // its buffers come from a shared one
	posted     chan struct{} // capacity 1: the inbox has room, or the end has come
	freed      signal        // Work Requests have completed, so a queue may have room
	silent     chan struct{} // closed when nothing more will come up: how goroutines wait for intakeOver

	token     atomic.Bool              // the transmit token: true while somebody holds it
	batchMu   locks.Mutex[locks.Batch] // besides the token, for detach: not held while anybody waits for TCP
	dtx       ddp.Sender
	mtx       *mpa.Sender
	batch     *mpa.Batch // lent by batchLoan while the token is held and there is output
	batchLoan batchLoan
	// batchMu guards from dtx to left, too.
	markers bool          // we send markers
	maxFPDU int           // Config.MaxFPDU
	large   bool          // the peer takes FPDUs longer than its segments
	middle  bool          // dtx has begun a message that is not in the batch to its end
	left    [][]byte      // what TCP has not taken yet of the batch
	done    int           // messages that are in the batch to their end
	taken   atomic.Uint64 // octets that TCP has taken

	// fenced holds back all output until the Initiator's first FPDU is here.
	// "MPA Responder mode implementations MUST receive and validate at least one FPDU before sending
	// any FPDUs or Markers." (RFC 5044 §7.1.2)
	// The fence is not a state of the connection's life: Close may come before that FPDU, and what is queued then still
	// waits for it.
	fenced atomic.Bool

	life life

	// interruptible says that a read can be ended by a deadline.
	interruptible bool

	count    counters
	role     role
	intake   intake // the role guards these three
	rxErr    error  // why the intake is over
	patience patience
	bound    readBound
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

// newPump joins the layers of a connection as startup has agreed. The QP has been started.
func newPump(s toe.Stream, qp *rdmap.QP, a mpa.Agreement) *pump {
	p := &pump{
		stream: s, qp: qp, closeTimeout: defaultCloseTimeout,
		mrx: mpa.NewReceiver(a), drx: ddp.NewReceiver(qp.ReceiverConfig()),
		mtx: mpa.NewSender(a), markers: a.TxMarkers, rxMarkers: a.RxMarkers,
		posted: make(chan struct{}, 1), silent: make(chan struct{}),
	}
	p.life.init()
	p.finishFunc = p.finish
	// An error is that of a closed stream, and comes again, or of one without deadlines.
	_ = s.SetReadDeadline(time.Time{})
	p.interruptible = s.Capabilities().Deadlines
	p.role.init()
	return p
}

// receive is the way up: octets to FPDUs to segments to messages.
func (p *pump) receive() {
	for p.intake != intakeOver {
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
		p.ended(p.rxErr)
		close(p.silent)
	}
	p.captureArrived(true)
	if p.fenced.Load() { // and will never open
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
		p.rxErr, p.intake = err, intakeOver
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
	if p.intake == intakeStalled {
		if !p.place(true) {
			return nil, true
		}
		p.placed()
	}
	for {
		serves := p.role.serves.Load()
		n, off, err := p.read()
		if n > 0 {
			p.captureRun(off, p.free[:n])
			p.mrx.Fill(off, n)
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
		case reader && (interrupted || p.intake == intakeStalled || p.in.has()):
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
		patience = p.patience.begin()
	}
	n, off, err = p.stream.ReadSegment(p, patience)
	p.patience.end(err == nil)
	return n, off, err
}

var _ toe.Lender = (*pump)(nil)

// Lend borrows a buffer, unless one is out, and returns where in it to read to.
func (p *pump) Lend() []byte {
	if p.free == nil {
		b := p.loan.get()
		p.mrx.SetBuffer(b) // takes over what is parked
		if p.parked != nil {
			p.parked.Put()
			p.parked = nil
		}
	}
	p.free = p.bounded(p.mrx.Free())
	return p.free
}

// TakeBack gives the buffer back before the stream waits. It reports whether the buffer stays out,
// because much of an FPDU is in it.
func (p *pump) TakeBack() (kept bool) {
	p.giveBack()
	p.park()
	p.patience.end(false)
	return p.free != nil
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
	if p.free == nil || p.intake == intakeStalled {
		return
	}
	if b, _ := p.mrx.Arrived(); len(b) <= parkedMost {
		p.parked = bufpool.GetChunk(len(b))
		p.loan.put(p.mrx.SetBuffer(p.parked.B))
		p.free = nil
	}
}

// giveBack gives the buffer back, unless an FPDU that has only begun is in it, or one that waits.
func (p *pump) giveBack() {
	if p.intake == intakeStalled || p.parked != nil {
		return
	}
	if needed, _ := p.mrx.Arrived(); len(needed) > 0 {
		return
	}
	if b := p.mrx.SetBuffer(nil); b != nil {
		p.loan.put(b)
		p.free = nil
	}
}

// place takes every ULPDU that is whole, in order, and has its messages handled. It reports whether
// the stream is still sound. Where it would have to wait, and may not, it is stalled afterwards.
func (p *pump) place(mayWait bool) bool {
	for p.intake == intakeStalled || p.mrx.Next() { // one verified ULPDU, each exactly once
		u := p.mrx.ULPDU()
		if p.intake == intakeOpen && !u.Early {
			p.count.received.fpdus.Add(1)
		}
		// The way down may have ended the stream: "MUST NOT allow any further data transfer" (RFC 5040 §7)
		if !p.sound() {
			p.intake = intakeOpen
			return false
		}
		if u.Early {
			if !p.drx.TryPlace(u.Off, u.Data) {
				p.mrx.Unread() // not placeable yet: it comes again in order
			}
			continue
		}
		if !p.bind(u.Data) {
			p.intake = intakeStalled
			if !mayWait {
				return true
			}
			if !p.awaitRoom(u.Data) {
				return false
			}
		}
		p.intake = intakeOpen
		p.drx.Place(u.Off, u.Data)
		if !p.deliver() {
			return false
		}
	}
	if !p.deliver() { // the edge may have passed what was placed early
		return false
	}
	if err := p.mrx.Err(); err != nil {
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
	if p.mrx.Edge() > 0 {
		p.fenced.Store(false)
	}
	for p.drx.Deliver(p.mrx.Edge()) {
		m := p.drx.Message()
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
	if err := p.drx.Err(); err != nil {
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
	if p.in == nil && !p.shared || ddp.IsTagged(ulpdu) {
		return true
	}
	h, payload, err := ddp.ParseUntagged(ulpdu)
	switch {
	case err != nil || h.QN != ddp.QNSend || h.MO != 0:
		return true
	case p.shared:
		p.qp.TakeShared() // where it fails DDP finds no buffer
		return true
	case p.queue.Len() > 0: // that one is for the peer's RTR
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
		p.trace.debug("memory limit")
	}
	for !p.bind(ulpdu) {
		<-p.posted
		if !p.life.maySend() || p.closing() {
			p.intake = intakeOpen
			return false
		}
	}
	return true
}
