package startup

import (
	"io"
	"os"
	"syscall"
	"time"
)

// tryTime is how long a Look waits for bytes, because in TCP mode no stream can tell whether bytes
// are there.
const tryTime = time.Millisecond

// Look calls show, in TCP mode, with what Read would return now, at most len(p) bytes in p, and
// with the error behind them, until show has seen enough. It reads ahead for that. The bytes that
// show has used count as read. No Read begins during a Look. The caller has called Enter. The error
// is that of the deadline, or says why show cannot get more than it has seen: io.EOF at the end,
// syscall.ENOBUFS if p is full, or ErrBusy if a Read is under way.
//
// If a Read is under way, Look shows nothing of the stream: that Read gets it.
func (h *Handshake) Look(p []byte, show func(data []byte, end error) (used int, enough bool)) error {
	alone, turn := h.beginLook()
	defer h.endLook(turn)
	n, end, err := h.lookAhead(p, alone, false)
	for seen := -1; err == nil; n, end, err = h.lookAhead(p, alone, true) {
		for n > seen || end != nil {
			used, enough := show(p[:n], end)
			h.useAhead(used)
			if enough {
				return nil
			}
			seen, n = n, copy(p, p[used:n])
			if used == 0 {
				break
			}
			seen = max(n-1, 0) // show has not seen what is left at the beginning
		}
	}
	return err
}

// beginLook makes Reads wait. It reports whether none is under way.
func (h *Handshake) beginLook() (alone bool, turn chan struct{}) {
	h.mu.Lock()
	if h.looks == nil {
		h.looks = make(chan struct{}, 1)
	}
	turn = h.looks
	h.mu.Unlock()
	turn <- struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.isAhead.Store(true) // a Read that begins now waits for its turn
	return h.reads == 1, turn
}

func (h *Handshake) endLook(turn chan struct{}) {
	h.mu.Lock()
	h.isAhead.Store(len(h.ahead) > 0 || h.aheadErr != nil)
	h.mu.Unlock()
	<-turn
}

// lookAhead reads ahead what the stream has, unless another Read does, and copies all that is ahead
// to p. With wait set it waits for more, and returns an error if nothing can come.
func (h *Handshake) lookAhead(p []byte, alone, wait bool) (n int, end, err error) {
	n, may, err := h.beginTry(p, alone && !wait)
	switch {
	case err != nil:
	case wait && h.hasEnd():
		err = io.EOF
	case wait && n == len(p):
		err = syscall.ENOBUFS
	case wait && !alone:
		err = ErrBusy
	}
	if err != nil {
		return 0, nil, err
	}
	m := 0
	if may && alone && n < len(p) && !h.hasEnd() {
		m, err = h.stream.Read(p[n:])
	}
	return n + m, h.endTry(p[n:n+m], err), nil
}

// beginTry copies what is ahead to p. If bounds is set, it bounds a read of the stream by tryTime.
// That would also end a Read that is under way, so the Look must be alone. may reports whether the
// stream has deadlines.
func (h *Handshake) beginTry(p []byte, bounds bool) (n int, may bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n = copy(p, h.ahead)
	switch {
	case hasPassed(h.readDeadline):
		return n, false, os.ErrDeadlineExceeded
	case !bounds:
		return n, true, nil
	}
	until := time.Now().Add(tryTime)
	if t := h.readDeadline; !t.IsZero() && t.Before(until) {
		until = t
	}
	h.trying = true
	return n, h.stream.SetReadDeadline(until) == nil, nil
}

// endTry notes what a read of the stream has got. It returns the error behind it.
func (h *Handshake) endTry(p []byte, err error) (end error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trying {
		h.trying = false
		_ = h.stream.SetReadDeadline(h.readDeadline) // the next call returns the error of a closed stream
	}
	h.ahead = append(h.ahead, p...)
	if err != nil && !isTimeout(err) {
		h.aheadErr = err
	}
	return h.aheadErr
}

func (h *Handshake) hasEnd() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.aheadErr != nil
}

// useAhead takes n bytes of what is ahead.
func (h *Handshake) useAhead(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead = h.ahead[n:]
}
