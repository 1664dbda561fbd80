package extsock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A peer is what MPA startup told of the other end.
type peer struct {
	agreement    mpa.Agreement
	capabilities capabilities
	isRDDP       bool   // it has sent a capability record
	privateData  []byte // its application's
}

// isByteStream reports whether the peer's Read and Write are to be a stream of octets.
func (p *peer) isByteStream() bool {
	c := p.capabilities
	return p.isRDDP && c.byteStream && c.credits >= minCredits && c.maxMessage >= minMessage
}

// EnableDDP switches the connection into DDP mode: MPA startup runs here, and from now on the same
// connection carries RDMA. Both programs call it at the same point of their protocol; the one that
// dialled is the Initiator. privateData goes to the peer's application with the Request or Reply;
// nil means Config.PrivateData. It is not kept.
//
// The call returns when startup is over, when ctx is done, or after Config.HandshakeTimeout. If the
// peer rejects the connection the error is a *mpa.RejectError with its private data, and the
// connection is still in TCP mode (RFC 5044 §7.1.2); after every other error it is closed, unless the
// error says that the switch could not begin: ErrMode, ErrBusy, ErrUnread, mpa.ErrPrivateData, net.ErrClosed.
func (c *Conn) EnableDDP(ctx context.Context, privateData []byte) error {
	if !c.initiator {
		c.mu.Lock()
		_, err := c.mpaConfig(privateData, true) // while nothing has happened yet
		c.mu.Unlock()
		if err != nil {
			return c.opError("ddp", err)
		}
		req, err := c.requireRequest(ctx)
		if err != nil {
			return err
		}
		return req.Accept(ctx, privateData)
	}
	mine, err := c.beginSwitch(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	return c.opError("ddp", c.endSwitch(c.bounded(ctx, "the MPA Reply", func() error { return c.initiate(mine) })))
}

// initiate is the Initiator's side of startup.
func (c *Conn) initiate(mine mpa.Config) error {
	request, err := mine.Request()
	if err != nil {
		return err
	}
	if err := c.writeFrame(request); err != nil {
		return frameError(err, 0, true)
	}
	reply, err := c.readFrame(true)
	if err != nil {
		return err
	}
	agreed, err := mine.HandleReply(request, reply)
	if e := (*mpa.Error)(nil); errors.As(err, &e) && e.Code >= mpa.CodeLocalCatastrophic {
		// The connection enters Full Operation for the one FPDU that says why it can't be used
		// (RFC 6581 §8).
		_ = c.learn(agreed) // it is not used any more
		c.start(err)
		return err
	}
	if r := (*mpa.RejectError)(nil); errors.As(err, &r) {
		// What is before the application's private data is ours.
		_, rest, _, err := parseCapabilities(r.PrivateData)
		if err != nil {
			return err
		}
		return &mpa.RejectError{PrivateData: rest, Enhanced: r.Enhanced, IRD: r.IRD, ORD: r.ORD}
	}
	if err != nil {
		return err
	}
	if err := c.learn(agreed); err != nil {
		return err
	}
	c.start(nil)
	return nil
}

// A Request is an Initiator's MPA Request that waits for its answer. One of Accept and Reject is to be
// called, once; until then Read and Write wait, and PostRecv makes the application the owner of the receive
// queue still. Closing the connection is an answer, too.
type Request struct {
	c        *Conn
	frame    mpa.Frame
	answered bool // c.mu guards it

	// PrivateData is the peer application's.
	PrivateData []byte
	// IRD and ORD are the depths the peer states, in RDMA Reads; 0 and 0 where it states none.
	IRD, ORD int
	// FromRDDP says that the peer is rddp too: its Request holds the record that Config.NoCapabilities leaves
	// out. Read and Write can be a byte stream then; a foreign peer's program has messages and buffers of its own.
	FromRDDP bool
}

// ReceiveRequest is the Responder's first half of EnableDDP, for a program that decides by the Request
// whether it wants the connection, or who is to serve it. The context and HandshakeTimeout bound the wait.
//
// A Listener leaves the Request to the program where Config.JudgeRequests says so. With StartupPrefer, on a connection
// that has not been used, ReceiveRequest looks at the peer's first octets as Handshake
// does, and only ctx and Config.SniffTimeout bound the wait for the first of them. If the peer speaks plain TCP the error is
// ErrPlainTCP, and the connection is as usable as after a Handshake: no octet is lost. If ctx is done
// before it is known what the peer speaks, the connection is as usable as before; without JudgeRequests its startup
// goes on by itself.
func (c *Conn) ReceiveRequest(ctx context.Context) (*Request, error) {
	if c.initiator {
		return nil, c.opError("ddp", errInitiator)
	}
	if err := c.awaitSniff(ctx); err != nil {
		return nil, c.opError("ddp", err)
	}
	return c.requireRequest(ctx)
}

// requireRequest is ReceiveRequest where there must be one.
func (c *Conn) requireRequest(ctx context.Context) (*Request, error) {
	if _, err := c.beginSwitch(nil); err != nil {
		return nil, c.opError("ddp", err)
	}
	return c.receiveRequest(ctx)
}

// receiveRequest is ReceiveRequest once the switch has begun.
func (c *Conn) receiveRequest(ctx context.Context) (*Request, error) {
	r := &Request{c: c}
	c.mu.Lock()
	if s := &c.startup; len(s.ahead) > 0 && !s.until.IsZero() { // the time has begun with the first octet
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.until)
		defer cancel()
	}
	c.mu.Unlock()
	var caps capabilities
	var rest []byte
	var isRDDP bool
	err := c.bounded(ctx, "the MPA Request", func() (err error) {
		r.frame, err = c.readFrame(false)
		if err != nil {
			return err
		}
		caps, rest, isRDDP, err = parseCapabilities(r.frame.PrivateData)
		if err != nil {
			return err
		}
		return c.nothingBehind()
	})
	if err == nil {
		err = guarded(func() error { return c.awaitDelay(ctx) })
	}
	if err != nil {
		return nil, c.opError("ddp", c.endSwitch(err))
	}
	c.mu.Lock()
	c.peer = peer{capabilities: caps, isRDDP: isRDDP, privateData: rest}
	closed := c.isGivenUp()
	c.asked = !closed
	c.mu.Unlock()
	if closed { // at the last moment
		return nil, c.opError("ddp", c.endSwitch(net.ErrClosed))
	}
	c.leaveDoor()
	c.endpoint()
	r.PrivateData, r.FromRDDP = rest, isRDDP
	if r.frame.Enhanced {
		r.IRD, r.ORD = int(r.frame.IRD), int(r.frame.ORD)
	}
	return r, nil
}

