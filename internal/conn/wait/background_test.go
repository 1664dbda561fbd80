package wait

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Background
		if err := b.Wait(t.Context()); err != nil {
			t.Errorf("nothing is counted: %v", err)
		}
		begin := time.Now()
		b.Begin()
		b.Go(func() { time.Sleep(time.Second) })
		b.Go(func() {
			time.Sleep(2 * time.Second)
			b.Go(func() { time.Sleep(time.Second) })
		})
		time.AfterFunc(500*time.Millisecond, b.End)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		if err := b.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after 2.5 s: %v", err)
		}
		if err := b.Wait(t.Context()); err != nil || time.Since(begin) != 3*time.Second {
			t.Errorf("over after %v, %v, want 3s", time.Since(begin), err)
		}
		if err := b.Wait(ctx); err != nil { // nothing to wait for, so ctx does not matter
			t.Error(err)
		}
	})
}

// TestBackgroundThen: the function is called once, by the last End or at once.
func TestBackgroundThen(t *testing.T) {
	var b Background
	calls := 0
	b.Begin()
	b.Begin()
	b.Then(func() { calls++ })
	if b.End(); calls != 0 {
		t.Error("called while something is counted")
	}
	if b.End(); calls != 1 {
		t.Errorf("%d calls by the last End, want 1", calls)
	}
	b.Begin()
	if b.End(); calls != 1 {
		t.Errorf("%d calls, want 1 in all", calls)
	}
	if b.Then(func() { calls++ }); calls != 2 {
		t.Error("not called although nothing is counted")
	}
}
