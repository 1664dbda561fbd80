package conn

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Config has the settings of a Conn. Every number is used as it is; there are no defaults.
type Config struct {
	Domain *ddp.Domain // of the memory that the peer may reach

	// SendDepth is the maximum number of Work Requests in the send queue. RecvDepth is the maximum
	// number of unread messages, and RecvSize the maximum length of one in bytes.
	SendDepth, RecvDepth, RecvSize int
	// LongestMessage, if not nil, returns the maximum length in bytes of the message that begins
	// now. RecvSize bounds the result, and a negative result means 0. A longer message ends the
	// connection. before is the number of messages that have begun before this one, modulo 2^32.
	// whole says that the message has a single segment. Otherwise only its last segment tells how
	// long it is, but it needs memory now. The connection calls the function with a lock held, so
	// the function must not use the connection and must not wait.
	LongestMessage func(before uint32, whole bool) int

	// IRD and ORD are the maximum numbers of RDMA Reads and atomics in flight, of the peer and of
	// this end.
	IRD, ORD int
	// Denied are rights that the peer does not have on this connection, whatever the Region grants.
	// A request that needs one of them ends the connection, as one that the Region denies.
	Denied ddp.Access
	// Terminate says when the Terminate for an error in what the peer has sent goes out.
	Terminate rdmap.TerminateTime

	// NoCapabilities leaves out the capability record, by which two rddp ends know each other.
	NoCapabilities bool
	// NoCRC says that this end does not want a CRC32C in each FPDU.
	NoCRC bool

	// StartupTimeout bounds MPA startup: the Initiator's wait for the Reply, the Responder's for
	// the Request, and the time to send either. CloseTimeout bounds two waits at the end: until TCP
	// has taken what is queued, and then for the peer's FIN.
	StartupTimeout, CloseTimeout time.Duration

	// Tap, if not nil, is called by New, and returns what sees the startup frames and the FPDUs of
	// the connection. It is called with locks held: see observe.Taps.InitOwn.
	Tap func(local, remote net.Addr, initiator bool) toe.Tap
}

// A Conn is one connection: MPA startup, and then a queue pair in message mode. Exactly one end is
// the Initiator, which calls Connect; the other end calls ReceiveRequest, and then Accept of the
// Request. Once Connect or Accept has succeeded, any goroutine may call any method. Before that,
// other goroutines may only call Close, Discard, QPNum and the methods for the addresses.
type Conn struct {
	stream     toe.Stream
	initiator  bool
	number     uint64
	cfg        Config
	door       *startup.Door
	startup    *startup.Handshake
	peer       *startup.Peer            // after startup
	qp         atomic.Pointer[rdmap.QP] // from Connect or Accept on
	discards   atomic.Bool              // Discard has been called
	sendCQ     *rdmap.CompletionQueue
	bells      driver.Doorbells // of sendCQ
	driver     *driver.Driver   // in DDP mode
	reading    wait.Deadline
	tap        toe.Tap         // nil: none
	taps       *observe.Taps   // of tap
	background wait.Background // counts the stream too, until it is closed
}

// numbers counts the queue pairs of the process.
var numbers atomic.Uint64

// NewNumber returns a number for a queue pair, and for its stream in a Domain. No other queue pair
// of the process has this number.
func NewNumber() uint64 { return numbers.Add(1) }

// New returns a Conn over s, which the Conn owns from now on. door is the Door of the listener that
// has accepted s, or nil.
func New(s toe.Stream, initiator bool, cfg *Config, door *startup.Door) *Conn {
	c := &Conn{stream: s, initiator: initiator, number: NewNumber(), cfg: *cfg, door: door}
	from := startup.Config{
		Initiator: initiator, Off: true, Judge: true, Foreign: cfg.NoCapabilities, Timeout: cfg.StartupTimeout, Door: door,
	}
	if cfg.Tap != nil {
		c.tap, c.taps = cfg.Tap(s.LocalAddr(), s.RemoteAddr(), initiator), new(observe.Taps)
		c.taps.InitOwn(c.tap)
		from.Tap = observe.Frames{Taps: c.taps}
	}
	c.startup = startup.New(s, from)
	c.background.Begin() // the stream: closeStream ends it, or the driver
	return c
}

