package usertcp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/internal/deadline"
)

// A Stream is a connection of a Stack. It starts no goroutine.
type Stream struct {
	toe.NoWatch
	stack   *Stack
	ep      tcpip.Endpoint
	queue   *waiter.Queue
	entry   waiter.Entry
	network string
	id      tuple
	flow    *flow

	// Only the reader uses these. There is one reader at a time.
	off    uint64 // bytes that ReadSegment has read in order
	begun  bool   // ReadSegment has been called
	target tcpip.SliceWriter

	taken atomic.Uint64 // bytes that Read has read

	// Only the writer uses source: the goroutine that has set writing.
	source batch

	// mu guards the fields that waiting goroutines look at. No goroutine calls gVisor while it
	// holds mu, because gVisor calls NotifyEvent with its own locks held.
	mu       locks.Mutex[locks.UserTCP]
	readable sync.Cond
	writable sync.Cond
	// +checklocks:mu
	reads uint64 // number of events that may have made the Stream readable
	// +checklocks:mu
	writes uint64 // number of events that may have made the Stream writable
	// +checklocks:mu
	readDeadline deadline.Deadline
	// +checklocks:mu
	writeDeadline deadline.Deadline
	// +checklocks:mu
	full bool // the last write found the send buffer full
	// +checklocks:mu
	fullAt uint64 // the value of writes before that write
	// +checklocks:mu
	writing bool // a write is in progress; other writes wait, so that their bytes do not mix
	// +checklocks:mu
	shut bool // CloseWrite has been called
	// +checklocks:mu
	closed bool
	// +checklocks:mu
	broken error // why the connection failed; gVisor tells only one call
}

var _ toe.Stream = (*Stream)(nil)

// newStream makes a Stream of an endpoint.
func (s *Stack) newStream(ep tcpip.Endpoint, queue *waiter.Queue, network string) *Stream {
	c := &Stream{stack: s, ep: ep, queue: queue, network: network}
	c.readable.L, c.writable.L = &c.mu, &c.mu
	c.entry.Init(c, waiter.ReadableEvents|waiter.WritableEvents|waiter.EventHUp|waiter.EventErr)
	queue.EventRegister(&c.entry)
	return c
}

// NotifyEvent is called by gVisor when the endpoint may have become readable or writable.
func (c *Stream) NotifyEvent(mask waiter.EventMask) {
	const over = waiter.EventHUp | waiter.EventErr
	c.mu.Lock()
	defer c.mu.Unlock()
	if mask&(waiter.ReadableEvents|over) != 0 {
		c.reads++
		c.readable.Broadcast()
	}
	if mask&(waiter.WritableEvents|over) != 0 {
		c.writes++
		c.writable.Broadcast()
	}
}

// Read reads bytes in order.
func (c *Stream) Read(p []byte) (int, error) {
	w := tcpip.SliceWriter(p)
	for {
		seen, err := c.mayRead()
		if err != nil {
			return 0, c.opError("read", err)
		}
		if len(p) == 0 {
			return 0, nil
		}
		n, err := c.tryRead(&w)
		if n > 0 || err != nil {
			c.taken.Add(uint64(n))
			return n, c.opError("read", err)
		}
		c.awaitReadable(seen)
	}
}

// mayRead returns an error if the Stream cannot be read, and otherwise the number of events so far.
func (c *Stream) mayRead() (seen uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.readDeadline.Passed():
		return 0, os.ErrDeadlineExceeded
	}
	return c.reads, nil
}

// awaitReadable waits until there have been more events than seen, or the Stream cannot be read.
func (c *Stream) awaitReadable(seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.reads == seen && !c.closed && !c.readDeadline.Passed() {
		c.readable.Wait()
	}
}

// tryRead reads bytes that have arrived in order, without waiting. It returns 0 and nil if there
// are none.
func (c *Stream) tryRead(w *tcpip.SliceWriter) (n int, err error) {
	r, e := c.ep.Read(w, tcpip.ReadOptions{})
	switch e.(type) {
	case nil:
		c.ep.ModerateRecvBuf(r.Count)
		return r.Count, nil
	case *tcpip.ErrWouldBlock:
		return 0, nil
	case *tcpip.ErrClosedForReceive, *tcpip.ErrNotConnected:
		return 0, c.endOfStream()
	}
	return 0, c.failed(e)
}

// failed returns the error of an operation that TCP has refused with e. Close and Abort make TCP
// refuse operations in progress.
func (c *Stream) failed(e tcpip.Error) error {
	if c.isClosed() {
		return net.ErrClosed
	}
	return c.breakWith(systemError(e))
}

