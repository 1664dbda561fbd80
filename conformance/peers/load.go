package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Contenders that poll are slowed down by any other work, far more than those that block. So a bench
// looks at the load before each size of each round, while nothing of its own runs, and reports it.

// lookTime is the time of one look. The kernel counts in units of 10 ms on each CPU.
const lookTime = 200 * time.Millisecond

// tooBusy is the share of processor time from which the document warns.
const tooBusy = 0.1

// look records the share of processor time that others use during a short time. It records nothing if
// the operating system does not tell.
func (b *bench) look(ctx context.Context) error {
	before, known := parseStat(readText("/proc/stat"))
	if !known {
		return nil
	}
	wait := time.NewTimer(b.lookTime)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
	}
	if after, known := parseStat(readText("/proc/stat")); known && after.total > before.total && after.busy >= before.busy {
		b.loads = append(b.loads, float64(after.busy-before.busy)/float64(after.total-before.total))
	}
	return nil
}

// loadText describes the loads, or is "" if there are none.
func (b *bench) loadText() string {
	s := spreadOf(b.loads)
	if s.rounds == 0 {
		return ""
	}
	text := fmt.Sprintf("Before the runs, other work used %.0f %% of the processor time (median of %d looks; between %.0f and %.0f %%).",
		100*s.median, s.rounds, 100*s.low, 100*s.high)
	if s.median >= tooBusy {
		text += " **The machine was too busy: the figures of contenders that poll mean little.**"
	}
	return text
}

// A ticks value is processor time of all CPUs since the system started, in units of the kernel.
type ticks struct{ busy, total uint64 }

// parseStat returns the first line of /proc/stat. It reports whether the line is what it should be.
func parseStat(text string) (t ticks, known bool) {
	line, _, _ := strings.Cut(text, "\n")
	const idle, iowait, guest = 4, 5, 9 // a guest's time is part of the user's
	f := strings.Fields(line)
	if len(f) < guest || f[0] != "cpu" {
		return t, false
	}
	for i, v := range f[1:guest] {
		n, err := strconv.ParseUint(v, 10, 48) // so that the sum cannot overflow
		if err != nil {
			return t, false
		}
		t.total += n
		if i+1 != idle && i+1 != iowait {
			t.busy += n
		}
	}
	return t, true
}
