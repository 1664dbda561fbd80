package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newBench(rddp string) *bench {
	return &bench{
		rddp: rddp, ops: operations, sizes: []int{64}, rounds: 2, time: time.Millisecond, timeout: time.Minute, cpu: -1, log: io.Discard,
		lookTime: 30 * time.Millisecond,
	}
}

// Every series gets a figure in every round.
func TestBench(t *testing.T) {
	b := newBench(tools(t, "ucx_perftest", "fi_pingpong", "fi_rma_bw", "iperf3"))
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := b.rounds * len(b.sizes); len(b.loads) != want {
		t.Errorf("%d looks at the load, want %d", len(b.loads), want)
	}
	if len(b.failures) > 0 {
		t.Errorf("failures: %v", b.failures)
	}
	for name, why := range b.absent {
		if !strings.HasSuffix(name, sleeps) || why != otherMode {
			t.Errorf("%s: %s", name, why)
		}
	}
	for _, r := range rows(b.ops) {
		if !b.shown(r) {
			continue
		}
		for _, size := range b.sizes {
			if s := b.ratio(r.op, r.ours, r.peer, size); s.rounds != b.rounds || s.median <= 0 {
				t.Errorf("%+v, %d bytes: %+v", r, size, s)
			}
		}
	}
	for _, c := range []struct {
		op   operation
		name string
		want float64
	}{
		{opWrite, plainTCP, 64 * 1000},
		{opWrite, "RDMA Write, PostBatch, CRC off", 64 * 40000},
		{opWrite, "UCX ucp_put_bw", 64 * 32605},
		{opWrite, "fi_rma_bw writedata", 387.86e6},
		{opWrite, "fi_rma_bw write, one way of two", 387.86e6},
		{opWrite, "fi_rma_bw write injected, one way of two", 387.86e6},
		{opWrite, "fi_rma_bw write, sum of both ways", 387.86e6 + 245.69e6},
		{opLatency, "message", 1.0 / 2000 / 2},
		{opLatency, "message, polling", 1.0 / 6000 / 2},
		{opLatency, "byte stream, polling, CRC off", 1.0 / 12000 / 2},
		{opLatency, "UCX tag_lat", 30.670e-6},
		{opLatency, "fi_pingpong", 55.90e-6},
		{opStream, "iperf3", 3790560136.934804 / 8},
	} {
		if got := spreadOf(b.values[key{c.op, c.name, 64}]).median; !near(got, c.want) {
			t.Errorf("%s, %s: %v, want %v", c.op, c.name, got, c.want)
		}
	}
}

// Only small data are injected.
func TestLargestSize(t *testing.T) {
	b := newBench(tools(t, "ucx_perftest", "fi_pingpong", "fi_rma_bw", "iperf3"))
	b.rounds, b.sizes, b.ops = 1, []int{127, 128}, []operation{opWrite}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const name = "fi_rma_bw write injected, one way of two"
	if got := len(b.values[key{opWrite, name, 127}]); got != 1 {
		t.Errorf("%d runs with 127 bytes, want 1", got)
	}
	if got := b.figure(opWrite, name, 128); got != notRun {
		t.Errorf("%q with 128 bytes, want %q", got, notRun)
	}
}

// A run takes about its time, moves at least its volume, and is never too short.
func TestCounted(t *testing.T) {
	b := &bench{time: time.Second, timeout: time.Minute, counts: make(map[countKey]int)}
	for _, c := range []struct {
		perOp  float64 // seconds
		volume int
		want   int
	}{
		{1e-3, 0, 1000},
		{1e-6, 0, 1000000},
		{10, 0, fewest},
		{1e-3, 4 << 20, 65536},
		{1e-3, 640, 1000},
	} {
		var counts []int
		run := func(_ context.Context, n int) (figures, float64, error) {
			counts = append(counts, n)
			return figures{"a": float64(n)}, c.perOp * float64(n), nil
		}
		k := &contender{volume: c.volume}
		for range 2 {
			f, err := b.counted(t.Context(), k, 64, run)
			if last := counts[len(counts)-1]; err != nil || f["a"] != float64(last) || last < c.want*99/100 || last > c.want*101/100 {
				t.Errorf("%+v: %d operations, figures %v, %v", c, last, f, err)
			}
		}
		if len(counts) > 6 || counts[len(counts)-1] != counts[len(counts)-2] {
			t.Errorf("%+v: runs of %v operations", c, counts)
		}
	}
}

// fi_rma_bw has no package in Debian. Without it there are rows that say so.
func TestOptionalToolMissing(t *testing.T) {
	b := newBench(tools(t, "ucx_perftest", "fi_pingpong", "iperf3"))
	b.rounds, b.ops = 1, []operation{opRead, opWrite}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var w strings.Builder
	b.writeRatios(&w)
	for _, want := range []string{
		"| write | RDMA Write, CRC off | fi_rma_bw writedata | not installed | > 1 up to 64 KiB: not measured |",
		"| read | RDMA Read | fi_rma_bw read, sum of both ways | not installed |",
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, &w)
		}
	}
}

