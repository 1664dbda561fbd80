package device

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/inbox"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// A life is how far a connection has come. It only moves forward:
//
//	open ──▶ ending ──▶ lingering ──▶ over
//	  └─────────┴───────────────────────▲
type life uint8

const (
	open      life = iota
	ending         // what was written goes out, then the end, then a Read of 0 bytes
	lingering      // the peer's device has all that; the peer's end is awaited
	over           // nothing more is posted; reason says why
)

var lifeNames = [...]string{"open", "ending", "lingering", "over"}

func (l life) String() string { return lifeNames[l] }

var lifeNext = states.Table[life]{
	open:      states.To(ending, over),
	ending:    states.To(lingering, over),
	lingering: states.To(over),
	over:      0,
}

// The numbers of work requests: those of receives are the numbers of their buffers.
const (
	sendBit  = 1 << 62 // and the number that the Sender has given
	flushID  = 1 << 61
	nudgeID  = flushID + 1
	maxSends = bytestream.MaxSlots
)

// An action is what is to be posted.
type action struct {
	op     actionOp
	id     uint64
	off, n int // of the Region
}

type actionOp uint8

const (
	postReceive actionOp = iota
	postSend
	postFlush // an RDMA Read of 0 bytes
	postNudge // an RDMA Write of 0 bytes
)

// A machine is one connection over a queue pair: the byte stream, or messages. It is a value
// without a lock, a goroutine or a clock, and the memory is an argument.
type machine struct {
	layout
	life   life
	reason error // of over
	// waits means that nothing may be sent before something has been received.
	waits bool
	// held means that the program's Work Requests wait for the device, and nothing overtakes them.
	// posted is the number of those without a Completion.
	held   bool
	posted int

	begun  bool
	tx     *bytestream.Sender // of the byte stream; nil in message mode
	rx     *bytestream.Receiver
	out    outgoing // in message mode
	window int      // messages that the peer has credits for
	wr     rdmap.WorkRequest

	unread inbox.Inbox[int] // the memory of a message is a buffer for receives

	idle    []int         // buffers for receives that are to be posted
	free    []int         // buffers for Sends that are free
	sending [maxSends]int // the buffer of each Send under way, by its number
	nudges  int           // that are to be posted
	flush   step

	writeErr error // why nothing can be written any more; nil: reason is why
}

// An outgoing is the message of the Write that is under way, in message mode.
type outgoing struct {
	data []byte
	due  bool   // it is to be posted
	next uint64 // its number
}

// A peerConfig is what startup has learned, and agreed on.
type peerConfig struct {
	messages            bool // message mode
	isRNIC              bool
	credits, maxMessage int // of the peer's buffers
	window              int // messages that the peer has been told it may send
	waits, greets       bool
}

// newMachine returns the machine of a connection. All its receives are to be posted.
func newMachine(l layout) *machine {
	m := &machine{layout: l, idle: make([]int, l.receives), free: make([]int, l.sends)}
	for i := range m.idle {
		m.idle[i] = i
	}
	for i := range m.free {
		m.free[i] = i
	}
	return m
}

// begin begins the byte stream, or message mode.
func (m *machine) begin(p peerConfig) {
	m.begun, m.waits = true, p.waits
	if p.messages && p.isRNIC { // a foreign iWARP peer may serve no Reads, and message mode needs none
		m.setFlush(never)
	}
	if p.messages {
		return
	}
	m.tx = bytestream.NewSender(p.credits, min(p.maxMessage, m.sendLen), p.window)
	m.rx = bytestream.NewReceiver(p.window)
	m.window, m.unread.Stream = p.window, true
	if p.greets {
		m.tx.Greet()
	}
}

// become changes the life. Nothing else does.
func (m *machine) become(next life) { lifeNext.Become(&m.life, next) }

// end ends the connection because of reason, unless it is over already.
func (m *machine) end(reason error) {
	if m.life != over {
		m.reason = reason
		m.become(over)
	}
}

// failed ends the connection because of a work request that has failed. A flushed request is not
// the reason; the reason comes behind it.
func (m *machine) failed(err error) {
	if rnic.StatusOf(err) != rdmap.StatusFlushed {
		m.end(err)
	}
}

