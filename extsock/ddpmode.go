package extsock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/mpa"
)

// isByteStream reports whether the peer can have a byte stream.
func isByteStream(p *startup.Peer) bool {
	c := p.Capabilities
	return p.IsRDDP && c.ByteStream && c.Credits >= bytestream.MinCredits && c.MaxMessage >= bytestream.MinMessage
}

// EnableDDP switches the connection into DDP mode. It runs MPA startup; from then on the same TCP
// connection carries RDMA. Both programs must call it at the same point of their protocol. The end
// that dialed is the Initiator. privateData is sent to the peer's program in the Request or Reply.
// EnableDDP does not keep it. Nil means Config.PrivateData.
//
// EnableDDP returns when startup is over, when ctx is done, or after Config.HandshakeTimeout. If
// this end answers the peer's Reply with a Terminate (RFC 6581 §8), EnableDDP waits until the
// peer's TCP takes it, as Close does, for at most Config.CloseTimeout. The error says what state
// the connection is in:
//
//   - *mpa.RejectError: the peer rejected the connection. The error has the peer's private data,
//     and the connection is still in TCP mode (RFC 5044 §7.1.2).
//   - ErrMode, ErrBusy, net.ErrClosed, or syscall.EMSGSIZE for the private data: the switch
//     could not begin, and the connection is as before.
//   - Any other error: the connection is closed.
func (c *Conn) EnableDDP(ctx context.Context, privateData []byte) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	if err := privateDataError(c.cfg, privateData, true); err != nil { // before startup begins
		return c.opError("ddp", err)
	}
	if !c.initiator {
		req, err := c.requireRequest(ctx)
		if err != nil {
			return err
		}
		return req.Accept(ctx, privateData)
	}
	c.endpoint() // a Responder builds it only for its answer
	if err := c.startup.Begin(); err != nil {
		return c.opError("ddp", err)
	}
	return c.opError("ddp", c.initiate(ctx, privateData, false))
}

// initiate is the Initiator's part of startup, after startup has begun. For stays, see endSwitch.
func (c *Conn) initiate(ctx context.Context, privateData []byte, stays bool) error {
	isRSockets := c.speaksRSockets()
	mine := c.offer(privateData, !isRSockets)
	return c.endSwitch(stays, guarded(func() error {
		defer mine.drop()
		if isRSockets {
			if err := mine.requestRSockets(c); err != nil {
				return err
			}
		}
		peer, terminate, err := c.startup.Initiate(ctx, c.cfg.handshakeTimeout(true), &mine.Config)
		if err == nil && isRSockets {
			err = mine.rsocket.requested(peer.PrivateData)
			terminate = err != nil
		}
		if err == nil || terminate {
			c.learn(peer)
			c.start(err, &mine)
		}
		if r := (*mpa.RejectError)(nil); mine.Markers && errors.As(err, &r) && !peer.IsRDDP && len(r.PrivateData) == 0 {
			err = fmt.Errorf("%w: %w", errMarkersRefused, err)
		}
		return err
	}))
}

// errMarkersRefused is added to a rejection that does not come from a program, as far as this end
// can tell.
var errMarkersRefused = errors.New("the peer may not know Markers")

// A Request is an MPA Request of the peer that waits for an answer. The program must call Accept or
// Reject, once, or close the connection. Until then Read and Write wait. The program may still
// become the owner of the receive queue with PostRecv.
type Request struct {
	c *Conn
	r *startup.Request

	// PrivateData is the private data of the peer's program. The caller must not modify it.
	PrivateData []byte
	// IRD and ORD are the depths that the peer states: the maximum number of RDMA Reads in flight
	// that the peer serves, and that it issues. Both are 0 if the peer states none.
	IRD, ORD int
}

