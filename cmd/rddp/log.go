package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/rddp/rddp/internal/locks"
)

// maxWarnings is the maximum number of warnings and errors with the same message during
// warningTime. Peers cause most of them, and must not be able to fill a disk.
const (
	maxWarnings = 100
	warningTime = 10 * time.Second
)

// A limitedHandler passes on log records, but limits warnings and errors to maxWarnings. The first
// one after warningTime says how many were omitted.
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

// A warned is a message that was logged n times since begin.
type warned struct {
	begin time.Time
	n     int
}

// maxMessages is the maximum number of messages that are counted separately. A command has fewer.
const maxMessages = 1000

// take counts a warning at the time now, and reports whether it is within the limit. omitted is the
// number of warnings that were not, before this one.
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