// nothingBehind checks that the Initiator has sent nothing after its Request.
// "MPA Initiator mode implementations MUST receive and validate an MPA Reply Frame" before that
// (RFC 5044 §7.1.2), so octets behind the Request belong to a frame that is not properly formatted.
func (c *Conn) nothingBehind() error {
	p, ok := c.stream.(toe.Pender)
	if !ok {
		return nil
	}
	if n, err := p.Pending(); err == nil && n > 0 {
		return &mpa.Error{Code: mpa.CodeFrame, Reason: fmt.Sprintf("%d octets follow the Request", n)}
	}
	return nil
}

// Accept answers the Request and switches the connection into DDP mode. See EnableDDP. After
// mpa.ErrPrivateData the Request still waits for its answer.
func (r *Request) Accept(ctx context.Context, privateData []byte) error {
	c := r.c
	mine, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	err = c.bounded(ctx, "TCP to take the MPA Reply", func() error {
		reply, agreed, err := mine.Accept(r.frame)
		if err != nil {
			return err
		}
		if err := c.writeFrame(reply); err != nil {
			return err
		}
		if err := c.learn(agreed); err != nil {
			return err
		}
		c.start(nil)
		return nil
	})
	return c.opError("ddp", c.endSwitch(err))
}

// Reject answers the Request with a rejection that carries privateData. The connection stays in
// TCP mode; a peer that is not rddp closes it. After mpa.ErrPrivateData the Request still waits for its answer.
func (r *Request) Reject(ctx context.Context, privateData []byte) error {
	c := r.c
	mine, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	err = c.bounded(ctx, "TCP to take the MPA Reply", func() error {
		reply, err := mine.Reject(r.frame)
		if err != nil {
			return err
		}
		if err := c.writeFrame(reply); err != nil {
			return err
		}
		return &mpa.RejectError{}
	})
	if e := (*mpa.RejectError)(nil); errors.As(c.endSwitch(err), &e) {
		return nil
	}
	return c.opError("ddp", err)
}

// answer begins the answer to a Request and returns our side of the negotiation. After an error the
// Request is as it was.
func (r *Request) answer(privateData []byte) (mpa.Config, error) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	mine, err := c.mpaConfig(privateData, c.peer.isRDDP)
	switch {
	case c.isGivenUp():
		return mine, net.ErrClosed
	case r.answered:
		return mine, errAnswered
	case err != nil:
		return mine, err
	}
	mine, err = c.offerWindowLocked(privateData, c.peer.isRDDP)
	if err != nil {
		return mine, err
	}
	r.answered, c.asked = true, false
	return mine, nil
}

