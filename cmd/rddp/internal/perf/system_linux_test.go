package perf

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pin confines all threads to one CPU, and unpin undoes that.
func TestPin(t *testing.T) {
	affinity := func() unix.CPUSet {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	before, procs := affinity(), runtime.GOMAXPROCS(0)
	cpu, unpin, err := pin(-1)
	if err != nil {
		t.Fatal(err)
	}
	if set := affinity(); set.Count() != 1 || !set.IsSet(cpu) || runtime.GOMAXPROCS(0) != 1 {
		t.Errorf("pinned to CPU %d: %v, GOMAXPROCS %d", cpu, set, runtime.GOMAXPROCS(0))
	}
	unpin()
	if set := affinity(); set != before || runtime.GOMAXPROCS(0) != procs {
		t.Errorf("unpinned: %v, want %v", set, before)
	}
	if _, _, err := pin(1 << 20); err == nil {
		t.Error("pinned to a CPU that cannot exist")
	}
}

// Both ends run on one CPU, with a congestion control that every Linux has and with fixed buffers.
func TestRunOneCPU(t *testing.T) {
	o := &Options{
		Addresses: []string{startPeer(t)}, Ops: []string{"echo"}, Sizes: []int{64}, Rounds: 1, Time: time.Millisecond, OneCPU: true, CPU: -1,
		Congestion: "reno", Buffer: 1 << 16,
	}
	for range 5 { // each one needs the server to itself
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Results) != 2 || r.CPU < 0 || r.LineNS != 0 {
			t.Errorf("%+v", r)
		}
	}
	o.Congestion = "unheard-of"
	if _, err := Run(t.Context(), o); !errors.Is(err, unix.ENOENT) {
		t.Errorf("an unknown congestion control: %v", err)
	}
}

func TestModelOf(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Abacus 3: fast\n\nprocessor\t: 1\nmodel name\t: Other\n": "Abacus 3: fast",
		"processor\t: 0\nBogoMIPS\t: 50.00\n":                                                   "",
		"":                                                                                      "",
	} {
		if got := modelOf(text); got != want {
			t.Errorf("modelOf(%q) = %q, want %q", text, got, want)
		}
	}
}

// The check measures real connections. What it says about their speed depends on the machine.
func TestCheckMeasures(t *testing.T) {
	o := &Options{Addresses: []string{startPeer(t)}, CPU: -1, Rounds: 1, Time: time.Millisecond}
	b := testBaseline(t)
	var out bytes.Buffer
	err := Check(t.Context(), o, b, &out)
	if loss := (*LossError)(nil); err != nil && !errors.As(err, &loss) {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"baseline: 2001-09-09, Abacus test/none, medians of 3 rounds", "another machine", "cubic; pinned to CPU", "echo 4096 1 - on 1.000"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
