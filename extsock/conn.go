package extsock

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/toe"
)

// A mode is what a connection speaks.
type mode int

const (
	modeTCP mode = iota // Read and Write are those of the stream below
	modeDDP             // DDP segments in FPDUs: the byte stream or messages, and RDMA operations
)

// A Conn is an extended socket: a net.Conn that speaks plain TCP until it is switched into DDP mode,
// and from then on RDMA over the same TCP connection. All methods may be called from any goroutine.
type Conn struct {
	stream    toe.Stream
	under     net.Conn // what the stream was made of, or the stream
	tcp       net.Conn // what has the settings of TCP: under, or what is below TLS
	cfg       *Config  // another copy after an option was set; fixed once a switch begins
	initiator bool
	taps      taps
	trace     *trace
	door      *door // of the Listener it came from; nil: none

	readDeadline, writeDeadline deadline

	mu          sync.Mutex
	mode        mode          // +checklocks:mu
	switching   chan struct{} // +checklocks:mu; not nil during MPA startup, closed at its end
	asked       bool          // +checklocks:mu; startup waits for the application to answer a Request
	reading     int           // +checklocks:mu; plain Reads under way
	writing     int           // +checklocks:mu; plain Writes under way
	closeCalled bool          // +checklocks:mu; by the application
	closed      chan struct{} // closed by Close, with mu held
	peer        peer          // +checklocks:mu; what startup told of the peer
	startup     startup       // +checklocks:mu; what Config.Startup asks for
	window      window        // +checklocks:mu; the byte stream's, from the beginning of startup until the inbox has it
	ahead       atomic.Bool   // startup holds octets for Read

	appQueues bool        // Config.RecvCQ or Config.SRQ is the application's
	abortive  atomic.Bool // Close is to be no orderly end
	resetTold atomic.Bool // a call has failed because the peer has reset the connection

	verbsOnce sync.Once
	verbs     verbs // see endpoint

}

var _ net.Conn = (*Conn)(nil)

// NewConn makes an extended socket of a connection that something else has made: a *net.TCPConn,
// *tls.Conn, *net.UnixConn or any other net.Conn. The Conn owns it from now on: nobody else may read
// from it, write to it or close it. initiator says which part it takes in MPA startup; of the two
// ends exactly one must be the Initiator. A nil cfg means the zero Config.
func NewConn(c net.Conn, initiator bool, cfg *Config) *Conn {
	x := newConn(streamOf(c), initiator, cfg)
	x.under, x.tcp = c, c
	if t, ok := c.(*tls.Conn); ok {
		x.tcp = t.NetConn()
	}
	return x
}

func newConn(s toe.Stream, initiator bool, cfg *Config) *Conn {
	if cfg == nil {
		cfg = &Config{}
	}
	c := &Conn{
		stream: s, under: s, tcp: s, cfg: cfg, initiator: initiator, closed: make(chan struct{}),
		trace: newTrace(cfg.Trace, s, initiator), appQueues: cfg.RecvCQ != nil || cfg.SRQ != nil,
	}
	c.startup.settled = cfg.Startup == StartupOff
	if cfg.Tap != nil {
		c.taps.init(cfg.Tap(s.LocalAddr(), s.RemoteAddr(), initiator))
	}
	return c
}

// config returns how the connection behaves. What it points to never changes.
func (c *Conn) config() *Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg
}

// Read reads into p. In TCP mode it is TCP's Read, and so it is in DDP mode between two rddp ends, where Read
// and Write stay a byte stream; io.EOF means that the peer has ended its half properly, and a connection that was
// lost gives io.ErrUnexpectedEOF at best. In message mode (Config.Messages, or a foreign peer) it returns the octets
// of one message: what does not fit into p comes with the next Read, never together with another message, and a
// message of length 0 gives 0 octets and no error.
//
// Read needs the receive queue: where the application posts its own buffers (see PostRecv) the
// error is ErrReceiveOwner.
func (c *Conn) Read(p []byte) (int, error) {
	ddp, err := c.enter(&c.reading, &c.readDeadline)
	if err != nil {
		return 0, c.opError("read", err)
	}
	if ddp {
		n, err := c.readDDP(p)
		return n, c.opError("read", c.afterReset(err, false))
	}
	defer c.leave(&c.reading)
	return c.readPlain(p)
}

// Write writes p, which is the caller's again when Write returns. In TCP mode it is TCP's Write, and so it is in DDP
// mode for a byte stream: a short p is copied, to be sent with what else is waiting while the connection is busy, a
// longer one is sent from where it is; Write waits while the peer's buffers are full. In message mode it sends p as
// one message and returns when TCP has taken all of it. Operations posted before it complete first. A p longer than
// the buffers of another rddp end, Config.RecvSize there, gives ErrMessageTooLong; a foreign peer would end the
// connection.
//
// When the deadline passes, the octets that have not begun to go out are taken back: n says how many are the
// peer's. Those that have begun go out, from a copy. The connection can be used on, unless more than 4 MiB are left of a
// message that has begun: so long a one ends it.
func (c *Conn) Write(p []byte) (int, error) {
	ddp, err := c.enter(&c.writing, &c.writeDeadline)
	if err != nil {
		return 0, c.opError("write", err)
	}
	if ddp {
		n, err := c.writeDDP(p)
		return n, c.opError("write", c.afterReset(err, true))
	}
	defer c.leave(&c.writing)
	return c.writePlain(p)
}

