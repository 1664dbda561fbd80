package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
)

// A Trace writes the events of one connection to Config.Trace, whose documentation lists them. A
// nil *Trace writes nothing.
type Trace struct {
	log        *slog.Logger
	terminated atomic.Bool                     // the Terminate has been written
	panicked   atomic.Pointer[func(value any)] // see OnPanic
	off        atomic.Bool                     // the handler has panicked
}

// NewTrace returns the Trace of connection c to l, or nil if l is nil.
func NewTrace(l *slog.Logger, c net.Conn, initiator bool) *Trace {
	if l == nil {
		return nil
	}
	role := "responder"
	if initiator {
		role = "initiator"
	}
	return &Trace{log: l.With("local", fmt.Sprint(c.LocalAddr()), "peer", fmt.Sprint(c.RemoteAddr()), "role", role)}
}

// Terminate reports whether the caller must write the Terminate. Only the first call returns true.
func (t *Trace) Terminate() bool { return t != nil && !t.terminated.Swap(true) }

// OnPanic sets the function that is called with the value of a panic of the log's handler. No event
// is written after such a panic. Before OnPanic, a panic goes to the caller.
func (t *Trace) OnPanic(f func(value any)) {
	if t != nil {
		t.panicked.Store(&f)
	}
}

// Debug writes an event of level debug. args are those of slog.Logger.Debug.
func (t *Trace) Debug(event string, args ...any) { t.write(slog.LevelDebug, event, args) }

// Info writes an event of level info.
func (t *Trace) Info(event string, args ...any) { t.write(slog.LevelInfo, event, args) }

// Warn writes an event of level warn.
func (t *Trace) Warn(event string, args ...any) { t.write(slog.LevelWarn, event, args) }

func (t *Trace) write(level slog.Level, event string, args []any) {
	if t == nil || t.off.Load() {
		return
	}
	if f := t.panicked.Load(); f != nil {
		defer func() {
			if value := recover(); value != nil {
				t.off.Store(true)
				(*f)(value)
			}
		}()
	}
	t.log.Log(context.Background(), level, "rddp: "+event, args...)
}