// Connect is the Initiator's MPA startup. privateData goes to the peer's program. If the error is
// an *mpa.RejectError, the peer has rejected the connection. After any error the caller must call
// Close.
func (c *Conn) Connect(ctx context.Context, privateData []byte) error {
	mine := c.cfg.offer(privateData, true)
	if len(mine.PrivateData) > startup.MaxPrivateData {
		return syscall.EMSGSIZE
	}
	if err := c.startup.Begin(); err != nil {
		return err
	}
	c.makeQP()
	return c.end(panics.Guard(func() error {
		peer, terminate, err := c.startup.Initiate(ctx, c.cfg.StartupTimeout, &mine)
		if err == nil || terminate {
			c.start(peer, err)
		}
		return err
	}))
}

// A Request is an MPA Request of the peer that waits for an answer: one call of Accept or Reject,
// or the Close of its Conn.
type Request struct {
	c *Conn
	r *startup.Request

	// PrivateData is the private data of the peer's program. The caller must not modify it.
	PrivateData []byte
	// AllData is the private data as a foreign peer's program sees it: with the capability record
	// in front, if the peer has sent one. The caller must not modify it.
	AllData []byte
	// IRD and ORD are the depths that the peer states: the maximum number of RDMA Reads in flight
	// that the peer serves, and that it issues. Both are 0 if the peer states none.
	IRD, ORD int
	// FromRDDP is true if the Request has a capability record: the peer is rddp, too.
	FromRDDP bool
}

// ReceiveRequest waits for the peer's MPA Request and returns it unanswered. After an error the
// caller must call Close.
func (c *Conn) ReceiveRequest(ctx context.Context) (*Request, error) {
	if err := c.startup.Begin(); err != nil {
		return nil, err
	}
	var r *startup.Request
	if err := panics.Guard(func() (err error) {
		if r, err = c.startup.ReceiveRequest(ctx, c.cfg.StartupTimeout); err != nil {
			return err
		}
		return c.startup.Ask(r)
	}); err != nil {
		return nil, c.end(err)
	}
	req := &Request{c: c, r: r, PrivateData: r.Peer.PrivateData, AllData: r.Frame.PrivateData, FromRDDP: r.Peer.IsRDDP}
	if r.Frame.Enhanced {
		req.IRD, req.ORD = int(r.Frame.IRD), int(r.Frame.ORD)
	}
	return req, nil
}

// Accept accepts the Request, with cfg in place of the Config of New, because only the Request
// tells which Domain the connection belongs to. privateData goes to the peer's program. After an
// error the caller must call Close.
func (r *Request) Accept(ctx context.Context, cfg *Config, privateData []byte) error {
	c := r.c
	mine := cfg.offer(privateData, r.FromRDDP)
	if err := c.answer(r, &mine); err != nil {
		return err
	}
	c.cfg = *cfg // from the answer on, Close leaves the rest to this goroutine
	c.makeQP()
	return c.end(panics.Guard(func() error {
		peer, err := c.startup.Accept(ctx, c.cfg.StartupTimeout, r.r, &mine)
		if err == nil {
			c.start(peer, nil)
		}
		return err
	}))
}

// Reject rejects the Request. privateData goes to the peer's program. The caller must call Close.
func (r *Request) Reject(ctx context.Context, privateData []byte) error {
	c := r.c
	mine := c.cfg.offer(privateData, r.FromRDDP)
	if err := c.answer(r, &mine); err != nil {
		return err
	}
	err := panics.Guard(func() error { return c.startup.Reject(ctx, c.cfg.StartupTimeout, r.r, &mine) })
	if err != nil {
		return c.end(err)
	}
	_ = c.end(&mpa.RejectError{}) // the connection is plain TCP now
	return nil
}

// answer begins the answer to r.
func (c *Conn) answer(r *Request, mine *mpa.Config) error {
	var ready error
	if len(mine.PrivateData) > startup.MaxPrivateData {
		ready = syscall.EMSGSIZE
	}
	return c.startup.Answer(r.r, ready)
}

// offer returns what this end offers in MPA startup. announce says that the peer gets a capability
// record, unless the Config leaves it out.
func (c *Config) offer(privateData []byte, announce bool) mpa.Config {
	if announce && !c.NoCapabilities {
		own := startup.Capabilities{Extensions: true, LargeFPDU: true, MaxMessage: uint32(c.RecvSize), Credits: uint16(c.RecvDepth)}
		privateData = own.WithPrivateData(privateData)
	}
	return mpa.Config{NoCRC: c.NoCRC, IRD: c.IRD, ORD: c.ORD, PrivateData: privateData}
}

