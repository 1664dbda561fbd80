package observe

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"testing"
)

// A listHandler records the events that it gets, and panics at one of them.
type listHandler struct {
	slog.Handler
	got *[]string
	at  string
}

func (listHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h listHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h listHandler) Handle(_ context.Context, r slog.Record) error {
	if *h.got = append(*h.got, r.Message); r.Message == h.at {
		panic("in the handler")
	}
	return nil
}

// After HandOff the caller of an event does not call the handler. The goroutine that HandOff's
// argument starts does, in order. The number of debug events that wait for a slow handler is
// limited, and the handler learns how many are missing. After a panic it gets no more events.
func TestTraceHandOff(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var got []string
	var started []func()
	var panicked []any
	trace := NewTrace(slog.New(listHandler{slog.DiscardHandler, &got, "rddp: bad"}), a, true)
	trace.Info("direct")
	trace.HandOff(func(f func()) { started = append(started, f) }, func(value any) { panicked = append(panicked, value) })
	want := []string{"rddp: direct"}
	for i := range mostEvents + 3 {
		trace.Debug(fmt.Sprint(i))
		if i < mostEvents {
			want = append(want, fmt.Sprint("rddp: ", i))
		}
	}
	trace.Info("last")
	if len(got) != 1 || len(started) != 1 {
		t.Fatalf("the handler has got %q, and %d goroutines are started", got, len(started))
	}
	started[0]()
	if want = append(want, "rddp: last", "rddp: events lost"); !slices.Equal(got, want) {
		t.Errorf("the handler has got %q, want %q", got, want)
	}
	trace.Info("bad")
	trace.Info("after")
	started[1]()
	trace.Info("later")
	if n := len(want) + 1; len(got) != n || len(panicked) != 1 || len(started) != 2 {
		t.Errorf("the handler has got %q; %v were its panics, and %d goroutines were started", got[len(want):], panicked, len(started))
	}
}

// An event whose level the handler does not want costs nothing after HandOff either, and takes no
// room from others.
func TestTraceLevelOff(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	var got []string
	trace := NewTrace(slog.New(infoHandler{listHandler{slog.DiscardHandler, &got, ""}}), a, true)
	var deliver func()
	trace.HandOff(func(f func()) { deliver = f }, func(any) {})
	for range mostEvents + 1 {
		trace.Debug("unwanted")
	}
	trace.Info("wanted")
	if deliver(); !slices.Equal(got, []string{"rddp: wanted"}) {
		t.Errorf("the handler has got %q", got)
	}
}

// An infoHandler wants no events of level debug.
type infoHandler struct{ listHandler }

func (infoHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h infoHandler) WithAttrs([]slog.Attr) slog.Handler         { return h }