// beginSwitch makes Read and Write wait and returns our side of the negotiation.
func (c *Conn) beginSwitch(privateData []byte) (mpa.Config, error) {
	if c.initiator {
		c.endpoint() // a Responder's waits for the Request, so that who sends none costs little
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beginSwitchLocked(privateData)
}

// beginSwitchLocked is beginSwitch for who sees to endpoint itself.
//
// +checklocks:c.mu
func (c *Conn) beginSwitchLocked(privateData []byte) (mpa.Config, error) {
	mine, err := c.mpaConfig(privateData, !c.cfg.NoCapabilities)
	switch {
	case err != nil:
		return mine, err
	case c.startup.failed != nil: // it says more
		return mine, c.startup.failed
	case c.isGivenUp():
		return mine, net.ErrClosed
	case c.mode == modeDDP:
		return mine, errInDDP
	case c.switching != nil || c.startup.sniffing != nil || c.reading > 0 || c.writing > 0:
		return mine, ErrBusy
	}
	if c.initiator {
		if n, begin := c.unreadLocked(); n > 0 {
			return mine, fmt.Errorf("%w: %d of them, which begin %q", ErrUnread, n, begin)
		}
	}
	if !c.initiator {
		c.countLocked()
	}
	if c.initiator {
		mine, err = c.offerWindowLocked(privateData, !c.cfg.NoCapabilities)
		if err != nil {
			return mine, err
		}
	}
	c.startup.begun = true
	c.switching = make(chan struct{})
	return mine, nil
}

// endSwitch lets Read and Write go on, in DDP mode or, after a rejection, in TCP mode. After every
// other error the connection is closed. It returns err.
func (c *Conn) endSwitch(err error) error {
	c.leaveDoor()
	if errors.Is(err, context.DeadlineExceeded) {
		handshakeTimeouts.Add(1)
	}
	p := c.verbs.pump
	c.mu.Lock()
	if p != nil {
		c.mode = modeDDP
		c.stream.SetDeadline(time.Time{})
	} else {
		c.taps.rejected()
		c.window.close()
		c.stream.SetReadDeadline(c.readDeadline.time())
		c.stream.SetWriteDeadline(c.writeDeadline.time())
	}
	c.startup.endLocked(err)
	close(c.switching)
	c.switching = nil
	closed := c.isClosed()
	r := (*mpa.RejectError)(nil)
	over := p == nil && (closed || err != nil && !errors.As(err, &r))
	if over {
		c.abandonLocked()
	}
	c.mu.Unlock()
	if closed && err == nil {
		err = net.ErrClosed
	}
	told := guarded(func() error { c.traceSwitch(err); return nil })
	if p != nil {
		go p.receive()
		p.transmit()
		switch {
		case told != nil:
			p.kill(told)
		case err != nil:
			_ = c.closeDDP() // err says more
		}
		return err
	}
	if over {
		_ = c.closeStream() // err says more
	}
	return err
}

// bounded runs f, whose reads and writes on the stream fail once ctx is done or HandshakeTimeout
// has passed; the error then names what was waited for.
func (c *Conn) bounded(ctx context.Context, waited string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.handshakeTimeout(c.initiator))
	defer cancel()
	c.mu.Lock()
	half := c.startup.half
	c.mu.Unlock()
	defer half.whenEvicted(cancel)()
	if err := ctx.Err(); err != nil {
		return err
	}
	c.stream.SetDeadline(time.Time{})
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if err := c.stream.SetDeadline(time.Unix(1, 0)); err != nil {
			c.stream.Close() // a stream without deadlines
		}
		close(fired)
	})
	err := guarded(f)
	if !stop() {
		<-fired
		if err != nil && half.evicted() {
			return ErrHalfOpen
		}
		if err != nil {
			return fmt.Errorf("%w, waiting for %s", ctx.Err(), waited)
		}
	}
	return err
}

