package startup

import (
	"net"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
)

// A Closing says what the Close of a connection must do.
type Closing int

const (
	// AlreadyClosed means that Close has nothing to do.
	AlreadyClosed Closing = iota
	// CloseStream means that Close closes the stream, which nothing else uses.
	CloseStream
	// Interrupt means that Close closes the stream, and that the goroutine that runs startup does
	// the rest.
	Interrupt
	// CloseDriver means that the driver has the stream.
	CloseDriver
	// LeaveOpen means that the Listener's goroutine closes the stream when startup is over.
	LeaveOpen
)

// Close closes the connection as far as startup is concerned, and says what the caller must do.
// Startup that belongs to a Listener goes on, so that a peer that was on its way in finds a
// connection that was accepted and closed, as over TCP.
func (h *Handshake) Close() Closing {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.Phase()
	if p == Failed || p == Terminating {
		h.err = net.ErrClosed // after Close, this says more to the program than why startup failed
	}
	if h.IsClosed() {
		return AlreadyClosed
	}
	leave := h.owner == ownedByListener && p.isUnderWay()
	if leave && p == Sniffing {
		h.hurryLocked()
		if leave = h.boundSniffLocked(); !leave { // nothing but the peer would end the sniff
			h.owner = ownedByItself
		}
	}
	h.closed.Set()
	switch {
	case p == DDP || p == Terminating:
		return CloseDriver
	case leave:
		return LeaveOpen
	case p.isUnderWay() && p != Sniffing && p != Asked:
		return Interrupt
	}
	return CloseStream
}

// Disown ends the Listener's ownership of startup, so that Close ends startup.
func (h *Handshake) Disown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owner == ownedByListener {
		h.owner = ownedByItself
	}
}

// StreamClosed is called when the stream was closed and no driver had it.
func (h *Handshake) StreamClosed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.half.leave()
	h.half = nil
}

// Closed returns the Latch that says whether the connection is closed.
func (h *Handshake) Closed() *wait.Latch { return &h.closed }

// IsClosed reports whether the connection is closed.
func (h *Handshake) IsClosed() bool { return h.closed.IsSet() }

// IsGivenUp reports whether the connection is closed and no Listener runs its startup to the end.
func (h *Handshake) IsGivenUp() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isGivenUpLocked()
}

// +checklocks:h.mu
func (h *Handshake) isGivenUpLocked() bool { return h.IsClosed() && h.owner != ownedByListener }

// abandonLocked closes a connection whose startup has failed, unless it is closed already. The
// caller then closes the stream, and nothing else does.
//
// +checklocks:h.mu
func (h *Handshake) abandonLocked() {
	if !h.IsClosed() {
		h.closed.Set()
	}
}

// SetReadDeadline sets the read deadline of the program. The stream gets it when startup is not
// under way; in DDP mode the driver reads for all callers, and the stream's deadlines are not the
// program's.
func (h *Handshake) SetReadDeadline(t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readDeadline = t
	if p := h.Phase(); p.isUnderWay() || p == DDP || p == Terminating || h.trying {
		return nil
	}
	return h.stream.SetReadDeadline(t)
}

// SetWriteDeadline is SetReadDeadline for the other direction. A sniff does not use it.
func (h *Handshake) SetWriteDeadline(t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writeDeadline = t
	if p := h.Phase(); p.isUnderWay() && p != Sniffing || p == DDP || p == Terminating {
		return nil
	}
	return h.stream.SetWriteDeadline(t)
}

// resetDeadlinesLocked gives the stream the program's deadlines. Errors are those of a closed
// stream, and come again.
//
// +checklocks:h.mu
func (h *Handshake) resetDeadlinesLocked() {
	_ = h.stream.SetReadDeadline(h.readDeadline)
	_ = h.stream.SetWriteDeadline(h.writeDeadline)
}