// ReceiveRequest waits for the peer's MPA Request and returns it unanswered. It is the first half
// of EnableDDP for a Responder that looks at the Request before it accepts the connection, or that
// chooses a server for it. ctx and Config.HandshakeTimeout bound the wait.
//
// A Listener leaves the Request to the program if Config.JudgeRequests is set. With StartupPrefer,
// on a connection that has not been used, ReceiveRequest first looks at the peer's first bytes, as
// Handshake does. Only ctx and Config.SniffTimeout bound the wait for the first byte. If the peer
// speaks plain TCP, the error is ErrPlainTCP, and Read returns all of the peer's bytes. If ctx is
// done before the peer's protocol is known, the connection remains usable as before: the next call
// of ReceiveRequest goes on waiting, and a Read, a Write or Handshake accepts the Request as if
// ReceiveRequest had not been called.
func (c *Conn) ReceiveRequest(ctx context.Context) (*Request, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	if c.initiator {
		return nil, c.opError("ddp", errInitiator)
	}
	if err := c.awaitSniff(ctx); err != nil {
		return nil, c.opError("ddp", err)
	}
	return c.requireRequest(ctx)
}

// requireRequest is ReceiveRequest for a peer that must send a Request.
func (c *Conn) requireRequest(ctx context.Context) (*Request, error) {
	err := privateDataError(c.cfg, nil, true)
	if err == nil {
		err = c.startup.Begin()
	}
	if err != nil {
		return nil, c.opError("ddp", err)
	}
	return c.receiveRequest(ctx)
}

// receiveRequest is ReceiveRequest after startup has begun.
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
		c.peer.Store(r.Peer)
		return c.startup.Ask(r)
	})
	if err != nil {
		return nil, c.opError("ddp", c.endSwitch(false, err))
	}
	req := &Request{c: c, r: r, PrivateData: r.Peer.PrivateData}
	if r.Frame.Enhanced {
		req.IRD, req.ORD = int(r.Frame.IRD), int(r.Frame.ORD)
	}
	return req, nil
}

// Accept accepts the Request and switches the connection into DDP mode. privateData, ctx and the
// errors are those of EnableDDP. After syscall.EMSGSIZE the Request still waits for its answer.
func (r *Request) Accept(ctx context.Context, privateData []byte) error {
	return r.accept(ctx, privateData, false)
}

// accept is Accept. For stays, see endSwitch.
func (r *Request) accept(ctx context.Context, privateData []byte, stays bool) error {
	c := r.c
	mine, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	return c.opError("ddp", c.endSwitch(stays, guarded(func() error {
		defer mine.drop()
		if err := mine.acceptRSockets(c, r.r.Peer); err != nil {
			return err
		}
		peer, err := c.startup.Accept(ctx, c.cfg.handshakeTimeout(false), r.r, &mine.Config)
		if err == nil {
			c.learn(peer)
			c.start(nil, &mine)
		}
		return err
	})))
}

// Reject rejects the Request. The rejection carries privateData to the peer's program; Reject does
// not keep it, and nil means Config.PrivateData. If Reject returns nil, the connection is still in
// TCP mode, and the next Read and Write are plain TCP. A peer that is not rddp closes the
// connection. After syscall.EMSGSIZE the Request still waits for its answer.
func (r *Request) Reject(ctx context.Context, privateData []byte) error {
	c := r.c
	mine, err := r.answer(privateData)
	if err != nil {
		return c.opError("ddp", err)
	}
	mine.drop()
	err = guarded(func() error { return c.startup.Reject(ctx, c.cfg.handshakeTimeout(false), r.r, &mine.Config) })
	if err == nil {
		err = &mpa.RejectError{}
	}
	if e := (*mpa.RejectError)(nil); errors.As(c.endSwitch(false, err), &e) {
		return nil
	}
	return c.opError("ddp", err)
}

// answer begins the answer to a Request. It returns what this end offers. After an error the
// Request is unchanged.
func (r *Request) answer(privateData []byte) (offer, error) {
	c := r.c
	isRDDP := r.r.Peer.IsRDDP
	c.endpoint() // only now, because silent peers must cost little
	if err := c.startup.Answer(r.r, privateDataError(c.cfg, privateData, isRDDP)); err != nil {
		return offer{}, err
	}
	return c.offer(privateData, isRDDP), nil
}

