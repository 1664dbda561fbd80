package startup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/mpa"
)

// KeyLen is how many bytes tell an MPA Request from everything else. It is also the most that
// startup reads ahead.
const KeyLen = len("MPA ID Req Frame")

// sniffsLocked reports whether only the first bytes can tell what the peer speaks.
//
// +checklocks:h.mu
func (h *Handshake) sniffsLocked() bool {
	return h.cfg.Prefer && !h.cfg.Initiator && h.Phase() == Undecided
}

// beginSniffLocked makes calls wait for Sniff, which the caller runs in a goroutine.
//
// +checklocks:h.mu
func (h *Handshake) beginSniffLocked() {
	h.setPhase(Sniffing)
	h.ahead = make([]byte, 0, KeyLen)
	if h.cfg.SniffTimeout > 0 {
		h.until = time.Now().Add(h.cfg.SniffTimeout)
	}
	h.boundSniffLocked()
}

// hurryLocked is for a Write or a Close that waits for the first bytes. If none have come, Sniff
// waits for them for at most firstWait.
//
// +checklocks:h.mu
func (h *Handshake) hurryLocked() {
	until := time.Now().Add(firstWait)
	if h.Phase() == Sniffing && len(h.ahead) == 0 && (h.until.IsZero() || h.until.After(until)) {
		h.until = until
		h.boundSniffLocked()
	}
}

// CountSilent makes the Listener count the connection as half open before its first byte, because
// the program does not accept plain TCP. Without a sniff, a connection is half open from its
// beginning.
func (h *Handshake) CountSilent() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Phase() == Sniffing {
		h.countHalfOpenLocked()
		h.half.whenEvicted(h.boundSniff)
	}
}

// boundSniff ends the wait of a Sniff whose connection was evicted.
func (h *Handshake) boundSniff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Phase() == Sniffing && !h.boundSniffLocked() {
		h.stream.Close() // a stream without deadlines
	}
}

