package perf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every operation runs in two processes, in all variants, and each result has its figures.
func TestRunAllOperations(t *testing.T) {
	o := &Options{
		Addresses: []string{startPeer(t)}, Ops: Ops(), Sizes: []int{64, 100_000}, Depths: []int{1, 4}, CRC: []bool{true, false},
		Rounds: 2, Time: time.Millisecond, Ring: 1 << 20, Conns: []int{2},
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Results {
		v := &r.Results[i]
		got = append(got, fmt.Sprintf("%s %d %d %s %s", v.Op, v.Size, v.Depth, v.Post, v.CRC))
		op, _ := operationOf(v.Op)
		if v.Seconds <= 0 || v.MsgsPerS <= 0 || v.BytesPerS <= 0 || v.Conns != 2 || v.Rounds != 2 {
			t.Errorf("%+v lacks figures", v)
		}
		if (v.RatioToTCP > 0) != (op.over != overTCP) || (len(v.RatioSpread) == 2) != (op.over != overTCP) {
			t.Errorf("%+v: ratio to TCP", v)
		}
		if told := v.CPUHere != nil && v.CPUThere != nil; runtime.GOOS == "linux" && !told || (v.CPURatioToTCP > 0) != (told && op.over != overTCP) ||
			told && (v.CPUPerOp <= 0 || v.CPUHere.User+v.CPUHere.System <= 0 || v.CPUThere.User+v.CPUThere.System <= 0) {
			t.Errorf("%+v: processor time %v, %v", v, v.CPUHere, v.CPUThere)
		}
		if latency := op.kind.answered() && v.Depth == 1; (v.Lat != nil) != latency || latency && (v.Lat.P50 <= 0 || v.Lat.P50 > v.Lat.Max) {
			t.Errorf("%+v: latency %+v", v, v.Lat)
		}
	}
	for _, want := range []string{
		"tcp 64 1  ", "tcp-echo 64 1  ", "tcp 100000 1  ", "write 64 1 one on", "write 64 4 one off", "write 100000 4 batch on",
		"read 64 4 batch off", "send 100000 1 one on", "message 100000 1  on", "stream 64 1  off", "echo 100000 1  on", "atomic 8 1 one on",
		"atomic 8 4 batch off", "tcp-echo 8 1  ",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no result for %q", want)
		}
	}
	// 2 sizes: 2 references; 2 CRC * (3 Work Requests * 3 variants + 3 others). Atomics: 1
	// reference, 2 CRC * 3 variants.
	if want := 2*(2+2*12) + 1 + 6; len(got) != want {
		t.Errorf("%d results, want %d: %q", len(got), want, got)
	}
}

// The ratio of processor time is that of both ends together, user and system, for one operation.
// With an end that cannot tell its processor time, there is none.
func TestRatio(t *testing.T) {
	r := run{elapsed: time.Second, ops: 10, here: cpuTime{1000, 2000}, there: cpuTime{3000, 4000}, hasCPU: true}
	ref := run{elapsed: time.Second, ops: 40, here: cpuTime{5000, 0}, there: cpuTime{0, 11000}, hasCPU: true}
	if q := r.to(&ref); q != (ratio{rate: 0.25, cpu: 2.5}) {
		t.Errorf("%+v", q)
	}
	for _, mute := range []*run{&r, &ref} {
		mute.hasCPU = false
		if q := r.to(&ref); q != (ratio{rate: 0.25}) {
			t.Errorf("%+v", q)
		}
		mute.hasCPU = true
	}
}

