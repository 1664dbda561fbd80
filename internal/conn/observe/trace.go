package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// A Trace writes the events of one connection to Config.Trace, whose documentation lists them. A
// nil *Trace writes nothing. Before HandOff, the goroutine that writes an event calls the handler.
// From then on a goroutine of the Trace does, in the order of the events, because the writers hold
// locks, and the handler is the program's code.
type Trace struct {
	log        *slog.Logger
	terminated atomic.Bool // the Terminate has been written
	off        atomic.Bool // the handler has panicked
	handOff    atomic.Pointer[handOff]

	mu locks.Mutex[locks.Trace]
	// events that the handler has not received
	events []slog.Record // +checklocks:mu
	// events that were left out
	lost int // +checklocks:mu
	// deliver runs
	delivers bool // +checklocks:mu
}

// A handOff has the arguments of HandOff.
type handOff struct {
	run      func(f func())
	panicked func(value any)
}

// mostEvents is the maximum number of events that wait for a slow handler. Events of level debug
// beyond them are left out. All others are few in the life of a connection.
const mostEvents = 64

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

// HandOff makes goroutines that run starts write the events. panicked is called there with the
// value of a panic of the handler, and no event is written after it. Before HandOff, a panic goes
// to the caller.
func (t *Trace) HandOff(run func(f func()), panicked func(value any)) {
	if t != nil {
		t.handOff.Store(&handOff{run, panicked})
	}
}

// Debug writes an event of level debug. args are those of slog.Logger.Debug.
func (t *Trace) Debug(event string, args ...any) { t.write(slog.LevelDebug, event, args) }

// Info writes an event of level info.
func (t *Trace) Info(event string, args ...any) { t.write(slog.LevelInfo, event, args) }

// Warn writes an event of level warn.
func (t *Trace) Warn(event string, args ...any) { t.write(slog.LevelWarn, event, args) }

func (t *Trace) write(level slog.Level, event string, args []any) {
	if t == nil || t.off.Load() || !t.log.Enabled(context.Background(), level) {
		return
	}
	h := t.handOff.Load()
	if h == nil {
		t.log.Log(context.Background(), level, "rddp: "+event, args...)
		return
	}
	r := slog.NewRecord(time.Now(), level, "rddp: "+event, 0)
	r.Add(args...)
	if t.queue(r) {
		h.run(t.deliver)
	}
}

// queue adds an event to those that the handler has not received. It reports whether the caller
// must start deliver.
func (t *Trace) queue(r slog.Record) (start bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) >= mostEvents && r.Level <= slog.LevelDebug {
		t.lost++
		return false
	}
	t.events = append(t.events, r)
	start = !t.delivers
	t.delivers = true
	return start
}

// deliver gives the handler all events that wait.
func (t *Trace) deliver() {
	defer func() {
		if value := recover(); value != nil {
			t.off.Store(true)
			t.handOff.Load().panicked(value)
		}
	}()
	for {
		events := t.take()
		if events == nil {
			return
		}
		for _, r := range events {
			if h := t.log.Handler(); h.Enabled(context.Background(), r.Level) {
				_ = h.Handle(context.Background(), r) // slog.Logger has no use for the error either
			}
		}
	}
}

// take takes the events that wait. If there are none, deliver is over.
func (t *Trace) take() (events []slog.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost > 0 {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, "rddp: events lost", 0)
		r.Add("n", t.lost)
		t.events, t.lost = append(t.events, r), 0
	}
	events, t.events = t.events, nil
	t.delivers = events != nil
	return events
}