// boundSniffLocked sets the stream's read deadline for Sniff. It reports whether it could; it
// cannot if the stream has no deadlines, or is closed.
//
// +checklocks:h.mu
func (h *Handshake) boundSniffLocked() bool {
	t := h.until
	if h.half.isEvicted() {
		t = past
	}
	return h.stream.SetReadDeadline(t) == nil
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// countHalfOpenLocked makes the Listener count the connection as half open.
//
// +checklocks:h.mu
func (h *Handshake) countHalfOpenLocked() {
	if h.half == nil {
		h.half = h.cfg.Door.enter(h.stream.RemoteAddr())
	}
}

// A claim says whether a call of ReceiveRequest wants what Sniff finds.
type claim uint8

const (
	unclaimed claim = iota
	claimed         // a call waits for it
	deserted        // the call has returned, but the next one gets what Sniff finds
)

// Claim is for a call of ReceiveRequest on a connection that may have to be sniffed. What the sniff
// finds is left to such calls from then on. If over is not nil the call waits for it, and calls
// Unclaim then, or when it no longer waits. If begun is set the caller must start a goroutine that
// runs startup. Two calls cannot claim the same Request: the error is ErrBusy.
func (h *Handshake) Claim() (over <-chan struct{}, begun bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sniffs := h.sniffsLocked()
	found := h.Phase() == Plain && h.claim == deserted
	switch {
	case !sniffs && h.Phase() != Sniffing && !found, h.IsClosed():
		return nil, false, nil
	case h.claim == claimed:
		return nil, false, ErrBusy
	}
	if sniffs {
		h.owner = ownedByItself
		h.beginSniffLocked()
	}
	h.claim = claimed
	if found {
		over := make(chan struct{})
		close(over)
		return over, false, nil
	}
	return h.overLocked(), sniffs, nil
}

// Unclaim ends Claim for a call that has got what the sniff found. If deserts is set, the call no
// longer waits, and the next call gets that. The error is that of a sniff that has failed.
func (h *Handshake) Unclaim(deserts bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claim = unclaimed
	if deserts {
		h.claim = deserted
	}
	if h.Phase() == Failed {
		return h.err
	}
	return nil
}

// Sniffed is what Sniff found.
type Sniffed struct {
	// Request means that the peer sends an MPA Request, and that the caller goes on with
	// ReceiveRequest.
	Request bool
	// Fallback says why the connection is plain TCP, if it is.
	Fallback Fallback
	// Err is ErrHalfOpen if the Listener has evicted the connection.
	Err error
	// MustClose means that the caller closes the stream.
	MustClose bool
}

// Sniff reads the first bytes until they are the key of an MPA Request, or cannot become the key.
// It reads no byte behind the key, and Read returns what it has read. If the first bytes are the
// key, the phase becomes Receiving, or Recognized if the program must receive the Request.
func (h *Handshake) Sniff() Sniffed {
	for {
		h.mu.Lock()
		room := h.ahead[len(h.ahead):KeyLen] // only this goroutine changes ahead now
		h.mu.Unlock()
		var n int
		err := panics.Guard(func() (err error) { n, err = h.stream.Read(room); return err })
		h.mu.Lock()
		if n > 0 && len(h.ahead) == 0 {
			// The peer is not silent. But it may be a plain peer that has sent the first bytes of
			// the key and waits.
			h.until = time.Now().Add(h.cfg.Timeout)
			h.countHalfOpenLocked()
			h.half.whenEvicted(h.boundSniff)
		}
		h.ahead = h.ahead[:len(h.ahead)+n]
		if v := h.judgeLocked(err); v != sniffOn {
			found := h.endSniffLocked(v)
			h.mu.Unlock()
			return found
		}
		h.boundSniffLocked() // the deadline may have moved
		h.mu.Unlock()
	}
}

// A verdict is what the first bytes say.
type verdict int

const (
	sniffOn      verdict = iota // too little
	sniffRequest                // an MPA Request
	sniffPlain                  // plain TCP
	sniffLate                   // nothing came in time, so plain TCP
	sniffEvicted                // the Listener has too many half-open connections
	sniffClosed                 // the connection was closed
)

// judgeLocked judges the bytes in ahead, and err, which came behind them.
//
// +checklocks:h.mu
func (h *Handshake) judgeLocked(err error) verdict {
	key := mpa.Key(false)
	late := isTimeout(err)
	closed := h.isGivenUpLocked()
	if err != nil && !late && !closed {
		h.aheadErr = err
	}
	switch {
	case closed:
		return sniffClosed
	case h.half.isEvicted():
		return sniffEvicted
	case !bytes.HasPrefix(key[:], h.ahead):
		return sniffPlain
	case len(h.ahead) == KeyLen:
		return sniffRequest
	case h.aheadErr != nil: // io.EOF, for example
		return sniffPlain
	case late && hasPassed(h.until) && !h.moreLocked():
		return sniffLate
	}
	return sniffOn
}

// moreLocked reports whether the first bytes have come although the read timed out before it took
// them. Then this process was late and not the peer: Sniff gets as much time as a Request. That
// happens once; otherwise a peer could get that much time for each byte.
//
// +checklocks:h.mu
func (h *Handshake) moreLocked() bool {
	if len(h.ahead) > 0 {
		return false
	}
	n, err := h.stream.Pending()
	more := err == nil && n > 0
	if more {
		h.until = time.Now().Add(h.cfg.Timeout)
	}
	return more
}

// endSniffLocked acts on what the first bytes say, and lets the waiting calls go on.
//
// +checklocks:h.mu
func (h *Handshake) endSniffLocked(v verdict) (found Sniffed) {
	h.half.whenEvicted(nil)
	h.isAhead.Store(len(h.ahead) > 0 || h.aheadErr != nil)
	_ = h.stream.SetReadDeadline(h.readDeadline)
	over, wasClosed := h.over, h.IsClosed()
	h.over = nil
	switch v {
	case sniffRequest:
		found.Request = h.claim == unclaimed && !h.cfg.Judge && h.cfg.Err == nil
	case sniffPlain:
		found.Fallback = Fallback{Reason: PlainPeer, Err: h.sniffErrorLocked()}
	case sniffLate:
		found.Fallback = Fallback{Reason: SniffTimeout, Err: h.sniffErrorLocked()}
	case sniffEvicted:
		found.Err = ErrHalfOpen
	}
	switch {
	case found.Request:
		h.setPhase(Receiving)
	case v == sniffRequest:
		if h.claim != claimed {
			h.until = time.Time{} // no call waits for the rest of the Request; a call that asks for it begins a new time
		}
		h.setPhase(Recognized)
	case found.Fallback.Reason != 0:
		h.fallBackLocked(found.Fallback)
	case v == sniffEvicted:
		h.failLocked(ErrHalfOpen)
		h.abandonLocked()
	default: // closed: Close has closed the stream
		h.failLocked(net.ErrClosed)
	}
	if !found.Request {
		h.owner = ownedByCall
	}
	if v != sniffRequest {
		h.half.leave()
		h.half = nil
	}
	found.MustClose = v == sniffEvicted || wasClosed && v != sniffClosed && !found.Request
	closeOver(over)
	return found
}

// sniffErrorLocked says what came instead of a Request.
//
// +checklocks:h.mu
func (h *Handshake) sniffErrorLocked() error {
	switch {
	case tlshandshake.Speaks(h.ahead) != nil:
		return fmt.Errorf("%w: %w", ErrNotMPA, tlshandshake.ErrTLS)
	case len(h.ahead) > 0:
		return fmt.Errorf("%w: it begins %q", ErrNotMPA, h.ahead)
	case h.aheadErr != nil:
		return fmt.Errorf("%w: %w", ErrNoRequest, h.aheadErr)
	}
	return os.ErrDeadlineExceeded // the peer is silent
}

// hasPassed reports whether t, unless it is zero, lies in the past.
func hasPassed(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// isTimeout reports whether err goes away when a deadline is moved.
func isTimeout(err error) bool {
	var e net.Error
	return err != nil && err != io.EOF && errors.As(err, &e) && e.Timeout() //nolint:errorlint // the common case first
}
