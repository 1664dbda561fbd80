package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// maxWarnings is the maximum number of warnings and errors with one message in the time
// warningTime. Peers cause most of them, and must not fill a disk.
const (
	maxWarnings = 100
	warningTime = 10 * time.Second
)

// A limitedHandler passes on log records, but no more warnings and errors than maxWarnings. The
// first one after that time says how many were left out.
type limitedHandler struct {
	slog.Handler
	warnings *warnings
}

func limitLog(h slog.Handler) slog.Handler { return &limitedHandler{h, &warnings{}} }

func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		omitted, ok := h.warnings.take(r.Message, r.Time)
		if !ok {
			return nil
		}
		if omitted > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("omitted", omitted))
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h *limitedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limitedHandler{h.Handler.WithAttrs(attrs), h.warnings}
}

func (h *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{h.Handler.WithGroup(name), h.warnings}
}

// warnings counts the warnings with each message.
type warnings struct {
	mu    locks.Mutex[locks.Leaf]
	since map[string]*warned // +checklocks:mu
}

// A warned message has come n times since the time begin.
type warned struct {
	begin time.Time
	n     int
}

// maxMessages is the maximum number of messages that are counted apart. The messages of a command
// are fewer.
const maxMessages = 1000

// take reports whether a warning at the time now is within the limit, and how many were not since
// the last one that was.
func (w *warnings) take(message string, now time.Time) (omitted int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.since[message]
	if m == nil || now.Sub(m.begin) >= warningTime {
		if m != nil {
			omitted = max(m.n-maxWarnings, 0)
		}
		if w.since == nil || m == nil && len(w.since) == maxMessages {
			w.since = make(map[string]*warned)
		}
		m = &warned{begin: now}
		w.since[message] = m
	}
	m.n++
	return omitted, m.n <= maxWarnings
}
