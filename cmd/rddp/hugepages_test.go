package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The heap is moved at once, and again and again until stop is called. A failure is said once until
// a call succeeds; one at the beginning is the command's.
func TestKeepCollapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		var calls atomic.Int64
		results := []error{nil, errors.New("no page"), errors.New("no page"), nil, errors.New("no page"), nil}
		collapse := func(ctx context.Context) (int64, error) {
			return 2 << 20, results[(int(calls.Add(1))-1)%len(results)]
		}
		stop, err := keepCollapsed(t.Context(), collapse, slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil || calls.Load() != 1 {
			t.Fatalf("%d calls, %v", calls.Load(), err)
		}
		time.Sleep(5*collapseEvery + time.Second)
		stop()
		time.Sleep(time.Hour)
		if said := strings.Count(out.String(), `err="no page"`); calls.Load() != 6 || said != 2 {
			t.Errorf("%d calls, want 6; %d warnings, want 2:\n%s", calls.Load(), said, &out)
		}
		stop, err = keepCollapsed(t.Context(), func(context.Context) (int64, error) { return 0, errors.ErrUnsupported }, slog.Default())
		if stop != nil || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("keepCollapsed: %v", err)
		}
	})
}
