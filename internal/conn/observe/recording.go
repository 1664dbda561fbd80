package observe

import (
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

// plain makes a recorder of any other Tap.
type plain struct{ toe.Tap }

func (p plain) SentFPDUs(bufs [][]byte, _ uint64, _ bool) {
	for _, b := range bufs {
		p.Sent(b)
	}
}

func (p plain) ReceivedFPDUs(b []byte, _ uint64, _ bool) { p.Received(b) }

func (p plain) Stop() { p.Closed() }

func (plain) IsOver() bool { return false }

// A Recording is a Tap that sees a connection. It counts the calls of the Tap that are under way,
// so that the Tap's last call comes after all others, although no lock is held during a call. So a
// Tap may end its own Recording.
//
//	live ──stop──▶ stopped ──last call returns──▶ told
//	  └─────close──▶ closed ──────────────────────▶┘
type Recording struct {
	tap recorder
	// own says that the Tap is this project's: it may be called with locks held.
	own bool
	// the phase, plus callUnderWay for each call that is under way
	state atomic.Uint64
}

// The phases of a Recording. The call that finds no other call under way makes the step to told,
// and then tells the Tap of the end.
const (
	phaseLive    uint64 = iota
	phaseStopped        // the Tap must still learn that the connection goes on without it
	phaseClosed         // the Tap must still learn that the connection has ended
	phaseTold

	callUnderWay // added to the state for each call
	phaseMask    = callUnderWay - 1
)

func newRecording(tap toe.Tap) *Recording {
	r, ok := tap.(recorder)
	if !ok {
		r = plain{tap}
	}
	return &Recording{tap: r}
}

// enter begins a call of the Tap. It reports false if the Recording has ended.
func (r *Recording) enter() bool {
	for {
		s := r.state.Load()
		if s&phaseMask != phaseLive {
			return false
		}
		if r.state.CompareAndSwap(s, s+callUnderWay) {
			return true
		}
	}
}

// leave ends a call of the Tap, even if the Tap has panicked.
func (r *Recording) leave() { r.tell(r.state.Add(^uint64(callUnderWay - 1))) }

// end ends the Recording in the phase how. The Tap learns of the end when no call of it is under
// way: now, or from the goroutine that makes the last call.
func (r *Recording) end(how uint64) {
	for {
		s := r.state.Load()
		if s&phaseMask != phaseLive {
			return
		}
		if r.state.CompareAndSwap(s, s|how) {
			r.tell(s | how)
			return
		}
	}
}

// tell tells the Tap of the end if the Recording has ended in the state s and no call is under way.
func (r *Recording) tell(s uint64) {
	if s != phaseStopped && s != phaseClosed || !r.state.CompareAndSwap(s, phaseTold) {
		return
	}
	if !r.own {
		defer locks.BeginCallOut().End()
	}
	switch s {
	case phaseStopped:
		r.tap.Stop()
	default:
		r.tap.Closed()
	}
}

// show passes bytes to the Tap that need not be whole FPDUs.
func (r *Recording) show(p []byte, sent bool) {
	if r == nil || len(p) == 0 || !r.enter() {
		return
	}
	defer r.leave()
	if !r.own {
		defer locks.BeginCallOut().End()
	}
	if sent {
		r.tap.Sent(p)
	} else {
		r.tap.Received(p)
	}
}

// sentFPDUs shows whole FPDUs that are about to be written. The first begins at stream offset off.
func (r *Recording) sentFPDUs(bufs [][]byte, off uint64, markers bool) {
	if r == nil || !r.enter() {
		return
	}
	defer r.leave()
	if !r.own {
		defer locks.BeginCallOut().End()
	}
	r.tap.SentFPDUs(bufs, off, markers)
}

// ReceivedFPDUs shows whole FPDUs that have arrived. The first begins at stream offset off.
func (r *Recording) ReceivedFPDUs(p []byte, off uint64, markers bool) {
	if !r.enter() {
		return
	}
	defer r.leave()
	if !r.own {
		defer locks.BeginCallOut().End()
	}
	r.tap.ReceivedFPDUs(p, off, markers)
}