// makeQP makes the queue pair, before the connection is in DDP mode. If Discard has not seen the
// queue pair, makeQP sees that Discard has been called.
func (c *Conn) makeQP() {
	c.sendCQ = rdmap.NewCompletionQueue(c.cfg.SendDepth)
	c.qp.Store(rdmap.NewQP(rdmap.Config{
		SendDepth: c.cfg.SendDepth, RecvDepth: c.cfg.RecvDepth, IRD: c.cfg.IRD, ORD: c.cfg.ORD,
		SendCQ: c.sendCQ, Domain: c.cfg.Domain, QPNum: c.number,
		Denied: c.cfg.Denied, Terminate: c.cfg.Terminate,
	}))
	if c.discards.Load() {
		c.qp.Load().Discard()
	}
}

// Discard ends what the peer does with the memory of this end, now and later: see
// [rdmap.QP.Discard]. When it returns, no copy into or out of the memory is in progress for the
// peer. The connection goes on.
func (c *Conn) Discard() {
	c.discards.Store(true)
	if qp := c.qp.Load(); qp != nil {
		qp.Discard()
	}
}

// start connects the layers as the two ends have agreed. If cause is not nil, the connection fails
// with it at once.
func (c *Conn) start(peer *startup.Peer, cause error) {
	peer.IsRDDP = peer.IsRDDP && !c.cfg.NoCapabilities
	c.peer = peer
	c.driver = driver.New(driver.Config{
		Stream: c.stream, QP: c.qp.Load(), Start: StartParams(c.initiator, peer, false), SendBells: &c.bells, Agreement: peer.Agreement,
		Fenced: !c.initiator, LargeFPDU: peer.IsRDDP && peer.Capabilities.LargeFPDU, NoEarlyPlacement: true,
		Receive:      &driver.ReceiveConfig{Depth: c.cfg.RecvDepth, Size: c.cfg.RecvSize, Longest: c.cfg.LongestMessage},
		CloseTimeout: c.cfg.CloseTimeout, Closed: c.startup.Closed(), Background: &c.background, Cause: cause, Recover: true,
		BadSTag: c.penalize, Taps: c.taps,
	})
	c.reading.Then(c.driver)
}

// penalize delays later connections of the peer's address, because the peer used an STag that it
// does not have.
func (c *Conn) penalize() {
	if c.door != nil {
		c.door.Penalize(c.stream.RemoteAddr())
	}
}

// StartParams returns how the queue pair of a connection begins, from what startup has learned
// about the peer. extensions allows the operations of RFC 7306 with a peer that has not announced
// them.
func StartParams(initiator bool, peer *startup.Peer, extensions bool) rdmap.StartParams {
	a := peer.Agreement
	p := rdmap.StartParams{Initiator: initiator, IRD: a.IRD, ORD: a.ORD, Extensions: extensions || peer.IsRDDP && peer.Capabilities.Extensions}
	if initiator {
		p.SendRTR = rtrOp(peer)
	} else {
		p.ExpectRTRSend = a.PeerToPeer && a.RTR&mpa.RTRSend != 0
	}
	return p
}

// rtrOp returns the operation of length 0 that the Initiator sends first, or 0 for none. It is the
// Ready to Receive indication that startup agreed on. If both ends are rddp, there is always one,
// because a program that uses a net.Conn expects that the server may write first.
func rtrOp(peer *startup.Peer) rdmap.WorkOp {
	a := peer.Agreement
	switch {
	case !a.PeerToPeer && !peer.IsRDDP:
		return 0
	case !a.PeerToPeer || a.RTR&mpa.RTRWrite != 0:
		return rdmap.WorkWrite
	case a.RTR&mpa.RTRRead != 0:
		return rdmap.WorkRead
	default:
		return rdmap.WorkSend
	}
}

// end ends startup with err. The connection is then in DDP mode, in TCP mode after a rejection, or
// closed. end returns err, or net.ErrClosed if Close came during a startup that succeeded.
func (c *Conn) end(err error) error {
	if c.driver == nil {
		rejected := (*mpa.RejectError)(nil)
		if c.startup.NotSwitched(err, errors.As(err, &rejected)) {
			_ = c.closeStream() // err is the cause
		}
		return err
	}
	if closed := c.startup.Switched(err); closed && err == nil {
		err = net.ErrClosed
	}
	c.driver.Start(c)
	c.background.Go(c.driver.Receive)
	if err != nil {
		_ = c.driver.Close() // err is the cause
	}
	return err
}

