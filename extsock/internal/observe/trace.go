package observe

import (
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
)

// A Trace writes the events of one connection to Config.Trace, which lists them. A nil *trace
// writes nothing.
type Trace struct {
	log        *slog.Logger
	terminated atomic.Bool // the Terminate has been written
}

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

// Terminate reports whether the Terminate is still to be written. The first call alone returns true.
func (t *Trace) Terminate() bool { return t != nil && !t.terminated.Swap(true) }

func (t *Trace) Debug(event string, args ...any) {
	if t != nil {
		t.log.Debug("rddp: "+event, args...)
	}
}

func (t *Trace) Info(event string, args ...any) {
	if t != nil {
		t.log.Info("rddp: "+event, args...)
	}
}

func (t *Trace) Warn(event string, args ...any) {
	if t != nil {
		t.log.Warn("rddp: "+event, args...)
	}
}
