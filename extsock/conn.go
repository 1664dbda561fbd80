package extsock

import (
	"context"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Conn is an extended socket: a net.Conn that speaks plain TCP until it is switched into DDP
// mode. From then on it carries RDMA over the same TCP connection. Its methods may be called from
// any goroutine. NewConn, a Dialer and a Listener make a Conn. The methods of the zero value, and
// of a nil *Conn, return syscall.EINVAL, as those of the zero net.TCPConn do, or the zero values of
// their results.
type Conn struct {
	// Fields used by every Read and Write come first.
	startup startup.Handshake // the phase that the connection has reached
	// ddp is the engine of DDP mode: see the method engine. start, or join, sets it before the
	// phase is DDP, and it does not change.
	ddp     ddpEngine
	process inProcess // what ddp points to, if the driver runs in this process
	verbs   verbs     // see endpoint
	taps    observe.Taps

	readDeadline  wait.Deadline
	writeDeadline wait.Deadline

	stream toe.Stream
	under  net.Conn // the net.Conn that the stream was made from, or the stream itself
	cfg    *Config  // changes only in Dial, before any other goroutine has the Conn
	trace  *observe.Trace
	door   *startup.Door // of the Listener that accepted the connection; nil: none

	// peer is what startup learned about the peer. The Peer that it points to never changes. Before
	// startup it is the zero Peer.
	peer atomic.Pointer[startup.Peer]

	noDevice error // why the device of Config.Backend does not run the connection; nil: it has none, or does

	plainIn  turn // of the Reads of TCP mode
	plainOut turn // of the Writes of TCP mode

	mu       locks.Mutex[locks.Conn]
	fallback *fallbackError // +checklocks:mu

	initiator bool
	appQueues bool        // Config.RecvCQ or Config.SRQ is set
	abortive  atomic.Bool // Close must reset the connection
	// closeCalled says that the program has called Close. It is not a phase of startup, because a
	// startup that fails closes the connection too, and the program's first Close must succeed
	// then.
	closeCalled atomic.Bool
	resetTold   atomic.Bool // a call has already returned the peer's reset as its error
	resetRead   atomic.Bool // a Read has returned it

	verbsOnce sync.Once

	background wait.Background // counts the stream too, until it is closed
}

var _ net.Conn = (*Conn)(nil)

// NewConn returns an extended socket on top of c, which may be a *net.TCPConn, a *tls.Conn, a
// *net.UnixConn or any other net.Conn. The Conn owns c from now on: the caller must not read from
// c, write to it or close it. initiator says whether this end is the Initiator in MPA startup.
// Exactly one of the two ends must be. A nil cfg means the zero Config.
//
// A *tls.Conn returns io.EOF when the peer has ended TLS, and also at a FIN, which anybody on the
// path may have forged. The byte stream and rsockets have an end of their own, without which Read
// returns io.ErrUnexpectedEOF. Message mode has none: there, make the *tls.Conn over a
// netconn.ForTLS, or use Config.TLS.
func NewConn(c net.Conn, initiator bool, cfg *Config) *Conn {
	return newNetConn(c, initiator, cfg, nil)
}

// newNetConn is NewConn for a connection that a Listener has accepted at its door.
func newNetConn(c net.Conn, initiator bool, cfg *Config, door *startup.Door) *Conn {
	x := newConn(conn.StreamOf(c), initiator, cfg, door)
	x.under = c
	return x
}

func newConn(s toe.Stream, initiator bool, cfg *Config, door *startup.Door) *Conn {
	if cfg == nil {
		cfg = &Config{}
	}
	c := &Conn{
		stream: s, under: s, cfg: cfg, initiator: initiator, door: door,
		trace: observe.NewTrace(cfg.Trace, s, initiator), appQueues: cfg.RecvCQ != nil || cfg.SRQ != nil,
	}
	c.initStartup()
	c.background.Begin() // the stream: closeStream ends it, or the driver
	c.peer.Store(&unknownPeer)
	if cfg.Tap != nil {
		c.taps.Init(cfg.Tap(s.LocalAddr(), s.RemoteAddr(), initiator))
	}
	return c
}

// ok reports whether c is neither nil nor the zero Conn.
func (c *Conn) ok() bool { return c != nil && c.stream != nil }

// unknownPeer is the peer of connections before startup.
var unknownPeer startup.Peer

// Read reads up to len(p) bytes into p.
//
// In TCP mode Read is TCP's Read. In DDP mode between two rddp ends, Read and Write remain a byte
// stream and Read behaves as over TCP. io.EOF means that the peer has closed its end, or called
// CloseWrite, and that all its bytes have been read. If the connection was lost, the error is
// another one. After a reset, the first Read returns ECONNRESET and later Reads return io.EOF, as
// over TCP.
//
// In message mode (Config.Messages, or a foreign peer) Read returns bytes of one message. If the
// message is longer than p, the next Read returns the rest. One Read never returns bytes of two
// messages. A message of length 0 gives 0 bytes and no error.
//
// If the program posts its own receive buffers (see PostRecv), the error is ErrMode.
func (c *Conn) Read(p []byte) (int, error) {
	return c.read(p, nil)
}

// ReadMessage is Read for a program that needs to know where messages begin. In message mode it
// returns, with the first bytes of a message, the Completion of its receive: the length of the
// whole message, and what the peer has asked for with it. If the message is longer than p, Read
// returns the rest. If an earlier Read has left a rest, ReadMessage returns bytes of that rest, and
// the Completion is zero. Outside of message mode it is always zero.
func (c *Conn) ReadMessage(p []byte) (n int, m rdmap.Completion, err error) {
	n, err = c.read(p, &m)
	return n, m, err
}

// read is Read, and sets m to what ReadMessage returns, unless m is nil.
func (c *Conn) read(p []byte, m *rdmap.Completion) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	e, err := c.enter(startup.Reading, &c.readDeadline)
	if err != nil {
		return 0, c.opError("read", err)
	}
	return e.read(p, m)
}

