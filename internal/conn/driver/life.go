package driver

import (
	"errors"
	"syscall"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
)

// A lifeState is how far a connection in DDP mode has come. It only moves forward:
//
//	            ┌─────────────── the FIN is out ─────────────────┐
//	            │         ┌───── no FIN can go out ──────────────┤
//	            │         │                                      ▼
//	open ──▶ ending ──▶ lost ──▶ killed ── queues flushed ──▶ finished ──▶ closed
//	            └───────────────────▲
//
// Each way ends by itself. The way out has ended in the states from finished on. The way in has
// ended with deafen.
type lifeState uint8

const (
	lifeOpen     lifeState = iota // there is no reason to end
	lifeEnding                    // the queue or the Terminate goes out, then the FIN
	lifeLost                      // TCP takes no more; the driver still reads
	lifeKilled                    // the stream is closed; the token's holder flushes the queues
	lifeFinished                  // nothing more goes out: the FIN has gone out, or never will
	lifeClosed                    // both ways have ended
)

var lifeNames = [...]string{"open", "ending", "lost", "killed", "finished", "closed"}

func (s lifeState) String() string { return lifeNames[s] }

var lifeNext = states.Table[lifeState]{
	lifeOpen:     states.To(lifeEnding),
	lifeEnding:   states.To(lifeLost, lifeKilled, lifeFinished),
	lifeLost:     states.To(lifeKilled, lifeFinished),
	lifeKilled:   states.To(lifeFinished),
	lifeFinished: states.To(lifeClosed),
	lifeClosed:   0,
}

// A life is the state of a connection in DDP mode, and why the connection has ended. Any goroutine
// may call its methods. The zero value is open.
type life struct {
	now states.Atomic[lifeState] // changes need mu

	// Goroutines wait for a state with these: ending is set on the way to lifeEnding, finished on
	// the way to lifeFinished.
	ending   wait.Latch
	finished wait.Latch

	mu locks.Mutex[locks.Life]
	// why the connection ends; nil while it is open
	reason error // +checklocks:mu
	// deaf says that the way in has ended. It is not a state, because the way in can end first,
	// from several states. The last of the two ways to end closes the stream.
	deaf bool // +checklocks:mu
}

// state returns the present state.
func (l *life) state() lifeState { return l.now.Load() }

// maySend reports whether the driver may give TCP more output.
func (l *life) maySend() bool { return l.state() <= lifeEnding }

// isFinished reports whether the way out has ended.
func (l *life) isFinished() bool { return l.state() >= lifeFinished }

// setState changes the state. Nothing else does.
//
// +checklocks:l.mu
func (l *life) setState(next lifeState) {
	l.now.Become(next, lifeNext)
	switch next {
	case lifeEnding:
		l.ending.Set()
	case lifeFinished:
		l.finished.Set()
	}
}

// end notes why the connection ends, and reports whether this is the first reason. It keeps the
// first reason, with one exception: a reset says more than the EPIPE of a write that came after the
// reset.
func (l *life) end(reason error) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state() == lifeOpen {
		l.reason = reason
		l.setState(lifeEnding)
		return true
	}
	if errors.Is(l.reason, syscall.EPIPE) && errors.Is(reason, syscall.ECONNRESET) {
		l.reason = reason
	}
	return false
}

// lose moves an ending connection to lost. If the way in has ended already, no goroutine would
// notice the loss, and lose moves the connection to killed.
func (l *life) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state() == lifeEnding {
		l.setState(lifeLost)
	}
	if l.state() == lifeLost && l.deaf {
		l.setState(lifeKilled)
	}
}

// kill moves an ending or lost connection to killed.
func (l *life) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.state(); s == lifeEnding || s == lifeLost {
		l.setState(lifeKilled)
	}
}

// finish ends the way out. It reports whether the way in has ended before.
func (l *life) finish() (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setState(lifeFinished)
	if l.deaf {
		l.setState(lifeClosed)
	}
	return l.deaf
}

// deafen ends the way in. It reports whether the way out has ended before.
func (l *life) deafen() (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state() == lifeLost { // no goroutine is left to notice the loss
		l.setState(lifeKilled)
	}
	l.deaf = true
	if l.state() != lifeFinished {
		return false
	}
	l.setState(lifeClosed)
	return true
}

// why returns the reason that was noted. It returns nil if none was.
func (l *life) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}