// endSwitch ends the switch, so that waiting calls go on: in DDP mode, or in TCP mode after a
// rejection. After any other error it closes the connection. It returns err.
//
// stays says that the caller's goroutine is free to become the home goroutine of the connection: if
// endSwitch returns nil, the caller must call the driver's Receive. Otherwise endSwitch starts a
// goroutine for it.
func (c *Conn) endSwitch(stays bool, err error) error {
	if !c.isSwitched() {
		r := (*mpa.RejectError)(nil)
		c.taps.Rejected()
		mustClose := c.startup.NotSwitched(err, errors.As(err, &r))
		_ = guarded(func() error { c.traceSwitch(err); return nil })
		if mustClose {
			_ = c.closeStream() // err is the cause
		}
		return err
	}
	var told error
	if c.trace != nil { // traceSwitch needs much stack. Its event must precede those of the calls that wait for the switch
		why := err // Switched gets err itself: startup has not failed if the connection is closed
		if err == nil && c.startup.IsClosed() {
			why = net.ErrClosed
		}
		told = guarded(func() error { c.traceSwitch(why); return nil })
	}
	if closed := c.startup.Switched(err); closed && err == nil {
		err = net.ErrClosed
	}
	c.ddp.Start(owner{c})
	if err != nil || !stays && !c.ddp.StandsBy() {
		c.background.Go(c.ddp.Receive)
	}
	switch {
	case told != nil:
		c.ddp.Kill(told)
	case err != nil:
		_ = c.closeDDP() // err is the cause
	}
	return err
}

// isSwitched reports whether startup has led to an engine of DDP mode. It is for startup, and for
// the end of a connection without such an engine.
func (c *Conn) isSwitched() bool { return c.ddp != nil }

// privateDataError returns an error if the private data of a Request or Reply is too long.
// The capability record takes a part of the space if announce is set. Nil private data means
// Config.PrivateData.
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

// An offer is what this end offers in MPA startup, and the resources that it holds for the offer.
type offer struct {
	mpa.Config
	window  driver.Window // of a byte stream; start takes it
	rsocket *rsocket      // nil unless the connection is to speak rsockets; start takes it
}

// drop gives back the resources that start has not taken.
func (o *offer) drop() {
	o.window.Close()
	if o.rsocket != nil {
		o.rsocket.drop()
	}
}

// offer returns what this end offers in MPA startup, which has begun. If announce is set, the offer
// may contain a byte stream. offer then opens the window whose credits are in the capability
// record. The caller must call drop.
func (c *Conn) offer(privateData []byte, announce bool) offer {
	c.mu.Lock() // so that PostRecv comes before this or fails
	owns := c.ownsReceives()
	c.mu.Unlock()
	cfg, w := c.cfg, driver.Window{}
	if privateData == nil {
		privateData = cfg.PrivateData
	}
	if announce && !cfg.NoCapabilities {
		own := startup.Capabilities{Extensions: true, LargeFPDU: !c.placesEarly()}
		if owns {
			own.ByteStream = !cfg.Messages
			own.MaxMessage, own.Credits = uint32(cfg.recvSize()), uint16(cfg.recvDepth())
		}
		if own.ByteStream {
			w = driver.OpenWindow(cfg.recvDepth(), cfg.recvSize())
			own.Credits = uint16(w.Most)
		}
		privateData = own.WithPrivateData(privateData)
	}
	return offer{window: w, Config: mpa.Config{
		Revision: uint8(cfg.Revision), NoEnhanced: cfg.NoEnhanced, NoCRC: cfg.NoCRC,
		Markers: cfg.Markers || !c.initiator && announce && c.placesEarly(), // every rddp knows Markers
		IRD:     depth(cfg.IRD), ORD: depth(cfg.ORD), PeerToPeer: cfg.PeerToPeer, RTR: cfg.RTR, PrivateData: privateData,
	}}
}