// breakWith records why the connection failed, and returns the reason that was recorded first.
func (c *Stream) breakWith(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		c.broken = err
	}
	return c.broken
}

// endOfStream returns the error of a Stream that has no more bytes: io.EOF, unless the connection
// has failed or this end has closed it.
func (c *Stream) endOfStream() error {
	failed := c.ep.State() == uint32(tcp.StateError)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.broken != nil:
		return c.broken
	case failed: // another call is about to record the reason
		return syscall.ECONNRESET
	}
	return io.EOF
}

// ReadSegment tries to read before it waits, and holds no memory of l while it waits. It ignores
// the patience. It shows a run early only if nothing can be read in order. An early run is the
// payload of one segment, as far as it fits the memory of l. If the segment continues the one that
// was shown last, the payload of that one comes before it again, so that an FPDU that lies in both
// can be found.
func (c *Stream) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	if !c.begun {
		c.begun = true
		c.flow.showFrom(c.taken.Load())
	}
	for {
		seen, err := c.mayRead()
		if err != nil {
			return 0, c.off, c.opError("read", err)
		}
		if inOrder := c.ep.Readiness(waiter.ReadableEvents) != 0; inOrder || c.flow.hasRun(c.off) {
			p := l.Lend()
			if len(p) == 0 {
				return 0, c.off, nil
			}
			n, off, err := c.readRun(p, inOrder)
			if n > 0 || err != nil {
				return n, off, c.opError("read", err)
			}
		}
		l.TakeBack()
		c.awaitReadable(seen)
	}
}

// readRun reads bytes in order, or one early run.
func (c *Stream) readRun(p []byte, inOrder bool) (n int, off uint64, err error) {
	if !inOrder {
		n, off = c.flow.takeRun(p, c.off)
		return n, off, nil
	}
	c.target = p
	n, err = c.tryRead(&c.target)
	c.target = nil
	off = c.off
	c.off += uint64(n)
	return n, off, err
}

// earlyArrived wakes the reader, because there is a run to show early.
func (c *Stream) earlyArrived() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	c.readable.Broadcast()
}

// ShowEarly disables early runs for this connection, or enables them again if the Stack shows them.
// It takes effect with the next ReadSegment; the Capabilities do not change. Package extsock
// disables them for a connection without Markers or CRCs, or with Config.NoEarlyPlacement.
func (c *Stream) ShowEarly(show bool) { c.flow.show(show && c.stack.tap.early) }

// EarlyStats returns counts of the segments of this connection that arrived behind a gap.
func (c *Stream) EarlyStats() EarlyStats { return c.flow.earlyStats() }

// Pending returns the number of bytes that Read could return now.
func (c *Stream) Pending() (int, error) {
	if c.isClosed() {
		return 0, c.opError("pending", net.ErrClosed)
	}
	n, err := c.ep.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	if err != nil {
		return 0, c.opError("pending", systemError(err))
	}
	return n, nil
}

func (c *Stream) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Write writes all of p, and waits while the send buffer is full.
func (c *Stream) Write(p []byte) (n int, err error) {
	if err := c.beginWrite(true); err != nil {
		return 0, c.opError("write", err)
	}
	defer c.endWrite(false)
	r := bytes.NewReader(p)
	for n < len(p) {
		seen, err := c.mayWrite()
		if err != nil {
			return n, c.opError("write", err)
		}
		m, err := c.put(r)
		n += m
		if err != nil {
			return n, c.opError("write", err)
		}
		if n < len(p) {
			r.Reset(p[n:])
			if m == 0 {
				c.awaitWritable(seen)
			}
		}
	}
	return n, nil
}

// beginWrite takes the turn to write. If another write is in progress, it waits if wait is set, and
// otherwise returns errBusy.
func (c *Stream) beginWrite(wait bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return net.ErrClosed
		case wait && c.writeDeadline.Passed():
			return os.ErrDeadlineExceeded
		case !c.writing:
			c.writing, c.full, c.fullAt = true, false, c.writes
			return nil
		case !wait:
			return errBusy
		}
		c.writable.Wait()
	}
}

// errBusy means that another write is in progress.
var errBusy = errors.New("another write is under way")

// endWrite releases the turn to write. full means that the send buffer had no room for the rest.
func (c *Stream) endWrite(full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing, c.full = false, full
	c.writable.Broadcast()
}