// With pauses, the operations whose latency is measured run once for each pause, and are compared
// by their median latency; the others run only without a pause.
func TestRunPauses(t *testing.T) {
	o := &Options{
		Addresses: []string{startPeer(t)}, Ops: []string{"read", "stream", "echo"}, Sizes: []int{64}, Depths: []int{1, 2}, Posts: []string{PostOne},
		Rounds: 1, Time: time.Millisecond, Ring: 1 << 20, Pauses: []time.Duration{2 * time.Millisecond, 0},
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	median := make(map[string]float64)
	var got []string
	for _, v := range r.Results {
		name := fmt.Sprintf("%s %d %v", v.Op, v.Depth, v.Pause)
		got = append(got, name)
		if v.Lat == nil {
			continue
		}
		median[name] = v.Lat.P50
		if v.Pause > 0 && (v.MsgsPerS <= 0 || v.MsgsPerS > 500) {
			t.Errorf("%s: %v operations a second with a pause of 2 ms before each", name, v.MsgsPerS)
		}
		if want := median[fmt.Sprintf("tcp-echo 1 %v", v.Pause)] / v.Lat.P50; v.Pause > 0 && v.RatioToTCP > 0 && math.Abs(v.RatioToTCP/want-1) > 0.01 {
			t.Errorf("%s: ratio %v, want %v", name, v.RatioToTCP, want)
		}
	}
	slices.Sort(got)
	want := []string{"echo 1 0s", "echo 1 2ms", "read 1 0s", "read 1 2ms", "read 2 0s", "stream 1 0s", "tcp 1 0s", "tcp-echo 1 0s", "tcp-echo 1 2ms"}
	if !slices.Equal(got, want) {
		t.Errorf("measured %q, want %q", got, want)
	}
}

// With HugePages, both ends move their heaps, whatever the kind of the measurement, or Run says
// that the system cannot.
func TestRunHugePages(t *testing.T) {
	address := startPeer(t)
	for _, scale := range []bool{false, true} {
		o := &Options{
			Addresses: []string{address}, Ops: []string{"echo"}, Sizes: []int{64}, Rounds: 1, Time: time.Millisecond, Ring: 1 << 20, Conns: []int{2},
			Scale: scale, HugePages: true,
		}
		r, err := Run(t.Context(), o)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if text := r.summary(); len(r.Results) != 2 || !strings.Contains(text, "; the heaps are in huge pages") {
			t.Errorf("scale %v: %d results, %q", scale, len(r.Results), text)
		}
	}
}

// A run that stalls for a while is not taken for a run of many operations.
func TestFit(t *testing.T) {
	const want, each, stall = 60 * time.Millisecond, 10 * time.Microsecond, 20 * time.Millisecond
	for stalled := range 6 {
		runs := 0
		count, err := fit(1, want, func(count int) (time.Duration, error) {
			elapsed := time.Duration(count) * each
			if runs++; runs == stalled {
				elapsed += stall
			}
			return elapsed, nil
		})
		if err != nil || count != int(want/each) {
			t.Errorf("run %d stands still: %d operations, %v; want %d", stalled, count, err, want/each)
		}
	}
}

// The results of completed rounds are kept if ctx is done in a later one.
func TestRunKeepsRounds(t *testing.T) {
	address := startPeer(t)
	for _, scale := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		o := &Options{
			Addresses: []string{address}, Ops: []string{"echo"}, Sizes: []int{64}, Depths: []int{1}, Rounds: 3, Time: time.Millisecond,
			Ring: 1 << 20, Conns: []int{2}, Scale: scale, NoGate: true,
			Progress: func(done, total int, _ string) {
				if done > total/3 { // the second round
					cancel()
				}
			},
		}
		r, err := Run(ctx, o)
		cancel()
		if err == nil || r == nil || !r.Incomplete || len(r.Results) == 0 || scale != (len(r.Idles) > 0) {
			t.Fatalf("scale %v: %+v, %v", scale, r, err)
		}
		for _, v := range r.Results {
			if v.Rounds != 1 || v.MsgsPerS <= 0 {
				t.Errorf("scale %v: %+v", scale, v)
			}
		}
		for _, v := range r.Idles {
			if v.Rounds != 1 || v.OpenUS <= 0 {
				t.Errorf("scale %v: %+v", scale, v)
			}
		}
		if summary := r.summary(); !strings.Contains(summary, "medians of 3 rounds of 1ms at most: the measurement is incomplete") {
			t.Errorf("the summary says %q", summary)
		}
	}
}

// Everything also runs with ReadData, even if the servers are the active ends, and the report says
// so.
func TestRunReadData(t *testing.T) {
	address := startPeer(t)
	for _, load := range []string{LoadMultiStream, LoadFanIn} {
		o := &Options{
			Addresses: []string{address}, Load: load, Ops: Ops(), Sizes: []int{64, 100_000}, Depths: []int{1, 4}, Rounds: 1,
			Time: time.Millisecond, Ring: 1 << 20, ReadData: true, PollTime: time.Microsecond,
		}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", load, err)
		}
		for i := range r.Results {
			if v := &r.Results[i]; v.MsgsPerS <= 0 || !v.ReadData {
				t.Errorf("%s: %+v", load, v)
			}
		}
		if text := r.summary(); !strings.Contains(text, "; the data are read; Reads poll for 1µs") {
			t.Errorf("%s: the summary is %q", load, text)
		}
	}
}

