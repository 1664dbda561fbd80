package observe

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/pcapng"
)

// A tap sees the bytes of a connection: Config.Tap of package extsock describes it.
type tap interface {
	Sent(p []byte)
	Received(p []byte)
	Closed()
}

// Taps are the Taps of a connection. The methods that the driver calls do nothing on a nil *Taps.
type Taps struct {
	fixed tap                         // from Config.Tap; nil: none
	flow  atomic.Pointer[pcapng.Flow] // the capture; nil: none. Stores need mu

	mu locks.Mutex[locks.Capture]
	// the startup frames so far, the Request first
	frames []byte // +checklocks:mu
	// bytes of the Request in frames
	request int // +checklocks:mu
	// the connection has ended
	over bool // +checklocks:mu
}

// Init sets the Tap that Config.Tap returned. If it belongs to a Capture, it can be stopped.
func (t *Taps) Init(tap tap) {
	if f, ok := tap.(*pcapng.Flow); ok {
		t.flow.Store(f)
		return
	}
	t.fixed = tap
}

// ErrCaptured says that the connection is in a capture already.
var ErrCaptured = errors.New("captured already")

// Start begins to show the connection to a new flow of w. The startup frames come first. The error
// is net.ErrClosed when the connection has ended, ErrCaptured, or the error of w.
func (t *Taps) Start(w *pcapng.Writer, local, remote net.Addr, initiator bool) (*pcapng.Flow, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, net.ErrClosed
	}
	if t.flow.Load() != nil {
		return nil, ErrCaptured
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	f := w.Flow(local, remote, initiator)
	show(f, t.frames[:t.request], initiator)
	show(f, t.frames[t.request:], !initiator)
	t.flow.Store(f)
	return f, nil
}

// Stop ends the capture in flow f. It reports whether the connection was in that capture.
func (t *Taps) Stop(f *pcapng.Flow) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == nil || !t.flow.CompareAndSwap(f, nil) {
		return false
	}
	f.Stop() // no batch is shown in part, because one call records a batch
	return true
}

// show passes bytes to a Tap.
func show(tap tap, p []byte, sent bool) {
	switch {
	case len(p) == 0:
	case sent:
		tap.Sent(p)
	default:
		tap.Received(p)
	}
}

// On reports whether the connection has a Tap.
func (t *Taps) On() bool { return t != nil && (t.fixed != nil || t.flow.Load() != nil) }

// Sent shows FPDUs that are about to be written, beginning at stream offset off. Nobody changes
// bufs during the call.
func (t *Taps) Sent(bufs [][]byte, off uint64, markers bool) {
	if t.fixed != nil {
		for _, b := range bufs {
			t.fixed.Sent(b)
		}
	}
	if f := t.flow.Load(); f != nil {
		f.SentFPDUs(bufs, off, markers)
	}
}

// Read shows bytes that were read to the Tap of the Config.
func (t *Taps) Read(p []byte) {
	if t.fixed != nil {
		t.fixed.Received(p)
	}
}

// Capture returns the capture that the connection is in, or nil.
func (t *Taps) Capture() *pcapng.Flow {
	if t == nil {
		return nil
	}
	return t.flow.Load()
}

// Plain shows bytes of TCP mode to the Taps.
func (t *Taps) Plain(p []byte, sent bool) {
	if t.fixed != nil {
		show(t.fixed, p, sent)
	}
	if f := t.flow.Load(); f != nil {
		show(f, p, sent)
	}
}

// Frame shows a startup frame to the Taps. If it is not whole, p is the part that has arrived.
func (t *Taps) Frame(p []byte, sent, whole bool) {
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

// Rejected forgets the startup frames, because the connection remains in TCP mode.
func (t *Taps) Rejected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames, t.request = nil, 0
}

// Closed tells the Taps that the connection has ended.
func (t *Taps) Closed() {
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