// mayWrite returns an error if a write cannot wait, and otherwise the number of events so far.
func (c *Stream) mayWrite() (seen uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.writeDeadline.Passed():
		return 0, os.ErrDeadlineExceeded
	case c.shut:
		return 0, syscall.EPIPE
	}
	return c.writes, nil
}

// awaitWritable waits until there have been more events than seen, or waiting is over.
func (c *Stream) awaitWritable(seen uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.writes == seen && !c.closed && !c.shut && !c.writeDeadline.Passed() {
		c.writable.Wait()
	}
}

// put gives TCP as much of p as it takes without waiting. TCP cuts the data of one call at the
// EMSS, and does not split them otherwise without need: see [Stream.TryWriteBatch].
func (c *Stream) put(p tcpip.Payloader) (n int, err error) {
	m, e := c.ep.Write(p, tcpip.WriteOptions{})
	switch e.(type) {
	case nil, *tcpip.ErrWouldBlock:
		return int(m), nil
	case *tcpip.ErrClosedForSend, *tcpip.ErrNotConnected:
		return int(m), c.endOfWriting()
	}
	return int(m), c.failed(e)
}

// endOfWriting returns the error of a Stream that takes no more bytes.
func (c *Stream) endOfWriting() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.broken != nil:
		return c.broken
	}
	return syscall.EPIPE
}

// TryWriteBatch writes as many bytes as TCP takes without waiting, and copies them. While another
// goroutine is in Write, TryWriteBatch writes nothing.
//
// Slices that together fit the EMSS become one segment, and a segment ends where a slice ends: so
// FPDUs are aligned to segments if each is one slice and fits the EMSS. There are two exceptions:
// the send buffer, the peer's window or the congestion window has no room for the whole segment, or
// TCP sends data that were written before the EMSS became smaller. A batch with a slice longer than
// the EMSS is cut at the EMSS.
func (c *Stream) TryWriteBatch(bufs [][]byte) (n int, err error) {
	switch err := c.beginWrite(false); err {
	case nil:
	case errBusy:
		return 0, nil
	default:
		return 0, c.opError("write", err)
	}
	full := false
	defer func() { c.endWrite(full) }()
	for c.source.set(bufs, c.EMSS()); c.source.next(); {
		want := c.source.Len()
		m, err := c.put(&c.source)
		n += m
		if full = m < want; full || err != nil {
			c.source = batch{}
			return n, c.opError("write", err)
		}
	}
	c.source = batch{}
	return n, nil
}

// WaitWritable waits until no write is in progress and the send buffer has room. If the last write
// found it full, WaitWritable waits until half of it is free. So there are few wake-ups, and few
// FPDUs are cut where the room ends.
func (c *Stream) WaitWritable() error {
	for {
		if err := c.awaitTurn(); err != nil {
			return c.opError("write", err)
		}
		seen, err := c.mayWrite()
		if err != nil {
			return c.opError("write", err)
		}
		if c.ep.Readiness(waiter.WritableEvents) != 0 {
			return nil
		}
		c.awaitWritable(seen)
	}
}

// awaitTurn waits until no write is in progress, and until TCP has reported that a full send buffer
// has become half empty. gVisor reports that once, and also every failure of the connection.
func (c *Stream) awaitTurn() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return net.ErrClosed
		case c.writeDeadline.Passed():
			return os.ErrDeadlineExceeded
		case c.shut: // gVisor no longer reports room
			return syscall.EPIPE
		case !c.writing && !(c.full && c.writes == c.fullAt):
			return nil
		}
		c.writable.Wait()
	}
}

// EMSS returns the EMSS that TCP uses. It becomes smaller when a router reports a smaller path MTU,
// and never larger.
func (c *Stream) EMSS() int { return int(c.flow.emss.Load()) }

// Capabilities returns the capabilities of a user-space TCP.
func (c *Stream) Capabilities() toe.Capabilities {
	return toe.Capabilities{
		Deadlines: true, HalfClose: true, Reset: true, Pending: true, EarlyRuns: c.stack.tap.early, Aligns: true,
	}
}

func (c *Stream) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.id.local) }
func (c *Stream) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.id.remote) }

func (c *Stream) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Stream) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	c.readDeadline.Set(t, &c.readable)
	return nil
}

func (c *Stream) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.opError("set", net.ErrClosed)
	}
	c.writeDeadline.Set(t, &c.writable)
	return nil
}

// opError wraps err in a *net.OpError, unless err is nil or io.EOF.
func (c *Stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return opError(op, c.network, c.LocalAddr(), c.RemoteAddr(), err)
}
