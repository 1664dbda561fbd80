package observe

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/toe"
)

// Taps are the Taps of a connection: that of its Config, and one that StartTap adds for a time. No
// lock is held while a Tap is called. The methods that the driver calls do nothing on a nil *Taps.
type Taps struct {
	fixed *Recording                // from Config.Tap, unless it is in flow; nil: none
	flow  atomic.Pointer[Recording] // nil: none. Storing another value needs mu, except in Init

	mu locks.Mutex[locks.Capture]
	// the startup frames so far, the Request first
	frames []byte // +checklocks:mu
	// bytes of the Request in frames
	request int32 // +checklocks:mu
	// the Recording that Start begins; nil: none. It becomes flow when it has seen the startup
	// frames
	starting *starting // +checklocks:mu
	// the connection has ended
	over bool // +checklocks:mu
}

// A starting has the frames that a new Recording has not seen yet.
type starting struct{ owed []frame }

// A frame is a startup frame, or the part of one that has arrived.
type frame struct {
	p    []byte
	sent bool
}

// Init sets the Tap that Config.Tap returned. A recorder can be stopped.
func (t *Taps) Init(tap toe.Tap) {
	if tap == nil {
		return
	}
	r := newRecording(tap)
	if _, ok := tap.(recorder); ok {
		t.flow.Store(r)
		return
	}
	t.fixed = r
}

// InitOwn is Init for a Tap of this project, which may be called with locks held. It must not wait,
// and must not lock a mutex unless its rank allows that.
func (t *Taps) InitOwn(tap toe.Tap) {
	r := newRecording(tap)
	r.own = true
	t.flow.Store(r)
}

// ErrTapped says that the connection has a Recording already.
var ErrTapped = errors.New("the connection has a Tap already")

// Start begins to show the connection to the Tap that begin returns, and returns the Recording, or
// nil if begin returns nil. The startup frames come first. The error is net.ErrClosed when the
// connection has ended, or ErrTapped. A Recording that is over makes room for another one.
func (t *Taps) Start(begin func() toe.Tap, initiator bool) (*Recording, error) {
	if f := t.flow.Load(); f != nil && f.tap.IsOver() {
		t.flow.CompareAndSwap(f, nil)
	}
	s, err := t.reserve(initiator)
	if err != nil {
		return nil, err
	}
	defer t.unreserve(s) // unless it has become flow
	defer locks.BeginCallOut().End()
	tap := begin()
	if tap == nil {
		return nil, nil
	}
	r := newRecording(tap)
	r.enter()
	defer r.leave()
	for f, ok := t.nextOwed(s, r); ok; f, ok = t.nextOwed(s, r) {
		if f.sent {
			r.tap.Sent(f.p)
		} else {
			r.tap.Received(f.p)
		}
	}
	return r, nil
}

// reserve takes the place of the Recording for a new one.
func (t *Taps) reserve(initiator bool) (*starting, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.over:
		return nil, net.ErrClosed
	case t.flow.Load() != nil || t.starting != nil:
		return nil, ErrTapped
	}
	t.starting = new(starting)
	if n := t.request; n > 0 {
		t.starting.owed = append(t.starting.owed, frame{t.frames[:n], initiator})
	}
	if reply := t.frames[t.request:]; len(reply) > 0 {
		t.starting.owed = append(t.starting.owed, frame{reply, !initiator})
	}
	return t.starting, nil
}

// unreserve gives the place back if s still has it.
func (t *Taps) unreserve(s *starting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.starting == s {
		t.starting = nil
	}
}

// nextOwed returns the next frame that the Tap of r must see before other bytes. After the last
// frame, nextOwed returns false, and r is the Recording of the connection, unless the connection
// has ended.
func (t *Taps) nextOwed(s *starting, r *Recording) (f frame, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(s.owed) > 0 {
		f, s.owed = s.owed[0], s.owed[1:]
		return f, true
	}
	if t.starting = nil; t.over {
		r.end(phaseClosed) // the call under way tells the Tap
		return frame{}, false
	}
	t.flow.Store(r)
	return frame{}, false
}

// Stop ends the recording f. It reports whether it was still running. No batch is shown in part,
// because one call records a batch. Stop does not wait for a call of the Tap that is under way,
// which may be its own caller.
func (t *Taps) Stop(f *Recording) bool {
	if f == nil || !t.flow.CompareAndSwap(f, nil) {
		return false
	}
	f.end(phaseStopped)
	return true
}

// On reports whether the connection has a Tap.
func (t *Taps) On() bool { return t != nil && (t.fixed != nil || t.flow.Load() != nil) }

// Sent shows FPDUs that are about to be written, beginning at stream offset off. bufs must not
// change during the call.
func (t *Taps) Sent(bufs [][]byte, off uint64, markers bool) {
	t.fixed.sentFPDUs(bufs, off, markers)
	t.flow.Load().sentFPDUs(bufs, off, markers)
}

// Read shows bytes that were read to the Tap of the Config.
func (t *Taps) Read(p []byte) { t.fixed.show(p, false) }

// Recording returns the Recording of the connection, or nil.
func (t *Taps) Recording() *Recording {
	if t == nil {
		return nil
	}
	return t.flow.Load()
}

// Plain shows bytes of TCP mode to the Taps.
func (t *Taps) Plain(p []byte, sent bool) {
	t.fixed.show(p, sent)
	t.flow.Load().show(p, sent)
}

// Frame shows a startup frame to the Taps. If it is not whole, p is the part that has arrived.
func (t *Taps) Frame(p []byte, sent, whole bool) {
	if len(p) == 0 {
		return
	}
	t.fixed.show(p, sent)
	t.note(p, sent, whole).show(p, sent)
}

// note keeps a startup frame for later Recordings, and returns the Recording that must see it now,
// or nil. A Recording that starts now is owed the frame. So each sees the frame once.
func (t *Taps) note(p []byte, sent, whole bool) *Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	if whole {
		t.frames = slices.Concat(t.frames, p)
		if t.request == 0 {
			t.request = int32(len(p))
		}
	}
	if t.starting != nil {
		t.starting.owed = append(t.starting.owed, frame{slices.Clone(p), sent})
		return nil
	}
	return t.flow.Load()
}

// Frames shows startup frames to Taps.
type Frames struct{ Taps *Taps }

// Sent shows a frame.
func (f Frames) Sent(frame []byte) { f.Taps.Frame(frame, true, true) }

// Received shows a frame. If it is not whole, frame is the part that has arrived.
func (f Frames) Received(frame []byte, whole bool) { f.Taps.Frame(frame, false, whole) }

// Rejected forgets the startup frames, because the connection remains in TCP mode.
func (t *Taps) Rejected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames, t.request = nil, 0
}

// Closed calls Closed of the Taps when the connection has ended, of the second one even if that of
// the first one panics.
func (t *Taps) Closed() {
	if t == nil {
		return
	}
	defer func() {
		if f := t.end(); f != nil {
			f.end(phaseClosed)
		}
	}()
	if t.fixed != nil {
		t.fixed.end(phaseClosed)
	}
}

// end takes the Recording from a connection that has ended. If Start is beginning a Recording,
// Start ends it.
func (t *Taps) end() *Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return t.flow.Swap(nil)
}
