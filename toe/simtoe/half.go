package simtoe

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/internal/deadline"
)

// A half is one direction of a connection: one side writes to it, and the other side reads from it.
// Callers of its methods hold the connection's lock. Methods that wait release the lock while they
// wait.
type half struct {
	cfg  Config
	peer *half // the other direction

	readable      arrivals  // bytes have arrived, or none will ever arrive
	writable      sync.Cond // there is room, or there will never be any
	readDeadline  deadline.Deadline
	writeDeadline deadline.Deadline

	// held contains the bytes from next to written. The receiver may read those below
	// transit.arrived.
	held    ring
	next    uint64
	written uint64
	transit transit
	runs    runs // as the receiver sees them

	segments bool   // ReadSegment has been called
	base     uint64 // next at the first ReadSegment, whose offset 0 it is

	writing bool // a write is in progress; other writes wait, so that their bytes do not mix

	// The fields below say how the half ends. First those of the sender:
	writeClosed bool // Close was called
	shut        bool // Close or CloseWrite was called, or the cut was a FIN
	// In the network:
	fin    bool // the receiver sees a FIN after the last byte
	silent bool // the network drops what the sender sends
	lost   int  // bytes dropped
	reset  bool
	// At the receiver:
	readClosed bool // Close was called
	gone       bool // Close was called and the sender knows
}

// An arrivals is the event that the receiver waits for, in a call or with a Gate.
type arrivals struct {
	sync.Cond
	gate *toe.Gate // of the current Watch
}

// Broadcast wakes all waiting goroutines. It opens the Gate for every event, not only for bytes.
func (a *arrivals) Broadcast() {
	a.Cond.Broadcast()
	if a.gate != nil {
		a.gate.Open()
		a.gate = nil
	}
}

func newHalf(c Config, side uint64, mu *locks.Mutex[locks.Simulator]) *half {
	h := &half{cfg: c, transit: newTransit(c, side), runs: newRuns(c, side)}
	h.readable.L, h.writable.L = mu, mu
	return h
}

// write writes bufs. If wait is set, it waits for its turn and for room.
func (h *half) write(bufs [][]byte, wait bool) (n int, err error) {
	for {
		if err := h.writeErr(wait); err != nil {
			return 0, err
		}
		if !h.writing {
			break
		}
		if !wait {
			return 0, nil
		}
		h.writable.Wait()
	}
	h.writing = true
	defer func() {
		h.transit.flush(&h.readable)
		h.writing = false
		h.writable.Broadcast()
	}()
	for _, b := range bufs {
		for len(b) > 0 {
			if err := h.writeErr(wait); err != nil {
				return n, err
			}
			m := h.put(b)
			if m == 0 {
				if !wait {
					return n, nil
				}
				h.transit.flush(&h.readable)
				h.writable.Wait()
			}
			n, b = n+m, b[m:]
		}
	}
	return n, nil
}

// waitWritable waits until write would take at least one byte or would fail.
func (h *half) waitWritable() error {
	for {
		if err := h.writeErr(true); err != nil || !h.writing && h.room() > 0 {
			return err
		}
		h.writable.Wait()
	}
}

// writeErr returns why the sender can no longer write, or nil. It ignores whether there is room.
func (h *half) writeErr(obeyDeadline bool) error {
	switch {
	case h.writeClosed:
		return net.ErrClosed
	case obeyDeadline && h.writeDeadline.Passed():
		return os.ErrDeadlineExceeded
	case h.reset:
		return syscall.ECONNRESET
	case h.shut, h.gone:
		return syscall.EPIPE
	}
	return nil
}

// room returns how many bytes the sender may write now.
func (h *half) room() int {
	return h.cfg.window() - h.held.n - h.lost
}

// put writes as much of b as there is room for, at most up to the cut, and returns the number of
// bytes written.
func (h *half) put(b []byte) int {
	b = b[:min(len(b), h.room())]
	if len(b) == 0 {
		return 0
	}
	if h.silent {
		h.lost += len(b)
		return len(b)
	}
	cut := false
	if c := h.cfg.CutAfter; c > 0 && c-int64(h.written) <= int64(len(b)) {
		cut, b = true, b[:c-int64(h.written)]
	}
	h.held.put(b)
	h.written += uint64(len(b))
	h.transit.send(h.written, &h.readable)
	if cut {
		h.cut()
	}
	return len(b)
}

