package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestLogLimit: warnings and errors are limited, so peers cannot fill a disk. Omitted records are
// counted. Each message has its own limit; lower levels have no limit.
func TestLogLimit(t *testing.T) {
	var out bytes.Buffer
	h := limitLog(slog.NewTextHandler(&out, nil)).WithAttrs([]slog.Attr{slog.String("client", "x")})
	begin := time.Unix(1e9, 0)
	say := func(level slog.Level, message string, at time.Time) {
		t.Helper()
		if err := h.Handle(t.Context(), slog.NewRecord(at, level, message, 0)); err != nil {
			t.Error(err)
		}
	}
	for i := range 3 * maxWarnings {
		at := begin.Add(time.Duration(i) * time.Millisecond)
		say(slog.LevelWarn, "no startup", at)
		say(slog.LevelInfo, "listening", at)
		say(slog.LevelError, "over", at)
	}
	say(slog.LevelWarn, "another", begin)
	say(slog.LevelWarn, "no startup", begin.Add(warningTime))
	say(slog.LevelWarn, "no startup", begin.Add(warningTime))
	for text, want := range map[string]int{
		`msg="no startup"`: maxWarnings + 2, "msg=listening": 3 * maxWarnings, "msg=over": maxWarnings, "msg=another": 1, "omitted=200": 1, "omitted": 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%s comes %d times, want %d", text, got, want)
		}
	}
}
