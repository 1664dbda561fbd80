package extsock

import (
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/locks"
)

// A Capture is a file in pcapng format with the octets of connections, as Wireshark and rddp dump read it.
// The Ethernet, IP and TCP headers in it are made up, in an ideal network; so are the addresses where a
// connection has none that are IP's, or where both its ends are in the same Capture. Times are those at which
// octets were handed to TCP or read from it, in nanoseconds.
//
// All methods may be called from any goroutine. Octets are written to the file by whoever sends or receives
// them, so a slow file makes slow connections. A file that fails makes no connection fail: nothing more
// is written to it, and Flush and Close return the first error.
type Capture struct{ w *dissect.Writer }

// NewCapture begins a capture in w. The caller closes w after the Capture.
func NewCapture(w io.Writer) (*Capture, error) {
	writer, err := dissect.NewWriter(w)
	if err != nil {
		return nil, err
	}
	return &Capture{writer}, nil
}

// Tap is for Config.Tap: every connection of that Config is captured from its first octet on, as if
// StartCapture had been called before it. Capture.Close ends it.
func (cp *Capture) Tap(local, remote net.Addr, initiator bool) Tap {
	return cp.w.Flow(local, remote, initiator)
}

// Flush writes out what waits in memory, at most 64 KiB. It returns the first error that occurred in writing
// the file.
func (cp *Capture) Flush() error { return cp.w.Flush() }

// Close writes out what waits in memory and ends the capture: the connections in it go on, and nothing more is
// recorded of them. It returns the first error that occurred in writing the file; so do further calls.
func (cp *Capture) Close() error { return cp.w.Close() }

// StartCapture records all octets of the connection in cp from now on. stop ends that, between two FPDUs; it may be
// called more than once, and does nothing once the connection is in another capture. StartCapture may be called in either mode,
// and during startup. A connection can be in one Capture at a time, else the error is ErrBusy; it can be
// started again after stop, in the same Capture or in another one, where it then is a connection of its
// own. Other errors: net.ErrClosed, and what cp has failed with, os.ErrClosed if that was its Close.
//
// What is recorded can always be decoded. It begins with the startup frames, which the connection keeps for
// this (they take 20 octets each and the private data), goes on with whole FPDUs only, and ends behind one. So
// an FPDU of which a part has come is recorded when the rest has, or at the end of the connection. Where there
// are Markers and FPDUs have gone before, one is made up to be the first, because Markers are counted from the
// first octet behind startup: an RDMA Write with STag 0, whose payload says that it is made up.
//
// Not recorded is what still comes after the connection has failed, when it is read to be thrown away.
func (c *Conn) StartCapture(cp *Capture) (stop func(), err error) {
	if c.isClosed() {
		return nil, c.opError("capture", net.ErrClosed)
	}
	f, err := c.taps.start(cp, c.LocalAddr(), c.RemoteAddr(), c.initiator)
	if err != nil {
		return nil, c.opError("capture", err)
	}
	c.trace.info("capture starts")
	return func() { c.stopCapture(f) }, nil
}

// stopCapture ends the capture in f, if it is still running.
func (c *Conn) stopCapture(f *dissect.Flow) {
	if c.taps.stop(f) {
		c.trace.info("capture stops")
	}
}

// taps is what sees the octets of a connection. Its methods for the pump do nothing on a nil *taps.
type taps struct {
	fixed Tap                          // of the Config; nil: none
	flow  atomic.Pointer[dissect.Flow] // the capture; nil: none. Who stores to it holds mu

	mu locks.Mutex[locks.Capture]
	// the startup frames so far, Request first
	frames []byte // +checklocks:mu
	// octets of the Request in frames
	request int // +checklocks:mu
	// the connection has ended
	over bool // +checklocks:mu
}

// init takes the Tap that a Config has given. That of a Capture is one to be stopped.
func (t *taps) init(tap Tap) {
	if f, ok := tap.(*dissect.Flow); ok {
		t.flow.Store(f)
		return
	}
	t.fixed = tap
}

