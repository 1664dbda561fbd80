package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rddp/rddp/conformance/lab/report"
)

// Contenders that poll are slowed down by any other work, far more than those that block. So a
// bench measures the load before each size of each round, while none of its own processes run, and
// reports it.

// lookTime is the time of one measurement of the load. The kernel counts in units of 10 ms on each
// CPU.
const lookTime = 200 * time.Millisecond

// tooBusy is the share of processor time from which on the document warns and does not judge goals.
const tooBusy = 0.1

// look records the share of processor time that others use during a short time, on the CPUs that
// the bench uses. It records nothing if the operating system does not provide it.
func (b *bench) look(ctx context.Context) error {
	before, known := parseStat(report.ReadText("/proc/stat"), b.cpu)
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
	if after, known := parseStat(report.ReadText("/proc/stat"), b.cpu); known && after.total > before.total && after.busy >= before.busy {
		b.loads = append(b.loads, float64(after.busy-before.busy)/float64(after.total-before.total))
	}
	return nil
}

// busy reports whether others used so much processor time that the figures mean little.
func (b *bench) busy() bool { return spreadOf(b.loads).median >= tooBusy }

// loadText describes the loads, or is "" if there are none.
func (b *bench) loadText() string {
	s := spreadOf(b.loads)
	if s.rounds == 0 {
		return ""
	}
	cpus := "the processor time"
	if b.cpu >= 0 {
		cpus = fmt.Sprintf("CPU %d's time", b.cpu)
	}
	text := fmt.Sprintf("Before the runs, other work used %.0f %% of %s (median of %d looks; between %.0f and %.0f %%).",
		100*s.median, cpus, s.rounds, 100*s.low, 100*s.high)
	if b.busy() {
		text += " **The machine was too busy: these figures mean little.**"
	}
	return text
}

// A ticks value is processor time since the system started, in units of the kernel.
type ticks struct{ busy, total uint64 }

// parseStat returns the time of one CPU from the text of /proc/stat, or of all CPUs if cpu is
// negative. It reports whether there is a line with that time.
func parseStat(text string, cpu int) (t ticks, known bool) {
	name := "cpu"
	if cpu >= 0 {
		name += strconv.Itoa(cpu)
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == name {
			return parseTicks(f[1:])
		}
	}
	return t, false
}

// parseTicks parses the numbers of a line of /proc/stat.
func parseTicks(f []string) (t ticks, known bool) {
	const idle, iowait, guest = 3, 4, 8 // a guest's time is part of the user's
	if len(f) < guest {
		return t, false
	}
	for i, v := range f[:guest] {
		n, err := strconv.ParseUint(v, 10, 48) // so that the sum cannot overflow
		if err != nil {
			return ticks{}, false
		}
		t.total += n
		if i != idle && i != iowait {
			t.busy += n
		}
	}
	return t, true
}