// Write writes p to the connection. It does not keep p after it returns.
//
// In TCP mode Write is TCP's Write. In DDP mode a byte stream behaves as TCP does: Write copies a
// short p and may combine it with other short Writes while the connection is busy. It sends a
// longer p without a copy. It waits while the peer's buffers are full.
//
// In message mode Write sends p as one message, and returns when TCP has taken all of it.
// Operations that were posted before complete first. If the peer is rddp and p is longer than the
// peer's Config.RecvSize, the error is syscall.EMSGSIZE. A foreign peer would end the connection.
//
// When the peer has closed the connection in order, the first Write to a byte stream still
// succeeds, as over TCP, and later Writes return EPIPE. The peer discards the bytes. Data that the
// peer has sent before can still be read. In message mode Writes succeed until the peer's TCP
// refuses them.
//
// When the write deadline passes, Write takes back the bytes that have not begun to go out, and n
// is the number of the other bytes: they are sent from a copy. The connection remains usable. There
// is one exception: if more than 4 MiB are left of a message that has begun, the connection ends.
func (c *Conn) Write(p []byte) (int, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	e, err := c.enter(startup.Writing, &c.writeDeadline)
	if err != nil {
		return 0, c.opError("write", err)
	}
	return e.write(p)
}

// enter begins a call that uses the connection. It starts startup if no call has done so, waits
// until startup is over, and returns the engine of the connection. In TCP mode startup counts the
// call until startup.Leave.
func (c *Conn) enter(u startup.Use, d *wait.Deadline) (engine, error) {
	for {
		e, err := c.startup.Enter(u)
		switch {
		case err != nil:
			return nil, err
		case e.DDP:
			return c.ddp, nil
		case e.Over == nil:
			return tcpMode{here{c}}, nil
		}
		if e.Begun {
			c.background.Go(c.live) // HandshakeTimeout bounds startup, not this call's deadline
		}
		select {
		case <-e.Over:
		case <-c.startup.Closed().Done():
		case <-d.Done():
			return nil, os.ErrDeadlineExceeded
		}
	}
}

// readError and writeError turn an error of an engine in DDP mode into the error that Conn returns.
func (c *Conn) readError(err error) error {
	if err == nil {
		return nil
	}
	return c.opError("read", c.afterReset(err, false))
}

func (c *Conn) writeError(err error) error {
	if err == nil {
		return nil
	}
	return c.opError("write", c.afterReset(err, true))
}

func (c *Conn) isClosed() bool { return c.startup.Closed().IsSet() }

// Close closes the connection. A second Close returns net.ErrClosed.
//
// In DDP mode Close first waits, for at most Config.CloseTimeout, until queued data is sent, and
// then sends the FIN. If the data is not sent in that time, Close returns an error and resets the
// connection: the reset tells the peer that data is missing. Close flushes every Work Request that
// has not completed, and deregisters all memory. The connection then waits for the peer's FIN in
// the background, for at most Config.CloseTimeout again. If a layer between this package and TCP
// has a send buffer, as TLS does, Close also waits until that buffer is empty, in either mode, for
// at most Config.CloseTimeout in all. After SetLinger(0) Close does not wait.
//
// As over TCP, Close resets the connection if this end has received bytes that it has not read. The
// peer's program learns from the reset (ECONNRESET) that its data is lost. If the stream below
// cannot reset, the peer gets io.ErrUnexpectedEOF, and in message mode io.EOF. Data that is still
// queued at this end is lost too. Bytes that arrive only after Close are discarded without a reset,
// and the peer receives everything that was written here, and the end.
//
// If a Listener is still running the connection's startup, Close returns at once, and the
// connection is closed in the background when startup is over. The peer then sees a connection that
// was accepted and closed. With StartupPrefer, the Listener waits for a silent peer for at most 1
// s, or Config.SniffTimeout if that is shorter.
func (c *Conn) Close() error {
	if !c.ok() {
		return syscall.EINVAL
	}
	if c.closeCalled.Swap(true) {
		return c.opError("close", net.ErrClosed)
	}
	c.background.Begin()
	defer c.background.End()
	err := c.close()
	c.mu.Lock() // setDeadline sets no deadline after this
	defer c.mu.Unlock()
	c.readDeadline.Stop()
	c.writeDeadline.Stop()
	return err
}