// Close closes the connection. In DDP mode it first waits until the queued data is sent, for at
// most Config.CloseTimeout, and flushes every Work Request that has not completed. Then the
// connection waits for the peer's FIN in the background. A second Close does nothing.
func (c *Conn) Close() error {
	c.background.Begin()
	defer c.background.End()
	defer c.reading.Stop()
	switch c.startup.Close() {
	case startup.AlreadyClosed:
		return nil
	case startup.CloseDriver:
		return c.driver.Close()
	case startup.Interrupt: // the goroutine that runs startup does the rest
		return c.stream.Close()
	}
	err := c.closeStream()
	if err == nil {
		err = driver.Flush(c.stream, c.cfg.CloseTimeout)
	}
	return err
}

// closeStream closes a connection that is not in DDP mode. It is called once.
func (c *Conn) closeStream() error {
	closeStream := c.stream.Close
	if c.startup.HasUnread() { // TCP does not know that these bytes are unread
		closeStream = c.stream.Abort
	}
	err := panics.Guard(closeStream)
	c.startup.StreamClosed()
	c.taps.Closed()
	if qp := c.qp.Load(); qp != nil {
		qp.Abort(net.ErrClosed)
	}
	c.background.End()
	return err
}

// Wait waits until the connection is over and no work for it remains. The only error is ctx.Err().
func (c *Conn) Wait(ctx context.Context) error {
	err := c.background.Wait(ctx)
	if s, ok := c.stream.(interface{ Wait(context.Context) error }); ok && err == nil {
		err = s.Wait(ctx) // the Stream may go on in the background after Close
	}
	return err
}

// Tap returns what Config.Tap has returned, or nil.
func (c *Conn) Tap() toe.Tap { return c.tap }

// QPNum returns the number of the queue pair, which is also the number of its stream in the Domain.
func (c *Conn) QPNum() uint64 { return c.number }

// LocalAddr and RemoteAddr return the addresses of the stream.
func (c *Conn) LocalAddr() net.Addr  { return c.stream.LocalAddr() }
func (c *Conn) RemoteAddr() net.Addr { return c.stream.RemoteAddr() }

// IsInitiator reports whether this end is the Initiator. IsByteStream returns false, because the
// connection carries messages.
func (c *Conn) IsInitiator() bool  { return c.initiator }
func (c *Conn) IsByteStream() bool { return false }

// Stream returns the stream, which belongs to the connection: the caller may look at its settings.
func (c *Conn) Stream() toe.Stream { return c.stream }

// Peer returns what startup has learned about the peer. The caller must not modify it.
func (c *Conn) Peer() *startup.Peer { return c.peer }

// Counts returns the counts of the connection, which the connection continues to change.
func (c *Conn) Counts() *counters.Counters { return c.driver.Counts() }

// PostBatch posts Work Requests in order, and returns how many it has posted.
func (c *Conn) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	return c.driver.PostBatch(wrs, func(*rdmap.WorkRequest) error { return nil })
}

// WaitCompletions takes up to len(dst) Completions of Work Requests, and returns their number. If
// there is none, it sends what posts have put off, and waits. The only error is ctx.Err(), with 0
// Completions.
func (c *Conn) WaitCompletions(ctx context.Context, dst []rdmap.Completion) (int, error) {
	if c.sendCQ.Len() == 0 {
		c.bells.Ring()
	}
	return c.sendCQ.Wait(ctx, dst, false)
}

// Read reads bytes of one message. If the message is longer than p, the next Read returns the rest.
func (c *Conn) Read(p []byte) (int, error) {
	return c.driver.ReadMessage(p, &c.reading, nil)
}

// ReadMessage is Read. With the first bytes of a message, it also returns the Completion of its
// receive: the length of the whole message, and what the peer has asked for with it. If an earlier
// Read has left a rest, the Completion is zero.
func (c *Conn) ReadMessage(p []byte) (n int, m rdmap.Completion, err error) {
	n, err = c.driver.ReadMessage(p, &c.reading, &m)
	return n, m, err
}

// SetReadDeadline sets the deadline of Read and ReadMessage, including calls that wait now. The
// zero time means no deadline.
func (c *Conn) SetReadDeadline(t time.Time) {
	c.reading.Set(t)
	c.driver.Interrupt()
}

// OwesAnswer reports whether a Read or an atomic of the peer has arrived whose answer has not left:
// TCP has not taken all of it.
func (c *Conn) OwesAnswer() bool { return c.qp.Load().OwesAnswer() }