func TestToolMissing(t *testing.T) {
	all := []string{"ucx_perftest", "fi_pingpong", "iperf3", "taskset"}
	for _, missing := range all {
		b := newBench(tools(t, slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == missing })...))
		b.cpu = 0
		want := (*notInstalledError)(nil)
		if err := b.run(t.Context()); !errors.As(err, &want) || want.Tool != missing || want.Package == "" {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// On one CPU, taskset starts all processes, and peers sleep instead of polling.
func TestOneCPU(t *testing.T) {
	b := newBench(tools(t, "ucx_perftest", "fi_pingpong", "iperf3", "taskset"))
	b.cpu = 1 << 20 // the fake taskset ignores it
	b.rounds = 1
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var w strings.Builder
	b.writeRatios(&w)
	b.writeFigures(&w)
	for _, want := range []string{
		"| write | UCX ucp_put_bw, sleeping | 2.09 MB/s, 32.6 k/s |\n", "| write | fi_rma_bw writedata, sleeping | not installed |\n",
		"| latency | UCX tag_lat, sleeping | 30.7 µs |\n", "| stream | iperf3 | 474 MB/s, 7403 k/s |\n",
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, &w)
		}
	}
	for _, polls := range []string{"UCX ucp_put_bw |", "UCX ucp_get", "UCX tag_bw |", "UCX tag_lat |", "fi_rma_bw writedata |", "fi_pingpong", "message, polling", "byte stream, polling"} {
		if strings.Contains(w.String(), polls) {
			t.Errorf("%q in\n%s", polls, &w)
		}
	}
}

// Runs of a peer that fail are reported, and the table says so. A failure of rddp ends the
// measurement.
func TestRunFails(t *testing.T) {
	b := newBench(tools(t, "ucx_perftest", "fi_pingpong", "iperf3"))
	t.Setenv("PEERS_FAIL", "ucx_perftest")
	b.ops = []operation{opSend}
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := b.rounds * len(b.sizes); len(b.failures) != n || !strings.Contains(b.failures[0].Error(), "ucx_perftest fails") {
		t.Errorf("%d failures, want %d: %v", len(b.failures), n, b.failures)
	}
	var w strings.Builder
	b.writeRatios(&w)
	if want := "| send | Send | UCX tag_bw | failed |  |"; !strings.Contains(w.String(), want) {
		t.Errorf("no %q in\n%s", want, &w)
	}
	t.Setenv("PEERS_FAIL", "rddp")
	wrong := (*runError)(nil)
	if err := b.run(t.Context()); !errors.As(err, &wrong) || wrong.Contender != "rddp send" || wrong.Size != 64 {
		t.Errorf("rddp fails: %v", err)
	}
}

// A run that does not end fails at its deadline, and leaves no process.
func TestDeadline(t *testing.T) {
	tools(t, "iperf3")
	t.Setenv("PEERS_STALL", "iperf3")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	p := pair{
		server: func(int) []string { return []string{"iperf3", "-s"} },
		client: func(int) []string { panic("BUG: the client has no server") },
	}
	_, _, err := p.run(ctx)
	wrong := (*processError)(nil)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Command, "iperf3") {
		t.Errorf("%v", err)
	}
	noChildren(t, "the server does not listen")
}

// If the client fails, the server ends with it.
func TestClientFails(t *testing.T) {
	tools(t, "ucx_perftest", "iperf3")
	t.Setenv("PEERS_FAIL", "iperf3")
	p := pair{
		server: func(int) []string { return []string{"ucx_perftest", "-p", "0"} },
		client: func(int) []string { return []string{"iperf3", "-c", "127.0.0.1"} },
	}
	_, _, err := p.run(t.Context())
	wrong := (*processError)(nil)
	if !errors.As(err, &wrong) || wrong.Command != "iperf3 -c 127.0.0.1" || wrong.Stderr != "iperf3 fails" {
		t.Errorf("%v", err)
	}
	noChildren(t, "the client fails")
}

// noChildren checks that this process has no children, not even ended ones.
func noChildren(t *testing.T, desc string) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("%s: a process is left: %d, %v", desc, pid, err)
	}
}

// If a server ends without listening, the run does not wait for it.
func TestServerEnds(t *testing.T) {
	tools(t, "ucx_perftest")
	t.Setenv("PEERS_FAIL", "ucx_perftest")
	p := pair{
		server: func(int) []string { return []string{"ucx_perftest", "-p", "0"} },
		client: func(int) []string { panic("BUG: the client has no server") },
	}
	_, _, err := p.run(t.Context())
	exit := (*exec.ExitError)(nil)
	if !errors.Is(err, errNoPort) || !errors.As(err, &exit) || !strings.Contains(err.Error(), "ucx_perftest fails") {
		t.Errorf("%v", err)
	}
}
