package trace

import (
	"context"
	"log/slog"
	"strings"
)

// A logHandler passes on records, and writes those from level info on as events.
type logHandler struct {
	slog.Handler
	t *Tracer
}

// Log returns a handler that passes on what h handles, and writes records from level info on as
// events.
func (t *Tracer) Log(h slog.Handler) slog.Handler { return &logHandler{h, t} }

func (h *logHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelInfo || h.Handler.Enabled(ctx, l)
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelInfo {
		var text strings.Builder
		e := Event{Kind: Note, Op: r.Message}
		r.Attrs(func(a slog.Attr) bool {
			switch n := a.Value; {
			case a.Key == "qpn" && n.Kind() == slog.KindUint64:
				e.QP = uint32(n.Uint64())
				return true
			case a.Key == "pid" && n.Kind() == slog.KindInt64:
				e.PID = int(n.Int64())
				return true
			}
			if text.Len() > 0 {
				text.WriteString(", ")
			}
			text.WriteString(a.String())
			return true
		})
		e.Text = text.String()
		h.t.Put(e)
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(attrs), h.t}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name), h.t}
}