// next returns what is to be posted next. memory is the Region's. The caller posts in this order.
func (m *machine) next(memory []byte) (a action, ok bool) {
	switch {
	case m.life == over:
		return action{}, false
	case len(m.idle) > 0: // before the credits for them
		i := m.idle[0]
		m.idle = m.idle[1:]
		return action{op: postReceive, id: uint64(i), off: m.receive(i), n: m.receiveLen}, true
	case m.nudges > 0:
		m.nudges--
		return action{op: postNudge, id: nudgeID}, true
	case !m.maySend() || m.held:
		return action{}, false
	case m.tx == nil && m.out.due && len(m.free) > 0:
		return m.sendMessage(memory), true
	case m.tx != nil && len(m.free) > 0 && m.tx.Next(&m.wr):
		return m.send(memory), true
	case m.life == ending && m.flush == ahead && m.isWritten():
		m.setFlush(posted)
		return action{op: postFlush, id: flushID}, true
	}
	return action{}, false
}

// maySend reports whether the device may get work requests that the peer notices.
func (m *machine) maySend() bool { return m.life != over && m.begun && !m.waits }

// isWritten reports whether everything that was written is posted, and the end behind it.
func (m *machine) isWritten() bool {
	if m.tx == nil {
		return !m.out.due
	}
	return m.tx.IsFinished()
}

// sendMessage copies the message of the Write to a buffer.
func (m *machine) sendMessage(memory []byte) action {
	id := m.out.next
	m.out.next++
	m.out.due = false
	off := m.buffer(id)
	return action{op: postSend, id: id | sendBit, off: off, n: copy(memory[off:][:m.sendLen], m.out.data)}
}

// buffer takes a buffer for the Send with a number, and returns where it lies.
func (m *machine) buffer(id uint64) (off int) {
	i := m.free[len(m.free)-1]
	m.free = m.free[:len(m.free)-1]
	m.sending[id%maxSends] = i
	return m.layout.send(i)
}

// write takes the message of a Write.
func (m *machine) write(p []byte) {
	if len(p) > m.sendLen {
		panic("BUG: a message that is too long")
	}
	m.out.data, m.out.due = p, true
}

// takeBack ends the Write in message mode. It reports whether its message goes out.
func (m *machine) takeBack() (goes bool) {
	goes = !m.out.due
	m.out.data, m.out.due = nil, false
	return goes
}

// send copies the Sender's message to a buffer, so that the memory of a Write is the caller's
// again.
func (m *machine) send(memory []byte) action {
	off, n := m.buffer(m.wr.ID), 0
	to := memory[off:][:m.sendLen]
	if m.wr.Gather == nil {
		n = copy(to, m.wr.Data)
	}
	for _, b := range m.wr.Gather {
		n += copy(to[n:], b)
	}
	m.tx.Posted()
	m.tx.Detached()
	return action{op: postSend, id: m.wr.ID | sendBit, off: off, n: n}
}

// completed notes a completion.
func (m *machine) completed(c *rnic.Completion, memory []byte) {
	switch {
	case m.life == over:
		return
	case c.Err != nil:
		m.failed(c.Err)
		return
	case c.ID&sendBit != 0:
		id := c.ID &^ sendBit
		m.free = append(m.free, m.sending[id%maxSends])
		if m.tx != nil {
			m.tx.Completed([]rdmap.Completion{{ID: id}})
		}
	case c.ID == flushID:
		m.setFlush(done)
	case c.ID < uint64(m.receives):
		m.waits = false
		if c.Len < 0 || c.Len > m.receiveLen {
			m.end(errLength)
			return
		}
		if err := m.arrived(int(c.ID), memory[m.receive(int(c.ID)):][:c.Len:m.receiveLen]); err != nil {
			m.end(err)
			return
		}
	}
	m.settle()
}

// arrived notes a message in a buffer.
func (m *machine) arrived(buffer int, b []byte) error {
	if m.tx == nil {
		m.arrivedWhole(buffer, b)
		return nil
	}
	if m.rx.OutOfCredits() {
		m.rx.GaveBack(m.tx.GivenBack())
	}
	n := min(len(b), bytestream.HeaderLen)
	a, err := m.rx.Arrived(b[:n], b[n:])
	if err == nil {
		err = m.tx.Credit(a.Credits)
	}
	if err == nil && a.Kind == bytestream.Grant {
		err = m.tx.Granted(a.Grant)
	}
	if err != nil {
		return err
	}
	if a.Kind == bytestream.Offer { // no memory of a Read is registered, so the Write comes as data
		m.rx.Answer(rdmap.Handle{})
		m.tx.Answer(rdmap.Handle{})
	}
	if a.End {
		m.unread.End()
	}
	if a.Kind == bytestream.Data && a.N > 0 {
		if !m.unread.Discards() && !m.unread.Join(b[n:]) {
			m.unread.Add(buffer, b[n:])
			return nil
		}
		m.unread.Lose() // if it discards
	}
	m.freed(buffer, a.Buffer)
	return nil
}

