package extsock

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// TestTraceStall: the event is one of level debug, and none where the trace is off.
func TestTraceStall(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		var out bytes.Buffer
		p := &pump{trace: newTrace(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})), a, true)}
		p.traceStall()
		if told := strings.Contains(out.String(), "rddp: no credits"); told != (level == slog.LevelDebug) {
			t.Errorf("level %v: %q", level, out.String())
		}
	}
	(&pump{}).traceStall()
}