// mpaConfig is what this end wants of MPA startup. c.mu is held, or a switch is under way.
func (c *Conn) mpaConfig(privateData []byte, announce bool) (mpa.Config, error) {
	cfg := c.cfg
	if privateData == nil {
		privateData = cfg.PrivateData
	}
	if announce && !cfg.NoCapabilities {
		own := capabilities{extensions: true, largeFPDU: true}
		if c.ownsReceives() {
			own.byteStream = !cfg.Messages
			own.maxMessage, own.credits = uint32(cfg.recvSize()), uint16(cfg.recvDepth())
			if c.window.most > 0 {
				own.credits = uint16(c.window.most)
			}
		}
		privateData = own.withPrivateData(privateData)
	}
	if len(privateData) > mpa.MaxEnhancedPrivateData {
		return mpa.Config{}, mpa.ErrPrivateData
	}
	return mpa.Config{
		Revision: uint8(cfg.Revision), NoEnhanced: cfg.NoEnhanced, NoCRC: cfg.NoCRC, Markers: cfg.Markers,
		IRD: depth(cfg.IRD), ORD: depth(cfg.ORD), PeerToPeer: cfg.PeerToPeer, RTR: cfg.RTR, PrivateData: privateData,
	}, nil
}

// offerWindowLocked is mpaConfig with the credits of a window that it opens: the peer is about to learn them.
//
// +checklocks:c.mu
func (c *Conn) offerWindowLocked(privateData []byte, announce bool) (mpa.Config, error) {
	if announce && !c.cfg.NoCapabilities && !c.cfg.Messages && c.ownsReceives() {
		c.window = common.openWindow(c.cfg.recvDepth(), c.cfg.recvSize())
	}
	mine, err := c.mpaConfig(privateData, announce)
	if err != nil {
		c.window.close()
	}
	return mine, err
}

// learn notes what startup told of the peer.
func (c *Conn) learn(a mpa.Agreement) error {
	caps, rest, isRDDP, err := parseCapabilities(a.PrivateData)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peer = peer{agreement: a, capabilities: caps, isRDDP: isRDDP && !c.cfg.NoCapabilities, privateData: rest}
	return nil
}

// ownsReceives reports whether it is the connection that finds the buffers for inbound messages, for Read.
func (c *Conn) ownsReceives() bool { return !c.appReceives() }

// start binds the layers together as startup agreed. A cause is what the connection is to fail for
// at once.
func (c *Conn) start(cause error) {
	a, v := c.peer.agreement, &c.verbs
	params := rdmap.StartParams{Initiator: c.initiator, IRD: a.IRD, ORD: a.ORD, Extensions: c.extensions()}
	if c.initiator {
		params.SendRTR = c.rtrOp()
	} else {
		params.ExpectRTRSend = a.PeerToPeer && a.RTR&mpa.RTRSend != 0
	}
	v.qp.Start(params)
	p := newPump(c.stream, v.qp, a)
	p.taps, p.trace, p.closeTimeout = &c.taps, c.trace, c.cfg.closeTimeout()
	p.setReset = c.setReset
	p.door, p.writeTimeout, p.writeLook = c.door, c.cfg.WriteTimeout, max(c.cfg.WriteTimeout, 0)
	p.large = c.peer.isRDDP && c.peer.capabilities.largeFPDU
	p.shared, p.maxFPDU = c.cfg.SRQ != nil, c.cfg.MaxFPDU
	p.fenced.Store(!c.initiator)
	if c.ownsReceives() {
		p.queue = v.qp.ReceiverConfig().Queues[ddp.QNSend]
		p.in = newInbox(v.qp, v.recvCQ, c.cfg.recvDepth(), c.cfg.recvSize())
		if c.peer.isByteStream() && !c.cfg.Messages {
			p.in.setWindow(c.window)
			c.window = window{}
			p.bytes = newByteStream(c, p, p.in, c.peer.capabilities, mpa.MaxULPDU)
		}
	}
	c.window.close() // it is not the inbox's
	if cause != nil {
		p.setReason(cause)
		v.qp.Fail(cause)
	}
	p.enlist()
	p.watchIdle(c.cfg.IdleTimeout)
	v.pump = p
}

// extensions reports whether the operations of RFC 7306 may be used.
func (c *Conn) extensions() bool {
	return c.cfg.Extensions || c.peer.isRDDP && c.peer.capabilities.extensions
}

// rtrOp is the operation of length 0 that the Initiator sends first, 0 for none: the Ready to Receive
// indication that startup agreed on, and towards another rddp end always one, because the user of a
// net.Conn expects that a server may write first.
func (c *Conn) rtrOp() rdmap.WorkOp {
	a := c.peer.agreement
	switch {
	case !a.PeerToPeer && !c.peer.isRDDP:
		return 0
	case !a.PeerToPeer || a.RTR&mpa.RTRWrite != 0:
		return rdmap.WorkWrite
	case a.RTR&mpa.RTRRead != 0:
		return rdmap.WorkRead
	default:
		return rdmap.WorkSend
	}
}