func (t *taps) start(cp *Capture, local, remote net.Addr, initiator bool) (*dissect.Flow, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, net.ErrClosed
	}
	if t.flow.Load() != nil {
		return nil, ErrBusy
	}
	if err := cp.w.Err(); err != nil {
		return nil, err
	}
	f := cp.w.Flow(local, remote, initiator)
	show(f, t.frames[:t.request], initiator)
	show(f, t.frames[t.request:], !initiator)
	t.flow.Store(f)
	return f, nil
}

func (t *taps) stop(f *dissect.Flow) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == nil || !t.flow.CompareAndSwap(f, nil) {
		return false
	}
	f.Stop() // not in the middle of a batch: that is recorded in one call
	return true
}

// show shows octets to a Tap.
func show(tap Tap, p []byte, sent bool) {
	switch {
	case len(p) == 0:
	case sent:
		tap.Sent(p)
	default:
		tap.Received(p)
	}
}

// on reports whether the connection is seen.
func (t *taps) on() bool { return t != nil && (t.fixed != nil || t.flow.Load() != nil) }

// plain is for the octets of TCP mode.
func (t *taps) plain(p []byte, sent bool) {
	if t.fixed != nil {
		show(t.fixed, p, sent)
	}
	if f := t.flow.Load(); f != nil {
		show(f, p, sent)
	}
}

// frame is for a startup frame, or the part of one that has come.
func (t *taps) frame(p []byte, sent, whole bool) {
	if len(p) == 0 {
		return
	}
	if t.fixed != nil {
		show(t.fixed, p, sent)
	}
	t.mu.Lock() // so that a capture that starts now has it once
	defer t.mu.Unlock()
	if f := t.flow.Load(); f != nil {
		show(f, p, sent)
	}
	if whole {
		t.frames = slices.Concat(t.frames, p)
		if t.request == 0 {
			t.request = len(p)
		}
	}
}

// rejected forgets the startup frames: the connection is still in TCP mode.
func (t *taps) rejected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames, t.request = nil, 0
}

// closed ends the connection.
func (t *taps) closed() {
	if t == nil {
		return
	}
	if t.fixed != nil {
		t.fixed.Closed()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if f := t.flow.Swap(nil); f != nil {
		f.Closed()
	}
}

// captureSent shows a batch that is about to be written, all of it in the batch's own memory. The token is held.
func (p *pump) captureSent() {
	t, bufs := p.cfg.taps, p.tx.batch.Bufs()
	if t.fixed != nil {
		for _, b := range bufs {
			t.fixed.Sent(b)
		}
	}
	if f := t.flow.Load(); f != nil {
		f.SentFPDUs(bufs, p.tx.mpa.Off()-uint64(p.tx.batch.Len()), p.cfg.agreement.TxMarkers)
	}
}

// captureRun shows a run that was read to the Tap of the Config. A run shown early comes again, so it is left
// out.
func (p *pump) captureRun(off uint64, run []byte) {
	if p.cfg.taps != nil && p.cfg.taps.fixed != nil && off == p.rx.seen {
		p.rx.seen += uint64(len(run))
		p.cfg.taps.fixed.Received(run)
	}
}

// captureArrived records the FPDUs that the last Fill has made whole: a capture may have begun in the middle of
// one. At the end of the connection it also records the part of one that came last.
func (p *pump) captureArrived(end bool) {
	if p.cfg.taps == nil {
		return
	}
	f := p.cfg.taps.flow.Load()
	if f == nil {
		return
	}
	b, n := p.rx.mpa.Arrived()
	if end {
		n = len(b)
	}
	// Where a fault has ended the connection, FPDUs that have been recorded may still be here.
	from := max(p.rx.recorded, p.rx.mpa.Edge())
	if skip := int(from - p.rx.mpa.Edge()); skip < n {
		f.ReceivedFPDUs(b[skip:n], from, p.cfg.agreement.RxMarkers)
		p.rx.recorded = from + uint64(n-skip)
	}
}
