package extsock

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// A Conn is an extended socket: a net.Conn that speaks plain TCP until it is switched into DDP mode,
// and from then on RDMA over the same TCP connection. All methods may be called from any goroutine.
type Conn struct {
	stream    toe.Stream
	under     net.Conn // what the stream was made of, or the stream
	tcp       net.Conn // what has the settings of TCP: under, or what is below TLS
	cfg       *Config  // mu guards it; another copy after an option was set; fixed once a switch begins
	initiator bool
	taps      taps
	trace     *trace
	door      *startup.Door // of the Listener it came from; nil: none

	readDeadline  deadline
	writeDeadline deadline

	startup *startup.Handshake // how far the connection has come
	closed  <-chan struct{}    // of startup

	// peer is what startup told of the peer. What it points to never changes; before startup it is a Peer without
	// anything.
	peer atomic.Pointer[startup.Peer]

	mu       locks.Mutex[locks.Conn]
	fallback *fallbackError // +checklocks:mu

	appQueues bool        // Config.RecvCQ or Config.SRQ is the application's
	abortive  atomic.Bool // Close is to be no orderly end
	// closeCalled says that the program has called Close. It is no phase of startup, because startup that fails
	// closes the connection, too, and the program's first Close succeeds then.
	closeCalled atomic.Bool
	resetTold   atomic.Bool // a call has failed because the peer has reset the connection

	verbsOnce sync.Once
	verbs     verbs // see endpoint

}

var _ net.Conn = (*Conn)(nil)

// NewConn makes an extended socket of a connection that something else has made: a *net.TCPConn,
// *tls.Conn, *net.UnixConn or any other net.Conn. The Conn owns it from now on: nobody else may read
// from it, write to it or close it. initiator says which part it takes in MPA startup; of the two
// ends exactly one must be the Initiator. A nil cfg means the zero Config.
func NewConn(c net.Conn, initiator bool, cfg *Config) *Conn {
	return newNetConn(c, initiator, cfg, nil)
}

// newNetConn is NewConn for a connection that came in at a door.
func newNetConn(c net.Conn, initiator bool, cfg *Config, door *startup.Door) *Conn {
	x := newConn(streamOf(c), initiator, cfg, door)
	x.under, x.tcp = c, c
	if t, ok := c.(*tls.Conn); ok {
		x.tcp = t.NetConn()
	}
	return x
}

func newConn(s toe.Stream, initiator bool, cfg *Config, door *startup.Door) *Conn {
	if cfg == nil {
		cfg = &Config{}
	}
	c := &Conn{
		stream: s, under: s, tcp: s, cfg: cfg, initiator: initiator, door: door,
		trace: newTrace(cfg.Trace, s, initiator), appQueues: cfg.RecvCQ != nil || cfg.SRQ != nil,
	}
	c.startup = newStartup(s, initiator, cfg, door, &c.taps)
	c.closed = c.startup.Closed()
	c.peer.Store(&unknownPeer)
	if cfg.Tap != nil {
		c.taps.init(cfg.Tap(s.LocalAddr(), s.RemoteAddr(), initiator))
	}
	return c
}

// unknownPeer is the peer of connections whose startup has told nothing.
var unknownPeer startup.Peer

// config returns how the connection behaves. What it points to never changes.
func (c *Conn) config() *Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg
}

// inDDPMode reports whether a driver has the stream.
func (c *Conn) inDDPMode() bool {
	p := c.startup.Phase()
	return p == startup.DDP || p == startup.Terminating
}

// Read reads into p. In TCP mode it is TCP's Read, and so it is in DDP mode between two rddp ends, where Read
// and Write stay a byte stream; io.EOF means that the peer has ended its half properly, and a connection that was
// lost gives io.ErrUnexpectedEOF at best. In message mode (Config.Messages, or a foreign peer) it returns the octets
// of one message: what does not fit into p comes with the next Read, never together with another message, and a
// message of length 0 gives 0 octets and no error.
//
// Read needs the receive queue: where the application posts its own buffers (see PostRecv) the
// error is ErrMode.
func (c *Conn) Read(p []byte) (int, error) {
	ddp, err := c.enter(startup.Reading, &c.readDeadline)
	if err != nil {
		return 0, c.opError("read", err)
	}
	if ddp {
		n, err := c.readDDP(p)
		return n, c.opError("read", c.afterReset(err, false))
	}
	defer c.startup.Leave(startup.Reading)
	return c.readPlain(p)
}

// Write writes p, which is the caller's again when Write returns. In TCP mode it is TCP's Write, and so it is in DDP
// mode for a byte stream: a short p is copied, to be sent with what else is waiting while the connection is busy, a
// longer one is sent from where it is; Write waits while the peer's buffers are full. In message mode it sends p as
// one message and returns when TCP has taken all of it. Operations posted before it complete first. A p longer than
// the buffers of another rddp end, Config.RecvSize there, gives ErrTooLong; a foreign peer would end the
// connection.
//
// When the deadline passes, the octets that have not begun to go out are taken back: n says how many are the
// peer's. Those that have begun go out, from a copy. The connection can be used on, unless more than 4 MiB are left of a
// message that has begun: so long a one ends it.
func (c *Conn) Write(p []byte) (int, error) {
	ddp, err := c.enter(startup.Writing, &c.writeDeadline)
	if err != nil {
		return 0, c.opError("write", err)
	}
	if ddp {
		n, err := c.writeDDP(p)
		return n, c.opError("write", c.afterReset(err, true))
	}
	defer c.startup.Leave(startup.Writing)
	return c.writePlain(p)
}

