package startup

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/rddp/rddp/mpa"
)

// A Request is an MPA Request that has arrived.
type Request struct {
	Frame mpa.Frame
	Peer  *Peer // without an Agreement
	peer  Peer
}

// Until bounds ctx by the time that a Request may take, if that time began with the first bytes.
func (h *Handshake) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ahead) > 0 && !h.until.IsZero() {
		return context.WithDeadline(ctx, h.until)
	}
	return ctx, func() {}
}

// ReceiveRequest waits for the Request, in the phase Receiving, at most until ctx is done or
// timeout has passed.
func (h *Handshake) ReceiveRequest(ctx context.Context, timeout time.Duration) (*Request, error) {
	r := &Request{}
	err := h.bounded(ctx, timeout, "the MPA Request", func() error { return h.readFrame(&r.Frame, false) })
	if err != nil {
		return nil, err
	}
	r.Peer = &r.peer
	if err := h.learn(r.Peer, &mpa.Agreement{PrivateData: r.Frame.PrivateData}); err != nil {
		return nil, err
	}
	if err := h.nothingBehind(); err != nil {
		return nil, err
	}
	return r, nil
}

// nothingBehind checks that the Initiator has sent nothing after its Request.
// "MPA Initiator mode implementations MUST receive and validate an MPA Reply Frame" before that
// (RFC 5044 §7.1.2), so bytes behind the Request belong to a frame that is not properly formatted.
func (h *Handshake) nothingBehind() error {
	n, err := h.stream.Pending()
	if err != nil { // the next read returns it
		n = 0
	}
	h.mu.Lock()
	n += len(h.ahead)
	h.mu.Unlock()
	if n > 0 {
		return &mpa.Error{Code: mpa.CodeFrame, Reason: fmt.Sprintf("%d bytes follow the Request", n)}
	}
	return nil
}

// Delay returns how long the peer's address must wait before its Request is answered. It is zero or
// negative if the address need not wait.
func (h *Handshake) Delay() time.Duration { return h.cfg.Door.Delay(h.stream.RemoteAddr()) }

// AwaitDelay waits for the time d, which Delay has returned. A delay longer than most gives
// ErrDelayed at once.
func (h *Handshake) AwaitDelay(ctx context.Context, d, most time.Duration) error {
	delays.Add(1)
	if d > most {
		return ErrDelayed
	}
	h.mu.Lock()
	half := h.half
	h.mu.Unlock()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-half.done():
		if half.isEvicted() {
			return ErrHalfOpen
		}
		return net.ErrClosed
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.closed.Done():
		return net.ErrClosed
	}
}

// Ask enters the phase Asked: r waits for its answer. The error is net.ErrClosed if the connection
// has been given up (see IsGivenUp).
func (h *Handshake) Ask(r *Request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isGivenUpLocked() {
		return net.ErrClosed
	}
	h.setPhase(Asked)
	h.request = r
	h.half.leave()
	h.half = nil
	return nil
}

// Answer begins the answer to r, in the phase Answering. Accept or Reject comes next. If ready is
// not nil, the answer cannot be given, and r still waits. The error is net.ErrClosed if the
// connection is closed, ErrAnswered if r does not wait for an answer, or ready.
func (h *Handshake) Answer(r *Request, ready error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.isGivenUpLocked():
		return net.ErrClosed
	case h.Phase() != Asked || h.request != r:
		return ErrAnswered
	case ready != nil:
		return ready
	}
	h.setPhase(Answering)
	return nil
}

// Accept sends a Reply that accepts r as mine asks for, and returns what both ends have agreed on.
func (h *Handshake) Accept(ctx context.Context, timeout time.Duration, r *Request, mine *mpa.Config) (*Peer, error) {
	reply, agreed, err := mine.Accept(r.Frame)
	if err != nil {
		return nil, err
	}
	err = h.bounded(ctx, timeout, replyTaken, func() error { return h.writeFrame(&reply) })
	if err != nil {
		return nil, err
	}
	peer := new(Peer)
	return peer, h.learn(peer, &agreed)
}

// replyTaken is what Accept and Reject wait for.
const replyTaken = "TCP to take the MPA Reply"

// Reject sends a Reply that rejects r.
func (h *Handshake) Reject(ctx context.Context, timeout time.Duration, r *Request, mine *mpa.Config) error {
	reply, err := mine.Reject(r.Frame)
	if err != nil {
		return err
	}
	return h.bounded(ctx, timeout, replyTaken, func() error { return h.writeFrame(&reply) })
}