// arrivedWhole is arrived in message mode.
func (m *machine) arrivedWhole(buffer int, b []byte) {
	if m.unread.Discards() {
		m.unread.Lose()
		m.taken(buffer)
		return
	}
	m.unread.AddNote(&rdmap.Completion{Len: uint32(len(b))})
	m.unread.Add(buffer, b)
}

// freed notes that a buffer for receives is free again.
func (m *machine) freed(buffer int, kind bytestream.Buffer) {
	m.idle = append(m.idle, buffer)
	if m.tx != nil && kind != bytestream.ExtraBuffer {
		m.tx.Freed(1, m.window, kind == bytestream.ControlBuffer)
	}
}

// taken notes that a buffer holds nothing unread any more.
func (m *machine) taken(buffer int) { m.freed(buffer, bytestream.DataBuffer) }

// settle moves an ending connection to its next life, if that is due.
func (m *machine) settle() {
	if m.life == ending && m.flush == done {
		m.become(lingering)
	}
	if m.life == ending && m.flush == never && m.isWritten() && len(m.free) == m.sends && m.posted == 0 {
		m.become(lingering)
	}
	if m.life == lingering && (m.unread.HasEnded() || m.tx == nil) { // a peer that is not rddp may wait for the end
		m.end(net.ErrClosed)
	}
}

// disconnected notes that no completion comes any more.
func (m *machine) disconnected(err error) {
	switch {
	case m.life == over: // the first reason stays, also in place of the end of messages
	case !errors.Is(err, rnic.ErrDisconnected):
		m.end(err)
	case m.life >= ending && m.flush != ahead: // the peer has ended while everything was on its way
		m.end(net.ErrClosed)
	case m.unread.HasEnded(), m.tx == nil: // messages have no end of their own
		m.unread.End()
		m.end(io.EOF)
	default: // a device does not tell a reset from a FIN
		m.end(syscall.ECONNRESET)
	}
}

// read takes unread bytes. ok is false if the Read has to wait. note, if not nil, gets what
// extsock.Conn.ReadMessage returns.
func (m *machine) read(p []byte, note *rdmap.Completion) (n int, ok bool, err error) {
	waiting := m.unread.Len() > 0
	n = m.unread.Take(p, note, m.taken)
	switch {
	case n > 0, len(p) == 0, waiting && !m.unread.Stream:
		return n, true, nil
	case m.unread.HasEnded():
		return 0, true, io.EOF
	case m.life == over:
		return 0, true, m.reason
	case m.unread.Discards():
		return 0, true, io.EOF
	}
	return 0, false, nil
}

// mayWrite returns why nothing can be written, or nil.
func (m *machine) mayWrite() error {
	switch {
	case m.writeErr != nil:
		return m.writeErr
	case m.life == over && m.reason == io.EOF: //nolint:errorlint // as disconnected sets it
		return syscall.EPIPE
	case m.life == over:
		return m.reason
	}
	return nil
}

// closeWrite ends the stream after what has been written. Later Writes return err.
func (m *machine) closeWrite(err error) {
	if m.writeErr == nil || err == net.ErrClosed { //nolint:errorlint // as close passes it
		m.writeErr = err
	}
	if m.tx != nil {
		m.tx.Finish()
	}
}

// kill ends the connection at once, and discards what is unread. If something is unread, Reads
// return reason and not the end of the stream, even if the end has arrived.
func (m *machine) kill(reason error) {
	m.end(reason)
	if m.unread.Len() > 0 {
		m.unread.Cut()
	}
	m.unread.Close(m.taken)
}

// closeRead discards what comes from now on.
func (m *machine) closeRead() { m.unread.Discard() }

// close ends the connection in order. It reports whether data of the peer is lost: then the
// connection is over, and the peer sees no end.
func (m *machine) close() (lost bool) {
	if lost = m.unread.Close(m.taken); lost {
		m.end(net.ErrClosed)
	}
	m.closeWrite(net.ErrClosed)
	if m.life == open {
		m.become(ending)
	}
	m.settle()
	return lost
}