// cut ends the connection as Config.CutHow says.
func (h *half) cut() {
	switch h.cfg.CutHow {
	case FIN:
		h.shut, h.fin = true, true
	case RST:
		h.reset, h.peer.reset = true, true
	case Silence:
		h.silent = true
	}
	h.wake()
	h.peer.wake()
}

// wake wakes every goroutine that waits for this half, because the state of the half has changed.
func (h *half) wake() {
	h.readable.Broadcast()
	h.writable.Broadcast()
}

// read waits until bytes have arrived in order, and reads them.
func (h *half) read(p []byte) (n int, err error) {
	for {
		if err := h.readErr(); err != nil || len(p) == 0 {
			return 0, err
		}
		if n := h.take(p); n > 0 {
			return n, nil
		}
		if err := h.end(); err != nil {
			return 0, err
		}
		h.readable.Wait()
	}
}

// beginSegments is called for each ReadSegment. The first call sets base: ReadSegment begins there,
// at offset 0.
func (h *half) beginSegments() {
	if !h.segments {
		h.segments, h.base = true, h.next
	}
}

// waitSegment waits until readSegment can return bytes, in order or early, or the stream has ended.
// It returns why nothing can be read, or nil.
func (h *half) waitSegment() error {
	for !h.hasSegment() {
		h.readable.Wait()
	}
	if err := h.readErr(); err != nil {
		return err
	}
	if r, _ := h.earlyRun(); r == nil && h.pending() == 0 {
		return h.end()
	}
	return nil
}

// hasSegment reports whether waitSegment would return at once.
func (h *half) hasSegment() bool {
	if h.readErr() != nil || h.pending() > 0 || h.end() != nil {
		return true
	}
	r, _ := h.earlyRun()
	return r != nil
}

// readSegment reads bytes that are early or in order, without waiting. n is 0 if there are none.
func (h *half) readSegment(p []byte) (n int, off uint64) {
	off = h.next - h.base
	if len(p) == 0 {
		return 0, off
	}
	if r, start := h.earlyRun(); r != nil {
		r.shown = true
		n = min(len(p), int(min(r.end, h.written)-start))
		h.held.peek(int(start-h.next), p[:n])
		return n, start - h.base
	}
	return h.take(p), off
}

// readErr returns why the receiver can no longer read, or nil. It ignores whether bytes have
// arrived.
func (h *half) readErr() error {
	switch {
	case h.readClosed:
		return net.ErrClosed
	case h.readDeadline.Passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// end returns the error that ends the stream if the receiver has read everything, and nil
// otherwise.
func (h *half) end() error {
	switch {
	case h.next < h.written:
		return nil // some bytes are not read
	case h.reset:
		return syscall.ECONNRESET
	case h.fin:
		return io.EOF
	}
	return nil
}

// pending returns how many bytes have arrived in order and have not been read.
func (h *half) pending() int {
	return int(h.transit.arrived - h.next)
}

// take reads the part of the current run that has arrived, as far as it fits p.
func (h *half) take(p []byte) int {
	h.runs.pass(h.next)
	n := min(len(p), h.pending(), int(min(h.runs.at(0).end-h.next, uint64(h.held.n))))
	if n == 0 {
		return 0
	}
	h.held.peek(0, p[:n])
	h.held.drop(n)
	h.next += uint64(n)
	if h.held.n <= h.room() { // at least half of the window is free, so not each read wakes the writer
		h.writable.Broadcast()
	}
	return n
}

// earlyRun returns the run to be shown early now, and the offset of its first byte. r is nil if
// there is none. The run need not have been written to its end.
func (h *half) earlyRun() (r *run, start uint64) {
	if h.cfg.Early <= 0 {
		return nil, 0
	}
	h.runs.pass(h.next)
	for i := 1; i < lookahead; i++ {
		start = h.runs.at(i - 1).end
		if start >= h.written {
			break
		}
		if r := h.runs.at(i); r.lag >= i && !r.shown {
			return r, start
		}
	}
	return nil, 0
}

// closeWrite ends the half after the last byte, by the sender's CloseWrite or Close.
func (h *half) closeWrite() {
	h.shut = true
	h.fin = h.fin || !h.silent
	h.wake()
}

// closeRead ends the half by the receiver's Close. If told is set, the sender learns of it.
func (h *half) closeRead(told bool) {
	h.readClosed = true
	h.gone = h.gone || told
	h.transit.stop()
	h.readDeadline.Stop()
	h.wake()
}
