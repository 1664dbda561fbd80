package observe

import (
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
)

// A Trace writes the events of one connection to Config.Trace, whose documentation lists them. A
// nil *Trace writes nothing.
type Trace struct {
	log        *slog.Logger
	terminated atomic.Bool // the Terminate has been written
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

// Debug writes an event of level debug. args are those of slog.Logger.Debug.
func (t *Trace) Debug(event string, args ...any) {
	if t != nil {
		t.log.Debug("rddp: "+event, args...)
	}
}

// Info writes an event of level info.
func (t *Trace) Info(event string, args ...any) {
	if t != nil {
		t.log.Info("rddp: "+event, args...)
	}
}

// Warn writes an event of level warn.
func (t *Trace) Warn(event string, args ...any) {
	if t != nil {
		t.log.Warn("rddp: "+event, args...)
	}
}