// The receiving end reads all data, once for each operation.
func TestReadsData(t *testing.T) {
	for _, reads := range []bool{false, true} {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		h := head{kind: kindBulk, depth: 1, count: 5, size: 96}
		from, to := end{Conn: a, ring: make([]byte, 960)}, end{Conn: b, ring: make([]byte, 960), reads: reads}
		for i := 0; i < len(from.ring); i += 16 {
			from.ring[i] = 1 // in one of the two words that use combines
		}
		failed := make(chan error, 1)
		go func() { failed <- from.writeAll(h) }()
		if err := errors.Join(to.readMessages(h), <-failed); err != nil {
			t.Fatal(err)
		}
		want := uint64(0)
		if reads {
			want = 5 * 96 / 16
		}
		if to.sum != want {
			t.Errorf("reads %v: the sum of the data is %d, want %d", reads, to.sum, want)
		}
	}
}

// In the reversed loads the servers are the active ends, and report latencies.
func TestRunLoads(t *testing.T) {
	peers := []string{startPeer(t), startPeer(t)}
	for _, load := range Loads() {
		t.Run(load, func(t *testing.T) {
			o := &Options{
				Addresses: peers, Load: load, Sizes: []int{1000}, Depths: []int{3}, Posts: []string{PostOne}, Rounds: 1, Time: time.Millisecond,
				Ring: 1 << 16, Conns: []int{2, 3},
			}
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			want := 2 * 10 // all operations except atomics, two references, and atomics with their reference
			if load == LoadHotSpot {
				want = 2 * 3
			}
			if len(r.Results) != want {
				t.Errorf("%d results, want %d", len(r.Results), want)
			}
			for i := range r.Results {
				if v := &r.Results[i]; v.MsgsPerS <= 0 || v.Load != load || load == LoadHotSpot && v.Lat == nil {
					t.Errorf("%+v", v)
				}
			}
		})
	}
}

func TestRunErrors(t *testing.T) {
	address := startPeer(t)
	refused := (*RefusedError)(nil)
	if _, err := Run(t.Context(), &Options{Addresses: []string{address}, CPU: 1 << 20, OneCPU: true}); err == nil {
		t.Error("pinned to a CPU that cannot exist")
	}
	c, err := connect(t.Context(), complete(t, &Options{Addresses: []string{address}}), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if _, err := connect(t.Context(), complete(t, &Options{Addresses: []string{address}, OneCPU: true}), 1); !errors.As(err, &refused) {
		t.Errorf("a second session that pins the process: %v", err)
	}
	c.servers[0].token = "guessed"
	if _, err := c.lane(t.Context(), job{operation: operations[0], size: 1}); !errors.As(err, &refused) {
		t.Errorf("a data connection with a wrong token: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, &Options{Addresses: []string{address}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run with a context that is done: %v", err)
	}
}

// An interrupt ends a long run.
func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	o := &Options{Addresses: []string{startPeer(t)}, Sizes: []int{64}, Rounds: MaxRounds, Time: time.Millisecond, Progress: func(int, int, string) {
		if runs++; runs == 20 {
			cancel()
		}
	}}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

func complete(t *testing.T, o *Options) *Options {
	t.Helper()
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	return o
}

// Each job of a round is a neighbor of its reference.
func TestOrder(t *testing.T) {
	tcp, echo := job{operation: operations[7], size: 1, depth: 1}, job{operation: operations[8], size: 1, depth: 1}
	var jobs []job
	for n := range 9 {
		for _, ref := range []job{tcp, echo} {
			runs := order(ref, jobs)
			counted := 0
			for i, j := range runs {
				if j == ref {
					continue
				}
				counted++
				if near := nearest(runs, ref, i); near != i-1 && near != i+1 || j.reference() != ref {
					t.Errorf("%d jobs: the reference %v of run %d, %v, is run %d", n, ref, i, j, near)
				}
			}
			if want := map[job]int{tcp: n, echo: 0}[ref]; counted != want || !slices.Contains(runs, ref) {
				t.Errorf("%d jobs: %d runs beside %v: %v", n, counted, ref, runs)
			}
		}
		jobs = append(jobs, job{operation: operations[0], size: 1, depth: n + 1})
	}
}