// placesEarly reports whether the connection places FPDUs before their turn, if it has Markers.
// Then the peer's FPDUs must not be longer than its segments, which come one by one.
func (c *Conn) placesEarly() bool {
	return c.stream.Capabilities().EarlyRuns && !c.cfg.NoEarlyPlacement && !c.cfg.NoCRC
}

// learn stores what startup found out about the peer. Nothing else has p yet.
func (c *Conn) learn(p *startup.Peer) {
	p.IsRDDP = p.IsRDDP && !c.cfg.NoCapabilities
	c.peer.Store(p)
}

// ownsReceives reports whether the connection posts the receive buffers, for Read.
func (c *Conn) ownsReceives() bool { return !c.appReceives() }

// start connects the layers as the two ends agreed in startup. If cause is not nil, the connection
// fails with it at once. start takes the resources that it needs from the offer.
func (c *Conn) start(cause error, mine *offer) {
	peer, v := c.peer.Load(), &c.verbs
	a := peer.Agreement
	cfg := driver.Config{
		Stream: c.stream, QP: v.qp, Start: conn.StartParams(c.initiator, peer, c.cfg.Extensions), SendBells: &v.sendCQ.bells, RecvBells: &v.recvCQ.bells, Agreement: a, Fenced: !c.initiator,
		LargeFPDU: peer.IsRDDP && peer.Capabilities.LargeFPDU, MaxFPDU: c.cfg.MaxFPDU,
		Shared:       c.cfg.SRQ != nil,
		CloseTimeout: c.cfg.closeTimeout(), WriteTimeout: c.cfg.WriteTimeout, IdleTimeout: c.cfg.IdleTimeout,
		Crossover: c.cfg.Crossover, PollTime: c.cfg.PollTime, Closed: c.startup.Closed(), Background: &c.background, Taps: &c.taps, Trace: c.trace,
		Cause: cause, Recover: true,
		Invalidated: v.invalidated,
	}
	if c.door != nil {
		cfg.BadSTag = c.penalize
	}
	cfg.NoEarlyPlacement = c.cfg.NoEarlyPlacement
	if c.ownsReceives() {
		var r struct { // both in one allocation
			receive driver.ReceiveConfig
			stream  driver.StreamConfig
		}
		r.receive.Depth, r.receive.Size = c.cfg.recvDepth(), c.cfg.recvSize()
		cfg.Receive = &r.receive
		if isByteStream(peer) && !c.cfg.Messages {
			r.stream = c.streamConfig(peer, mine.window)
			r.receive.Stream, mine.window = &r.stream, driver.Window{}
		}
	}
	if mine.rsocket != nil && cause == nil {
		mine.rsocket.begin(cfg)
		c.ddp, mine.rsocket = mine.rsocket, nil
		return
	}
	cfg.StandsBy = true
	c.process = inProcess{here{c}, driver.New(cfg)}
	c.ddp = &c.process
	c.readDeadline.Then(c.process.Driver)
}

// penalize delays later connections of the peer's address, because the peer used an STag that it
// does not have.
func (c *Conn) penalize() { c.door.Penalize(c.stream.RemoteAddr()) }

// streamConfig returns the configuration of the byte stream to peer. w is the window that startup
// has announced to the peer.
func (c *Conn) streamConfig(peer *startup.Peer, w driver.Window) driver.StreamConfig {
	v := &c.verbs
	return driver.StreamConfig{
		Window: w, Credits: int(peer.Capabilities.Credits), Greets: c.initiator && peer.Capabilities.OnDevice,
		MaxMessage: int(min(int64(peer.Capabilities.MaxMessage), math.MaxInt32)), // the peer states up to 2^32-1
		Register:   func(p []byte) (*ddp.Region, error) { return v.domain.Register(p, ddp.RemoteWrite, v.stream) },
	}
}

// extensions reports whether the program may use the operations of RFC 7306.
func (c *Conn) extensions() bool {
	peer := c.peer.Load()
	return c.cfg.Extensions || peer.IsRDDP && peer.Capabilities.Extensions
}
