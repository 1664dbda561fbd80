package observe

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// A recorder is a Tap that learns where FPDUs begin and end, and that can stop before its
// connection ends. The Flow of package pcapng is one.
type recorder interface {
	toe.Tap
	// SentFPDUs and ReceivedFPDUs show whole FPDUs. The first begins at stream offset off.
	SentFPDUs(bufs [][]byte, off uint64, markers bool)
	ReceivedFPDUs(p []byte, off uint64, markers bool)
	// Stop means that no more calls follow, and that the connection goes on.
	Stop()
	// IsOver reports whether the recorder has ended by itself, so that it keeps nothing any more.
	IsOver() bool
}

// plain makes a recorder of a Tap that is none.
type plain struct{ toe.Tap }

func (p plain) SentFPDUs(bufs [][]byte, _ uint64, _ bool) {
	for _, b := range bufs {
		p.Sent(b)
	}
}

func (p plain) ReceivedFPDUs(b []byte, _ uint64, _ bool) { p.Received(b) }

func (p plain) Stop() { p.Closed() }

func (plain) IsOver() bool { return false }

// A Recording is a recorder that sees a connection.
type Recording struct{ recorder }

// Taps are the Taps of a connection: that of its Config, and one that begins and ends within it. The methods that the driver calls do nothing on a nil *Taps.
type Taps struct {
	fixed toe.Tap                   // from Config.Tap; nil: none
	flow  atomic.Pointer[Recording] // nil: none. Stores need mu

	mu locks.Mutex[locks.Capture]
	// the startup frames so far, the Request first
	frames []byte // +checklocks:mu
	// bytes of the Request in frames
	request int32 // +checklocks:mu
	// the connection has ended
	over bool // +checklocks:mu
}

// Init sets the Tap that Config.Tap returned. A recorder can be stopped.
func (t *Taps) Init(tap toe.Tap) {
	if r, ok := tap.(recorder); ok {
		t.flow.Store(&Recording{r})
		return
	}
	t.fixed = tap
}

// ErrTapped says that the connection has a Recording already.
var ErrTapped = errors.New("the connection has a Tap already")

// Start begins to show the connection to the Tap that begin returns, and returns the Recording, or
// nil if begin returns nil. The startup frames come first. The error is net.ErrClosed when the
// connection has ended, or ErrTapped. A Recording that is over makes room for another one.
func (t *Taps) Start(begin func() toe.Tap, initiator bool) (*Recording, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, net.ErrClosed
	}
	if f := t.flow.Load(); f != nil {
		if !f.IsOver() {
			return nil, ErrTapped
		}
		t.flow.Store(nil)
	}
	tap := begin()
	if tap == nil {
		return nil, nil
	}
	r, ok := tap.(recorder)
	if !ok {
		r = plain{tap}
	}
	recording := &Recording{r}
	show(r, t.frames[:t.request], initiator)
	show(r, t.frames[t.request:], !initiator)
	t.flow.Store(recording)
	return recording, nil
}

// Stop ends the recording f. It reports whether it was still running.
func (t *Taps) Stop(f *Recording) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == nil || !t.flow.CompareAndSwap(f, nil) {
		return false
	}
	f.Stop() // no batch is shown in part, because one call records a batch
	return true
}

// show passes bytes to a Tap.
func show(tap toe.Tap, p []byte, sent bool) {
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

// Recording returns the Recording of the connection, or nil.
func (t *Taps) Recording() *Recording {
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
			t.request = int32(len(p))
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
