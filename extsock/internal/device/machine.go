package device

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
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

var lifeNext = [...][]life{open: {ending, over}, ending: {lingering, over}, lingering: {over}, over: {}}

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

// A machine is the byte stream of one connection over a queue pair. It is a value without a lock, a
// goroutine or a clock, and the memory is an argument.
type machine struct {
	layout
	life   life
	reason error // of over
	// waits means that nothing may be sent before something has been received.
	waits bool

	tx     *bytestream.Sender
	rx     *bytestream.Receiver
	window int // messages that the peer has credits for
	wr     rdmap.WorkRequest

	unread ring.Ring[message]
	eof    bool // no data of the peer comes any more
	deaf   bool // data is thrown away
	lost   bool // data has been thrown away

	idle    []int         // buffers for receives that are to be posted
	free    []int         // buffers for Sends that are free
	sending [maxSends]int // the buffer of each Send under way, by its number
	nudges  int           // that are to be posted
	flush   step

	writeErr error // why nothing can be written any more; nil: reason is why
}

// A step is how far something has come that is done once.
type step uint8

const (
	ahead step = iota
	posted
	done
)

// A message is bytes that no Read has taken yet.
type message struct {
	buffer int
	data   []byte // the unread part of it
}

// A peerConfig is what startup has learned, and agreed on.
type peerConfig struct {
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

// begin begins the byte stream.
func (m *machine) begin(p peerConfig) {
	m.tx = bytestream.NewSender(p.credits, min(p.maxMessage, m.sendLen), p.window)
	m.rx = bytestream.NewReceiver(p.window)
	m.window, m.waits = p.window, p.waits
	if p.greets {
		m.tx.Greet()
	}
}

// become is the only place where the life changes.
func (m *machine) become(next life) {
	for _, l := range lifeNext[m.life] {
		if l == next {
			m.life = next
			return
		}
	}
	panic(fmt.Sprintf("BUG: %v becomes %v", m.life, next))
}

// end ends the connection because of reason. The first reason stays.
func (m *machine) end(reason error) {
	if m.life != over {
		m.reason = reason
		m.become(over)
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
	case m.tx == nil || m.waits:
		return action{}, false
	case len(m.free) > 0 && m.tx.Next(&m.wr):
		return m.send(memory), true
	case m.life == ending && m.flush == ahead && m.tx.IsFinished():
		m.flush = posted
		return action{op: postFlush, id: flushID}, true
	}
	return action{}, false
}

// send copies the Sender's message to a buffer, so that the memory of a Write is the caller's again.
func (m *machine) send(memory []byte) action {
	i := m.free[len(m.free)-1]
	m.free = m.free[:len(m.free)-1]
	off, n := m.layout.send(i), 0
	to := memory[off:][:m.sendLen]
	if m.wr.Gather == nil {
		n = copy(to, m.wr.Data)
	}
	for _, b := range m.wr.Gather {
		n += copy(to[n:], b)
	}
	m.sending[m.wr.ID%maxSends] = i
	m.tx.Posted()
	m.tx.Detached()
	return action{op: postSend, id: m.wr.ID | sendBit, off: off, n: n}
}

// completed notes a completion.
func (m *machine) completed(c *toe.Completion, memory []byte) {
	switch {
	case m.life == over:
		return
	case c.Err != nil:
		if f, ok := c.Err.(interface{ Flushed() bool }); !ok || !f.Flushed() { //nolint:errorlint // as toe.Completion has it
			m.end(c.Err)
		}
		return // what ends the connection comes behind what is flushed
	case c.ID&sendBit != 0:
		id := c.ID &^ sendBit
		m.free = append(m.free, m.sending[id%maxSends])
		m.tx.Completed([]rdmap.Completion{{ID: id}})
	case c.ID == flushID:
		m.flush = done
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
	m.eof = m.eof || a.End
	if a.Kind == bytestream.Data && a.N > 0 {
		if !m.deaf && !m.join(b[n:]) {
			*m.unread.Push() = message{buffer, b[n:]}
			return nil
		}
		m.lost = m.lost || m.deaf
	}
	m.freed(buffer, a.Buffer)
	return nil
}

// join moves short data to the rest of the newest unread message's buffer, if there is room.
func (m *machine) join(data []byte) bool {
	if m.unread.Len() == 0 || len(data) >= bytestream.Combine {
		return false
	}
	last := m.unread.At(m.unread.Tail() - 1)
	if cap(last.data)-len(last.data) < len(data) {
		return false
	}
	last.data = append(last.data, data...)
	return true
}

// freed notes that a buffer for receives is free again.
func (m *machine) freed(buffer int, kind bytestream.Buffer) {
	m.idle = append(m.idle, buffer)
	if kind != bytestream.ExtraBuffer {
		m.tx.Freed(1, m.window, kind == bytestream.ControlBuffer)
	}
}

// settle moves an ending connection on.
func (m *machine) settle() {
	if m.life == ending && m.flush == done {
		m.become(lingering)
	}
	if m.life == lingering && m.eof {
		m.end(net.ErrClosed)
	}
}

// disconnected notes that no completion comes any more.
func (m *machine) disconnected(err error) {
	switch {
	case !errors.Is(err, toe.ErrDisconnected):
		m.end(err)
	case m.life >= ending && m.flush != ahead: // the peer has ended while everything was on its way
		m.end(net.ErrClosed)
	case m.eof:
		m.end(io.EOF)
	default: // a device does not tell a reset from a FIN
		m.end(syscall.ECONNRESET)
	}
}

// read takes unread bytes. ok is false if the Read has to wait.
func (m *machine) read(p []byte) (n int, ok bool, err error) {
	for n < len(p) && m.unread.Len() > 0 {
		first := m.unread.First()
		k := copy(p[n:], first.data)
		n += k
		if first.data = first.data[k:]; len(first.data) == 0 {
			buffer := first.buffer
			m.unread.Pop()
			m.freed(buffer, bytestream.DataBuffer)
		}
	}
	switch {
	case n > 0 || len(p) == 0:
		return n, true, nil
	case m.eof:
		return 0, true, io.EOF
	case m.life == over:
		return 0, true, m.reason
	case m.deaf:
		return 0, true, io.EOF
	}
	return 0, false, nil
}

// mayWrite returns why nothing can be written, or nil.
func (m *machine) mayWrite() error {
	switch {
	case m.writeErr != nil:
		return m.writeErr
	case m.life == over && m.reason == io.EOF: //nolint:errorlint // as disconnected has it
		return syscall.EPIPE
	case m.life == over:
		return m.reason
	}
	return nil
}

// closeWrite ends the stream after what has been written. Later Writes return err.
func (m *machine) closeWrite(err error) {
	if m.writeErr == nil || err == net.ErrClosed { //nolint:errorlint // as Close has it
		m.writeErr = err
	}
	if m.tx != nil {
		m.tx.Finish()
	}
}

// closeRead throws away what is unread, and what comes from now on.
func (m *machine) closeRead() {
	m.deaf = true
	for m.unread.Len() > 0 {
		m.lost = true
		buffer := m.unread.First().buffer
		m.unread.Pop()
		m.freed(buffer, bytestream.DataBuffer)
	}
}

// close ends the connection in order. It reports whether data of the peer is lost by that: then it is
// over, and the peer sees no end.
func (m *machine) close() (lost bool) {
	m.closeRead()
	if lost = m.lost; lost {
		m.end(net.ErrClosed)
	}
	m.closeWrite(net.ErrClosed)
	if m.life == open {
		m.become(ending)
	}
	return lost
}
