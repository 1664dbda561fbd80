package startup

import (
	"context"
	"errors"
	"time"

	"github.com/rddp/rddp/mpa"
)

// A Peer is what MPA startup has learned about the other end.
type Peer struct {
	Agreement    mpa.Agreement // without the private data
	Capabilities Capabilities
	IsRDDP       bool   // the peer has sent a capability record
	PrivateData  []byte // of the peer's program
}

// learn makes p the Peer of an agreement.
func (h *Handshake) learn(p *Peer, a *mpa.Agreement) (err error) {
	p.Agreement, p.PrivateData = *a, a.PrivateData
	p.Agreement.PrivateData = nil
	if !h.cfg.Foreign {
		p.Capabilities, p.PrivateData, p.IsRDDP, err = ParseCapabilities(a.PrivateData)
	}
	if len(p.PrivateData) == 0 {
		p.PrivateData = nil // it would keep the capability record in memory
	}
	return err
}

// Initiate is the Initiator's MPA startup, in the phase Requesting: it sends the Request that mine
// asks for and waits for the Reply, at most until ctx is done or timeout has passed. After a
// rejection the error is an *mpa.RejectError with the private data of the peer's program, and only
// IsRDDP of peer is set.
//
// terminate comes with an error: this end cannot keep what the Reply agrees on. The connection then
// enters DDP mode only for the FPDU that tells the peer why (RFC 6581 §8).
func (h *Handshake) Initiate(ctx context.Context, timeout time.Duration, mine *mpa.Config) (peer *Peer, terminate bool, err error) {
	request, err := mine.Request()
	if err != nil {
		return nil, false, err
	}
	var reply mpa.Frame
	err = h.bounded(ctx, timeout, "the MPA Reply", func() error {
		if err := h.writeFrame(&request); err != nil {
			return frameError(err, 0, true)
		}
		return h.readFrame(&reply, true)
	})
	if err != nil {
		return nil, false, err
	}
	agreed, err := mine.HandleReply(request, reply)
	e, r := (*mpa.Error)(nil), (*mpa.RejectError)(nil)
	switch {
	case err == nil:
		peer = new(Peer)
		err = h.learn(peer, &agreed)
	case errors.As(err, &e) && e.Code >= mpa.CodeLocalCatastrophic:
		peer = new(Peer)
		_ = h.learn(peer, &agreed) // the private data is of no use any more
		terminate = true
	case errors.As(err, &r) && h.cfg.Foreign:
		peer = new(Peer)
	case errors.As(err, &r):
		peer = new(Peer)
		peer.IsRDDP, err = programsRejection(r)
	}
	return peer, terminate, err
}

// programsRejection returns r without the peer's capability record in front of the program's
// private data, and whether there was one.
func programsRejection(r *mpa.RejectError) (isRDDP bool, err error) {
	_, rest, isRDDP, err := ParseCapabilities(r.PrivateData)
	if err != nil {
		return false, err
	}
	return isRDDP, &mpa.RejectError{PrivateData: rest, Enhanced: r.Enhanced, IRD: r.IRD, ORD: r.ORD}
}
