package extsock

import (
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/locks"
)

// A Capture writes the bytes of connections to a file in pcapng format, which Wireshark and rddp
// dump read.
//
// The Ethernet, IP and TCP headers in the file are made up; they show an ideal network. The
// addresses are made up if a connection has no IP addresses, or if both its ends are in the same
// Capture. The times, in nanoseconds, are when bytes were handed to TCP or read from it.
//
// All methods may be called from any goroutine. The goroutine that sends or receives bytes also
// writes them to the file, so a slow file makes connections slow. If writing fails, the connections
// go on, nothing more is written, and Flush and Close return the first error.
type Capture struct{ w *dissect.Writer }

// NewCapture begins a capture and writes the file's header to w. The Capture does not close w: the
// caller closes w after it has closed the Capture.
func NewCapture(w io.Writer) (*Capture, error) {
	writer, err := dissect.NewWriter(w)
	if err != nil {
		return nil, err
	}
	return &Capture{writer}, nil
}

// Tap is a function for Config.Tap. Every connection of that Config is then captured from its first
// byte, as if StartCapture had been called before it. Capture.Close ends these captures.
func (cp *Capture) Tap(local, remote net.Addr, initiator bool) Tap {
	return cp.w.Flow(local, remote, initiator)
}

// Flush writes the bytes that are buffered in memory, at most 64 KiB, to the file. It returns the
// first error of writing the file, if there was one.
func (cp *Capture) Flush() error { return cp.w.Flush() }

// Close writes the buffered bytes to the file and ends the capture. The connections go on, but are
// no longer recorded. Close returns the first error of writing the file, if there was one. Further
// calls return the same error.
func (cp *Capture) Close() error { return cp.w.Close() }

// StartCapture records all bytes of the connection in cp from now on, in either mode and during
// startup. stop ends the recording between two FPDUs. It may be called more than once, and does
// nothing if the connection is then in another capture.
//
// A connection can be in one Capture at a time; otherwise the error is ErrBusy. After stop the
// connection can be captured again, in any Capture, where it appears as a new connection. After
// Close the error is net.ErrClosed. If cp has failed, StartCapture returns its error, which is
// os.ErrClosed after cp.Close.
//
// A recording can always be decoded. It begins with the startup frames, which each connection keeps
// for this purpose (20 bytes each, and the private data). It contains only whole FPDUs. An FPDU
// that has arrived in part is recorded when its rest arrives, or in part at the end of the
// connection.
//
// Markers are counted from the first byte after startup. If the connection has markers and earlier
// FPDUs are missing, the recording begins with an FPDU that is made up: an RDMA Write with STag 0,
// whose payload says so.
//
// When a connection has failed, it still reads bytes to discard them. These bytes are not recorded.
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

// stopCapture ends the recording in f, if it is still running.
func (c *Conn) stopCapture(f *dissect.Flow) {
	if c.taps.stop(f) {
		c.trace.info("capture stops")
	}
}

// taps are the Taps of a connection. The methods that the driver calls do nothing on a nil *taps.
type taps struct {
	fixed Tap                          // from Config.Tap; nil: none
	flow  atomic.Pointer[dissect.Flow] // the capture; nil: none. Stores need mu

	mu locks.Mutex[locks.Capture]
	// the startup frames so far, Request first
	frames []byte // +checklocks:mu
	// bytes of the Request in frames
	request int // +checklocks:mu
	// the connection has ended
	over bool // +checklocks:mu
}

// init sets the Tap that Config.Tap returned. If it belongs to a Capture, it can be stopped.
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
	f.Stop() // between two batches, because one call records a batch
	return true
}

// show passes bytes to a Tap.
func show(tap Tap, p []byte, sent bool) {
	switch {
	case len(p) == 0:
	case sent:
		tap.Sent(p)
	default:
		tap.Received(p)
	}
}

// on reports whether the connection has a Tap.
func (t *taps) on() bool { return t != nil && (t.fixed != nil || t.flow.Load() != nil) }

// plain shows bytes of TCP mode to the Taps.
func (t *taps) plain(p []byte, sent bool) {
	if t.fixed != nil {
		show(t.fixed, p, sent)
	}
	if f := t.flow.Load(); f != nil {
		show(f, p, sent)
	}
}

// frame shows a startup frame to the Taps. If it is not whole, p is the part that has arrived.
func (t *taps) frame(p []byte, sent, whole bool) {
	if len(p) == 0 {
		return
	}
	if t.fixed != nil {
		show(t.fixed, p, sent)
	}
	t.mu.Lock() // so that a capture that starts now records the frame once
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

// rejected forgets the startup frames, because the connection remains in TCP mode.
func (t *taps) rejected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames, t.request = nil, 0
}

// closed tells the Taps that the connection has ended.
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

// captureSent shows a batch that is about to be written. All of its bytes must be in the batch's
// own memory. The caller holds the transmit token.
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

// captureRun shows bytes that were read to the Tap of the Config. Bytes that were shown early come
// a second time, and captureRun skips them then.
func (p *pump) captureRun(off uint64, run []byte) {
	if p.cfg.taps != nil && p.cfg.taps.fixed != nil && off == p.rx.seen {
		p.rx.seen += uint64(len(run))
		p.cfg.taps.fixed.Received(run)
	}
}

// captureArrived records the FPDUs that the last Fill has completed. A capture may have begun in
// the middle of one. At the end of the connection captureArrived also records the last FPDU if only
// a part of it has arrived.
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
	// After a fault, FPDUs that are recorded already may still be here.
	from := max(p.rx.recorded, p.rx.mpa.Edge())
	if skip := int(from - p.rx.mpa.Edge()); skip < n {
		f.ReceivedFPDUs(b[skip:n], from, p.cfg.agreement.RxMarkers)
		p.rx.recorded = from + uint64(n-skip)
	}
}