// Wait waits until the connection is over and no work for it remains in the background. Close
// leaves work behind: queued data of the layer below, the wait for the peer's FIN, and startup that
// a Listener runs. The program calls Close first. Without Close, Wait returns only if the
// connection fails.
//
// Wait returns an error, ctx.Err(), only if ctx is done first. Close bounds what it leaves behind
// by Config.CloseTimeout, and a layer with a send buffer of its own, such as TLS, may take 5 s
// more. Wait does not wait for what the program has started itself, nor for what a Config.Backend
// keeps of connections that are over, as TCP in user space does.
func (c *Conn) Wait(ctx context.Context) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	err := c.background.Wait(ctx)
	if s, ok := c.stream.(awaitable); ok && err == nil {
		err = s.Wait(ctx)
	}
	return err
}

// An awaitable is a Stream whose work may go on in the background after Close. Wait waits for it.
type awaitable interface{ Wait(context.Context) error }

// close is Close for callers inside this package: the program's first Close succeeds after it. A
// second call does nothing.
func (c *Conn) close() error {
	switch c.startup.Close() {
	case startup.AlreadyClosed:
		return nil
	case startup.CloseDriver:
		return c.closeDDP()
	case startup.LeaveOpen:
		if c.verbs.made.Load() { // otherwise nothing is registered
			c.verbs.deregisterAll() // now, because the peer may still get its Reply
		}
		return nil
	case startup.Interrupt: // the goroutine that runs startup does the rest
		return c.stream.Close()
	}
	err := c.closeStream()
	if err == nil && !c.abortive.Load() {
		err = c.opError("close", driver.Flush(c.stream, c.cfg.closeTimeout()))
	}
	return err
}

// closeDDP closes a connection in DDP mode.
func (c *Conn) closeDDP() error {
	defer c.verbs.deregisterAll()
	return c.ddp.close(c.abortive.Load())
}

// closeStream closes a connection that is not in DDP mode. It is called once.
func (c *Conn) closeStream() error {
	closeStream := c.stream.Close
	if c.startup.HasUnread() { // TCP does not know that these bytes are unread
		closeStream = c.stream.Abort
	}
	err := guarded(closeStream)
	c.startup.StreamClosed()
	_ = guarded(func() error { c.taps.Closed(); return nil })
	c.abandonVerbs()
	c.background.End()
	return err
}

// CloseWrite shuts down the sending side of the connection: the peer reads everything that was
// written and then io.EOF. This end can still read. Later Writes fail. In message mode the error is
// errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	if !c.ok() {
		return syscall.EINVAL
	}
	var never wait.Deadline
	e, err := c.enter(startup.Writing, &never)
	if err != nil {
		return c.opError("close", err)
	}
	return e.closeWrite()
}

// LocalAddr returns the local address of the connection below.
func (c *Conn) LocalAddr() net.Addr {
	if !c.ok() {
		return nil
	}
	return c.stream.LocalAddr()
}

// RemoteAddr returns the peer's address of the connection below.
func (c *Conn) RemoteAddr() net.Addr {
	if !c.ok() {
		return nil
	}
	return c.stream.RemoteAddr()
}

// SetDeadline sets the read and the write deadline. The zero time means no deadline. Deadlines
// bound calls that wait. They have no effect on Work Requests that were posted.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err // already a *net.OpError
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline sets the deadline of Read, WriteTo, RemoteMemory.Read and RemoteMemory.ReadAt,
// including calls that are waiting now. A call whose deadline passes returns
// os.ErrDeadlineExceeded. The zero time means no deadline.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.setDeadline(&c.readDeadline, t, c.startup.SetReadDeadline)
}

// SetWriteDeadline sets the deadline of Write, ReadFrom, RemoteMemory.Write, RemoteMemory.WriteAt
// and the atomics, including calls that are waiting now. A call whose deadline passes returns
// os.ErrDeadlineExceeded. The zero time means no deadline.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	return c.setDeadline(&c.writeDeadline, t, c.startup.SetWriteDeadline)
}

// setDeadline sets d, and also the stream's own deadline while Read and Write use the stream
// directly. In DDP mode the driver reads and writes for all calls, so setDeadline leaves the
// stream's deadlines alone.
func (c *Conn) setDeadline(d *wait.Deadline, t time.Time, stream func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return c.opError("set", net.ErrClosed)
	}
	d.Set(t)
	if err := stream(t); err != nil {
		return err
	}
	c.engine().deadlineSet(d)
	return nil
}
