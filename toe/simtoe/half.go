package simtoe

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe/internal/deadline"
)

// A half is one direction of a connection: one side writes to it, the other
// reads from it. The connection's lock is held in its methods; those that wait
// give it up meanwhile.
type half struct {
	cfg  Config
	peer *half // the other direction

	readable      sync.Cond // octets have arrived or will never
	writable      sync.Cond // there is room or never will be
	readDeadline  deadline.Deadline
	writeDeadline deadline.Deadline

	// The octets next to written are in held; those up to transit.arrived may
	// be read.
	held    ring
	next    uint64
	written uint64
	transit transit
	runs    runs // as the receiver sees them

	segments bool   // ReadSegment has been called
	base     uint64 // next at that time: its offset 0

	writing bool // a write is under way: others wait, octets do not mix

	// How it ends. The sender's side:
	writeClosed bool // Close was called
	shut        bool // Close or CloseWrite was called, or the cut was a FIN
	// On the way:
	fin    bool // the receiver is to see a FIN behind the last octet
	silent bool // what is sent vanishes
	lost   int  // octets that have vanished
	reset  bool
	// The receiver's side:
	readClosed bool // Close was called
	gone       bool // Close was called and the sender knows
}

func newHalf(c Config, side uint64, mu *locks.Mutex[locks.Simulator]) *half {
	h := &half{cfg: c, transit: newTransit(c, side), runs: newRuns(c, side)}
	h.readable.L, h.writable.L = mu, mu
	return h
}

// write writes bufs, waiting for its turn and for room if wait is set.
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
				h.writable.Wait()
			}
			n, b = n+m, b[m:]
		}
	}
	return n, nil
}

// waitWritable waits until write would take something or fail.
func (h *half) waitWritable() error {
	for {
		if err := h.writeErr(true); err != nil || !h.writing && h.room() > 0 {
			return err
		}
		h.writable.Wait()
	}
}

// writeErr says why nothing can be written, whether there is room or not.
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

// room returns how many octets may be written now.
func (h *half) room() int {
	return h.cfg.window() - h.held.n - h.lost
}

// put writes as much of b as there is room for, up to the cut, and returns how
// much that is.
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

// wake wakes everyone who waits for this half: its state has changed.
func (h *half) wake() {
	h.readable.Broadcast()
	h.writable.Broadcast()
}

// read waits for octets in order.
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

// beginSegments notes that ReadSegment is called. The first call is at offset 0.
func (h *half) beginSegments() {
	if !h.segments {
		h.segments, h.base = true, h.next
	}
}

// waitSegment waits until there is something for readSegment: bytes in order or early, or the end.
// It returns why nothing can be read.
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

// readSegment gives bytes early or in order, without waiting. n is 0 if there are none.
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

// readErr says why nothing can be read, whether octets are there or not.
func (h *half) readErr() error {
	switch {
	case h.readClosed:
		return net.ErrClosed
	case h.readDeadline.Passed():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// end says whether the stream ends here, behind the last octet.
func (h *half) end() error {
	switch {
	case h.next < h.written:
		return nil // on the way
	case h.reset:
		return syscall.ECONNRESET
	case h.fin:
		return io.EOF
	}
	return nil
}

// pending returns how many octets have arrived in order and are not read.
func (h *half) pending() int {
	return int(h.transit.arrived - h.next)
}

// take reads what has arrived of the current run.
func (h *half) take(p []byte) int {
	h.runs.pass(h.next)
	n := min(len(p), h.pending(), int(min(h.runs.at(0).end-h.next, uint64(h.held.n))))
	if n == 0 {
		return 0
	}
	h.held.peek(0, p[:n])
	h.held.drop(n)
	h.next += uint64(n)
	if h.held.n <= h.room() { // not for every octet
		h.writable.Broadcast()
	}
	return n
}

// earlyRun returns the run to be shown early now, if any, and the offset of its
// first octet. It need not have been written to its end.
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

// closeWrite is the sender's half-close.
func (h *half) closeWrite() {
	h.shut = true
	h.fin = h.fin || !h.silent
	h.wake()
}

// closeRead is the receiver's Close. told is whether the sender gets to know.
func (h *half) closeRead(told bool) {
	h.readClosed = true
	h.gone = h.gone || told
	h.transit.stop()
	h.readDeadline.Stop()
	h.wake()
}
