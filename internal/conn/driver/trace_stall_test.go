package driver

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
)

// TestTraceStall checks that a Write that finds no credits is an event of level debug, and no event
// if the trace is off.
func TestTraceStall(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		var out bytes.Buffer
		stall(observe.NewTrace(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})), a, true))
		if told := strings.Contains(out.String(), "rddp: no credits"); told != (level == slog.LevelDebug) {
			t.Errorf("level %v: %q", level, out.String())
		}
	}
	stall(nil)
}

// stall makes a Write wait for credits.
func stall(trace *observe.Trace) {
	s := &byteStream{tx: *bytestream.NewSender(bytestream.Reserve, 512, 8), count: new(counters.Counters), trace: trace}
	s.mu.Lock()
	s.tx.Append([]byte("x"), 1)
	s.unlock()
}