func (c *Conn) isClosed() bool { return isClosed(c.closed) }

// Close closes the connection. In DDP mode it lets what is queued go out first, waiting at most
// Config.CloseTimeout, then sends the FIN; every Work Request that has not completed is flushed, and
// all registered memory is taken back from the peer. The peer's FIN is awaited in the background, for
// at most the same time again. Where TCP is below something with a send buffer of its own, as for TLS, Close waits
// for that to be empty, in either mode, at most Config.CloseTimeout in all, unless SetLinger says 0.
//
// As over TCP, Close resets the connection if this end has not read all that has come of the peer's Writes: the peer's
// program learns that they are lost (ECONNRESET), and what is still queued here is lost, too. What comes later is
// thrown away, but then the peer gets all that was written here, and the end behind it. A second Close gives
// net.ErrClosed.
//
// If a Listener is still starting the connection up, Close returns at once, and the connection is closed in the
// background when startup is over. So the peer finds a connection that was accepted and closed. With StartupPrefer,
// a peer that has sent nothing is waited for at most 1 s, or Config.SniffTimeout if that is shorter.
func (c *Conn) Close() error {
	if c.closeCalled.Swap(true) {
		return c.opError("close", net.ErrClosed)
	}
	err := c.close()
	c.mu.Lock() // setDeadline sets none after this
	defer c.mu.Unlock()
	c.readDeadline.stop()
	c.writeDeadline.stop()
	return err
}

// close is Close without its effect on later calls of Close. Closing again does nothing.
func (c *Conn) close() error {
	switch c.startup.Close() {
	case startup.AlreadyClosed:
		return nil
	case startup.CloseDriver:
		return c.closeDDP()
	case startup.LeaveOpen:
		if c.verbs.made.Load() { // else nothing is registered
			c.verbs.deregisterAll() // now: the peer may get its Reply before the end
		}
		return nil
	case startup.Interrupt: // the goroutine that runs startup finds the stream closed and does the rest
		return c.stream.Close()
	}
	err := c.closeStream()
	if err == nil && !c.abortive.Load() {
		err = c.opError("close", flush(c.stream, c.cfg.closeTimeout()))
	}
	return err
}

// closeDDP ends a connection in DDP mode.
func (c *Conn) closeDDP() error {
	defer c.verbs.deregisterAll()
	if c.abortive.Load() {
		c.verbs.pump.kill(net.ErrClosed)
		return nil
	}
	return c.opError("close", c.verbs.pump.close())
}

// closeStream ends a connection that is not in DDP mode. It is called once.
func (c *Conn) closeStream() error {
	closeStream := c.stream.Close
	if c.startup.HasUnread() { // TCP does not know that they are unread
		closeStream = c.stream.Abort
	}
	err := closeStream()
	c.startup.StreamClosed()
	c.taps.closed()
	c.abandonVerbs()
	return err
}

// CloseWrite ends the way out, behind what was written, and leaves the way in open. In DDP mode that needs the
// byte stream; in message mode the error is errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	var never deadline
	inDDP, err := c.enter(startup.Writing, &never)
	if err != nil {
		return c.opError("close", err)
	}
	if !inDDP {
		defer c.startup.Leave(startup.Writing)
		return c.stream.CloseWrite()
	}
	p := c.verbs.pump
	switch {
	case p.bytes == nil:
		return c.opError("close", errors.ErrUnsupported)
	case c.isClosed():
		return c.opError("close", net.ErrClosed)
	}
	p.finishStream(syscall.EPIPE)
	return nil
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.stream.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.stream.RemoteAddr() }

// SetDeadline sets both deadlines. It has no effect on Work Requests that were posted.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err // as it is: a net.Error
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds Read and RemoteMemory.ReadAt, those under way included.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.setDeadline(&c.readDeadline, t, c.startup.SetReadDeadline)
}

// SetWriteDeadline bounds Write, RemoteMemory.WriteAt and the atomics, those under way included.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(&c.writeDeadline, t, c.startup.SetWriteDeadline)
}

// setDeadline moves d and, as long as Read and Write go straight to the stream, its deadline. In
// DDP mode the pump reads and writes for everybody, so the stream's own deadlines are left alone.
func (c *Conn) setDeadline(d *deadline, t time.Time, stream func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return c.opError("set", net.ErrClosed)
	}
	d.set(t)
	if err := stream(t); err != nil {
		return err
	}
	if c.inDDPMode() && d == &c.readDeadline {
		c.verbs.pump.interrupt()
	}
	return nil
}