// enter begins a Read or Write: it does what Config.Startup asks for, waits for a switch under way and
// tells whether the connection is in DDP mode. In TCP mode the call is counted in n until leave.
func (c *Conn) enter(n *int, d *deadline) (ddp bool, err error) {
	for {
		c.mu.Lock()
		switch {
		case c.startup.failed != nil:
			err := c.startup.failed
			c.mu.Unlock()
			return false, err
		case c.isClosed():
			c.mu.Unlock()
			return false, net.ErrClosed
		case c.mode == modeDDP:
			c.mu.Unlock()
			return true, nil
		case c.switching == nil && c.startup.settled:
			*n++
			c.mu.Unlock()
			return false, nil
		}
		over, err := c.joinStartupLocked()
		if n == &c.writing && c.cfg.SniffTimeout == 0 { // the peer may wait for what is to be written
			c.hurrySniffLocked()
		}
		c.mu.Unlock()
		if err != nil {
			return false, err
		}
		select {
		case <-over:
		case <-c.closed:
		case <-d.done():
			return false, errDeadline
		}
	}
}

func (c *Conn) isClosed() bool { return isClosed(c.closed) }

func (c *Conn) leave(n *int) {
	c.mu.Lock()
	*n--
	c.mu.Unlock()
}

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
	c.mu.Lock()
	c.startup.failed = nil // the application knows
	again := c.closeCalled
	c.closeCalled = true
	c.mu.Unlock()
	if again {
		return c.opError("close", net.ErrClosed)
	}
	err := c.close()
	c.readDeadline.stop()
	c.writeDeadline.stop()
	return err
}

// close is Close, but for what the program has been told. Closing again does nothing.
func (c *Conn) close() error {
	c.mu.Lock()
	if c.isClosed() {
		c.mu.Unlock()
		return nil
	}
	inDDP, inStartup := c.mode == modeDDP, c.switching != nil
	leaves := c.startup.byListener.Load() && (inStartup || c.startup.sniffing != nil)
	if leaves && c.startup.sniffing != nil {
		c.hurrySniffLocked()
		leaves = c.boundSniffLocked() // else nothing but the peer would end the sniff
		c.startup.byListener.Store(leaves)
	}
	close(c.closed)
	if c.asked {
		inStartup = false
	}
	c.mu.Unlock()
	switch {
	case inDDP:
		return c.closeDDP()
	case leaves:
		if c.verbs.made.Load() { // else nothing is registered
			c.verbs.deregisterAll() // now: the peer may get its Reply before the end
		}
		return nil
	case inStartup: // its goroutine finds the stream closed and does the rest
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
	c.mu.Lock()
	unread := len(c.startup.ahead) > 0
	c.mu.Unlock()
	if unread { // TCP does not know that they are unread
		c.setReset()
	}
	err := c.stream.Close()
	c.leaveDoor()
	c.taps.closed()
	c.abandonVerbs()
	return err
}

// setReset makes TCP reset the connection at the stream's Close, if it can.
func (c *Conn) setReset() {
	s, ok := c.tcp.(interface{ SetLinger(int) error })
	if !ok {
		return
	}
	_ = s.SetLinger(0) // an error is that of a closed stream
	if c.tcp != c.under {
		_ = c.tcp.Close() // past TLS, which would say goodbye first
	}
}

// abandonLocked closes a connection whose startup has failed, unless that was done meanwhile. The caller goes on with
// closeStream; that is nobody else's then.
//
// +checklocks:c.mu
func (c *Conn) abandonLocked() {
	if !c.isClosed() {
		close(c.closed)
	}
}

// isGivenUp reports whether nobody wants the startup that is under way any more.
func (c *Conn) isGivenUp() bool { return c.isClosed() && !c.startup.byListener.Load() }

// CloseWrite ends the way out, behind what was written, and leaves the way in open. In DDP mode that needs the
// byte stream; in message mode the error is errors.ErrUnsupported.
func (c *Conn) CloseWrite() error {
	var never deadline
	inDDP, err := c.enter(&c.writing, &never)
	if err != nil {
		return c.opError("close", err)
	}
	if !inDDP {
		defer c.leave(&c.writing)
		return c.stream.CloseWrite()
	}
	s := c.verbs.pump.bytes
	switch {
	case s == nil:
		return c.opError("close", errors.ErrUnsupported)
	case c.isClosed():
		return c.opError("close", net.ErrClosed)
	}
	s.finish(syscall.EPIPE)
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
	return c.setDeadline(&c.readDeadline, t, c.stream.SetReadDeadline)
}

// SetWriteDeadline bounds Write, RemoteMemory.WriteAt and the atomics, those under way included.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(&c.writeDeadline, t, c.stream.SetWriteDeadline)
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
	if c.startup.sniffing != nil && d == &c.readDeadline {
		return nil // the stream gets it when the sniff is over
	}
	if c.mode == modeTCP && c.switching == nil {
		return stream(t)
	}
	if c.mode == modeDDP && d == &c.readDeadline {
		c.verbs.pump.interrupt()
	}
	return nil
}
