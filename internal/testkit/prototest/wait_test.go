package prototest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A bounded is a test that must finish by end, if end is not zero.
type bounded struct {
	testing.TB
	end     time.Time
	failure string
}

func (b *bounded) Helper()                     {}
func (b *bounded) Deadline() (time.Time, bool) { return b.end, !b.end.IsZero() }
func (b *bounded) Fatalf(format string, args ...any) {
	b.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestDeadline: the Deadline is after nine tenths of the time left, or after a minute in a bubble,
// whose tests have no deadline.
func TestDeadline(t *testing.T) {
	now := time.Now()
	b := &bounded{TB: t, end: now.Add(1000 * time.Hour)}
	if left := Deadline(b).Sub(now); left < 899*time.Hour || left > 901*time.Hour {
		t.Errorf("%v of 1000 hours", left)
	}
	if left := Deadline(&bounded{TB: t}).Sub(now); left < unbound || left > 2*unbound {
		t.Errorf("%v where nothing bounds the binary, want %v", left, unbound)
	}
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		if left := Deadline(t).Sub(now); left != inBubble {
			t.Errorf("%v in a bubble, want %v", left, inBubble)
		}
		if end, ok := TimeLimit(t).Deadline(); !ok || end.Sub(now) != inBubble {
			t.Errorf("the context of a bubble ends at %v", end)
		}
	})
}

// TestWait: Wait returns when the condition is true, and otherwise fails with the stacks when the
// test's time is over, and not before.
func TestWait(t *testing.T) {
	looks := 0
	Wait(t, "the look 1,100", func() bool { looks++; return looks == 1100 })
	if looks != 1100 {
		t.Errorf("%d looks", looks)
	}
	b := &bounded{TB: t, end: time.Now()}
	over := make(chan struct{})
	go func() {
		defer close(over)
		Wait(b, "the moon", func() bool { return false })
	}()
	<-over
	if !strings.HasPrefix(b.failure, "the moon: ") || !strings.Contains(b.failure, "TestWait") {
		t.Errorf("it fails with %q", b.failure)
	}
}
