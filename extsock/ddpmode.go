package extsock

import (
	"context"
	"errors"
	"math"
	"net"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// isByteStream reports whether the peer's Read and Write are to be a stream of octets.
func isByteStream(p *startup.Peer) bool {
	c := p.Capabilities
	return p.IsRDDP && c.ByteStream && c.Credits >= bytestream.MinCredits && c.MaxMessage >= bytestream.MinMessage
}

// EnableDDP switches the connection into DDP mode: MPA startup runs here, and from now on the same
// connection carries RDMA. Both programs call it at the same point of their protocol; the one that
// dialled is the Initiator. privateData goes to the peer's application with the Request or Reply;
// nil means Config.PrivateData. It is not kept.
//
// The call returns when startup is over, when ctx is done, or after Config.HandshakeTimeout. If the
// peer rejects the connection the error is a *mpa.RejectError with its private data, and the
// connection is still in TCP mode (RFC 5044 §7.1.2); after every other error it is closed, unless the
// error says that the switch could not begin: ErrMode, ErrBusy, ErrUnread, ErrTooLong, net.ErrClosed.
func (c *Conn) EnableDDP(ctx context.Context, privateData []byte) error {
	if err := privateDataError(c.config(), privateData, true); err != nil { // while nothing has happened yet
		return c.opError("ddp", err)
	}
	if !c.initiator {
		req, err := c.requireRequest(ctx)
		if err != nil {
			return err
		}
		return req.Accept(ctx, privateData)
	}
	c.endpoint() // a Responder builds it when the Request has come, so a silent peer costs little
	if err := c.startup.Begin(); err != nil {
		return c.opError("ddp", err)
	}
	return c.opError("ddp", c.initiate(ctx, privateData))
}

// initiate is the Initiator's side of startup, once that has begun.
func (c *Conn) initiate(ctx context.Context, privateData []byte) error {
	mine, w := c.offer(privateData, true)
	return c.endSwitch(guarded(func() error {
		defer w.close() // what start leaves of it
		peer, terminate, err := c.startup.Initiate(ctx, c.cfg.handshakeTimeout(true), mine)
		if err == nil || terminate {
			c.learn(peer)
			c.start(err, &w)
		}
		return err
	}))
}

// A Request is an Initiator's MPA Request that waits for its answer. One of Accept and Reject is to be
// called, once; until then Read and Write wait, and PostRecv makes the application the owner of the receive
// queue still. Closing the connection is an answer, too.
type Request struct {
	c *Conn
	r *startup.Request

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
	err := privateDataError(c.config(), nil, true)
	if err == nil {
		err = c.startup.Begin()
	}
	if err != nil {
		return nil, c.opError("ddp", err)
	}
	return c.receiveRequest(ctx)
}

// receiveRequest is ReceiveRequest once the switch has begun.
func (c *Conn) receiveRequest(ctx context.Context) (*Request, error) {
	ctx, cancel := c.startup.Until(ctx)
	defer cancel()
	var r *startup.Request
	err := guarded(func() (err error) {
		r, err = c.startup.ReceiveRequest(ctx, c.cfg.handshakeTimeout(false))
		if err != nil {
			return err
		}
		if err := c.awaitDelay(ctx); err != nil {
			return err
		}
		c.peer.Store(&r.Peer)
		return c.startup.Ask(r)
	})
	if err != nil {
		return nil, c.opError("ddp", c.endSwitch(err))
	}
	c.endpoint()
	req := &Request{c: c, r: r, PrivateData: r.Peer.PrivateData, FromRDDP: r.Peer.IsRDDP}
	if r.Frame.Enhanced {
		req.IRD, req.ORD = int(r.Frame.IRD), int(r.Frame.ORD)
	}
	return req, nil
}

// Accept answers the Request and switches the connection into DDP mode. See EnableDDP. After
// ErrTooLong the Request still waits for its answer.
func (r *Request) Accept(ctx context.Context, privateData []byte) error {
	c := r.c
	mine, w, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	return c.opError("ddp", c.endSwitch(guarded(func() error {
		defer w.close() // what start leaves of it
		peer, err := c.startup.Accept(ctx, c.cfg.handshakeTimeout(false), r.r, mine)
		if err == nil {
			c.learn(peer)
			c.start(nil, &w)
		}
		return err
	})))
}

// Reject answers the Request with a rejection that carries privateData. The connection stays in
// TCP mode; a peer that is not rddp closes it. After ErrTooLong the Request still waits for its answer.
func (r *Request) Reject(ctx context.Context, privateData []byte) error {
	c := r.c
	mine, w, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	w.close()
	err = guarded(func() error { return c.startup.Reject(ctx, c.cfg.handshakeTimeout(false), r.r, mine) })
	if err == nil {
		err = &mpa.RejectError{}
	}
	if e := (*mpa.RejectError)(nil); errors.As(c.endSwitch(err), &e) {
		return nil
	}
	return c.opError("ddp", err)
}

// answer begins the answer to a Request and returns our side of the negotiation. After an error the
// Request is as it was.
func (r *Request) answer(privateData []byte) (mpa.Config, window, error) {
	c := r.c
	isRDDP := r.r.Peer.IsRDDP
	if err := c.startup.Answer(r.r, privateDataError(c.cfg, privateData, isRDDP)); err != nil {
		return mpa.Config{}, window{}, err
	}
	mine, w := c.offer(privateData, isRDDP)
	return mine, w, nil
}

// endSwitch lets Read and Write go on, in DDP mode or, after a rejection, in TCP mode. After every
// other error the connection is closed. It returns err.
func (c *Conn) endSwitch(err error) error {
	p := c.verbs.pump
	if p == nil {
		r := (*mpa.RejectError)(nil)
		c.taps.rejected()
		mustClose := c.startup.NotSwitched(err, errors.As(err, &r))
		_ = guarded(func() error { c.traceSwitch(err); return nil })
		if mustClose {
			_ = c.closeStream() // err says more
		}
		return err
	}
	if closed := c.startup.Switched(err); closed && err == nil {
		err = net.ErrClosed
	}
	told := guarded(func() error { c.traceSwitch(err); return nil })
	p.start()
	switch {
	case told != nil:
		p.kill(told)
	case err != nil:
		_ = c.closeDDP() // err says more
	}
	return err
}

// privateDataError returns an ErrTooLong if the private data of a Request or Reply, behind the capability record if
// that is announced, is too long. Nil private data stands for Config.PrivateData.
func privateDataError(cfg *Config, privateData []byte, announce bool) error {
	if privateData == nil {
		privateData = cfg.PrivateData
	}
	n := len(privateData)
	if announce && !cfg.NoCapabilities {
		n += startup.CapabilitiesLen
	}
	if n > startup.MaxPrivateData {
		return errPrivateData
	}
	return nil
}

// offer returns what this end wants of MPA startup, which is under way. If the peer may learn of a byte stream, offer
// opens the window whose credits are in the capability record; the caller closes it if the driver does not take it.
func (c *Conn) offer(privateData []byte, announce bool) (mpa.Config, window) {
	c.mu.Lock() // so that PostRecv comes before this, or too late
	owns := c.ownsReceives()
	c.mu.Unlock()
	cfg, w := c.cfg, window{}
	if privateData == nil {
		privateData = cfg.PrivateData
	}
	if announce && !cfg.NoCapabilities {
		own := startup.Capabilities{Extensions: true, LargeFPDU: true}
		if owns {
			own.ByteStream = !cfg.Messages
			own.MaxMessage, own.Credits = uint32(cfg.recvSize()), uint16(cfg.recvDepth())
		}
		if own.ByteStream {
			w = common.openWindow(cfg.recvDepth(), cfg.recvSize())
			own.Credits = uint16(w.Most)
		}
		privateData = own.WithPrivateData(privateData)
	}
	return mpa.Config{
		Revision: uint8(cfg.Revision), NoEnhanced: cfg.NoEnhanced, NoCRC: cfg.NoCRC, Markers: cfg.Markers,
		IRD: depth(cfg.IRD), ORD: depth(cfg.ORD), PeerToPeer: cfg.PeerToPeer, RTR: cfg.RTR, PrivateData: privateData,
	}, w
}

// learn notes what startup told of the peer.
func (c *Conn) learn(p startup.Peer) {
	p.IsRDDP = p.IsRDDP && !c.cfg.NoCapabilities
	c.peer.Store(&p)
}

// ownsReceives reports whether it is the connection that finds the buffers for inbound messages, for Read.
func (c *Conn) ownsReceives() bool { return !c.appReceives() }

// start binds the layers together as startup agreed. A cause is what the connection is to fail for
// at once. start takes the window w if the connection is a byte stream.
func (c *Conn) start(cause error, w *window) {
	peer, v := c.peer.Load(), &c.verbs
	a := peer.Agreement
	params := rdmap.StartParams{Initiator: c.initiator, IRD: a.IRD, ORD: a.ORD, Extensions: c.extensions()}
	if c.initiator {
		params.SendRTR = c.rtrOp()
	} else {
		params.ExpectRTRSend = a.PeerToPeer && a.RTR&mpa.RTRSend != 0
	}
	v.qp.Start(params)
	cfg := pumpConfig{
		stream: c.stream, qp: v.qp, agreement: a, fenced: !c.initiator,
		largeFPDU: peer.IsRDDP && peer.Capabilities.LargeFPDU, maxFPDU: c.cfg.MaxFPDU,
		shared:       c.cfg.SRQ != nil,
		closeTimeout: c.cfg.closeTimeout(), writeTimeout: c.cfg.WriteTimeout, idleTimeout: c.cfg.IdleTimeout,
		taps: &c.taps, trace: c.trace, door: c.door,
	}
	if c.ownsReceives() {
		cfg.receive = &receiveConfig{cq: v.recvCQ, depth: c.cfg.recvDepth(), size: c.cfg.recvSize()}
		if isByteStream(peer) && !c.cfg.Messages {
			cfg.receive.stream = c.streamConfig(peer, *w)
			*w = window{}
		}
	}
	p := newPump(cfg)
	if p.bytes != nil {
		v.writer = newStreamWriter(c, p)
	}
	if cause != nil {
		p.setReason(cause)
		v.qp.Fail(cause)
	}
	v.pump = p
}

// streamConfig says what the byte stream towards peer is like. w is the window that startup has told the peer.
func (c *Conn) streamConfig(peer *startup.Peer, w window) *streamConfig {
	v := &c.verbs
	return &streamConfig{
		window: w, credits: int(peer.Capabilities.Credits),
		maxMessage: int(min(int64(peer.Capabilities.MaxMessage), math.MaxInt32)), // the peer states up to 2^32-1
		closed:     c.closed,
		register:   func(p []byte) (*ddp.Region, error) { return v.domain.Register(p, ddp.RemoteWrite, v.stream) },
	}
}

// extensions reports whether the operations of RFC 7306 may be used.
func (c *Conn) extensions() bool {
	peer := c.peer.Load()
	return c.cfg.Extensions || peer.IsRDDP && peer.Capabilities.Extensions
}

// rtrOp is the operation of length 0 that the Initiator sends first, 0 for none: the Ready to Receive
// indication that startup agreed on, and towards another rddp end always one, because the user of a
// net.Conn expects that a server may write first.
func (c *Conn) rtrOp() rdmap.WorkOp {
	a := c.peer.Load().Agreement
	switch {
	case !a.PeerToPeer && !c.peer.Load().IsRDDP:
		return 0
	case !a.PeerToPeer || a.RTR&mpa.RTRWrite != 0:
		return rdmap.WorkWrite
	case a.RTR&mpa.RTRRead != 0:
		return rdmap.WorkRead
	default:
		return rdmap.WorkSend
	}
}
