package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// In each round every contender runs once. Over the rounds each one takes each place, and each pair
// of neighbors runs in both orders.
func TestOrder(t *testing.T) {
	all := contenders(opWrite)
	first := make(map[*contender]int)
	for round := range 2 * len(all) {
		now := order(all, round)
		if len(now) != len(all) {
			t.Fatalf("round %d: %d contenders, want %d", round, len(now), len(all))
		}
		for _, c := range all {
			if !slices.Contains(now, c) {
				t.Errorf("round %d leaves out %s", round, c.name)
			}
		}
		if round%2 == 1 {
			before := order(all, round-1)
			slices.Reverse(before)
			if !slices.Equal(now, before) {
				t.Errorf("round %d is not the one before it backwards", round)
			}
		}
		first[now[0]]++
	}
	for _, c := range all {
		if first[c] != 2 {
			t.Errorf("%s comes first %d times, want 2", c.name, first[c])
		}
	}
}

// Each series has a row, and each row has contenders that measure its series.
func TestRows(t *testing.T) {
	measured := make(map[key]bool)
	for _, op := range operations {
		for _, c := range contenders(op) {
			for _, s := range c.series {
				measured[key{op, s, 0}] = true
			}
		}
	}
	shown := make(map[key]bool)
	goals := 0
	for _, r := range rows(operations) {
		for _, s := range []string{r.ours, r.peer} {
			shown[key{r.op, s, 0}] = true
			if !measured[key{r.op, s, 0}] {
				t.Errorf("nothing measures %s of %+v", s, r)
			}
		}
		if r.goal != nil {
			goals++
		}
	}
	for k := range measured {
		if !shown[k] {
			t.Errorf("no row shows %+v", k)
		}
	}
	if goals != 10 {
		t.Errorf("%d rows with goals, want 10", goals)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{math.NaN()}, spread{}},
		{[]float64{3}, spread{3, 3, 3, 1}},
		{[]float64{9, 1, math.NaN(), 2}, spread{2, 1, 9, 3}},
		{[]float64{4, 1, 2, 9}, spread{3, 1, 9, 4}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("spreadOf(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func sample() *bench {
	b := &bench{ops: []operation{opWrite, opLatency}, sizes: []int{64, 1 << 20}, rounds: 3, cpu: -1}
	b.absent = map[string]string{"fi_rma_bw writedata": notInstalled, "fi_rma_bw write, sum of both ways": notInstalled, "fi_rma_bw write, one way of two": notInstalled}
	b.values = map[key][]float64{
		{opWrite, "RDMA Write, CRC off", 64}:      {20e6, 40e6, 10e6},
		{opWrite, "UCX ucp_put_bw", 64}:           {10e6, 10e6, 10e6},
		{opWrite, "RDMA Write, CRC off", 1 << 20}: {1e9, 1e9, 1e9},
		{opWrite, "UCX ucp_put_bw", 1 << 20}:      {2e9, math.NaN(), 4e9},
		{opLatency, "message, CRC off", 64}:       {5e-6, 6e-6, 7e-6},

		{opLatency, "message, polling, CRC off", 64}:     {5e-6, 6e-6, 7e-6},
		{opLatency, "byte stream, polling, CRC off", 64}: {5.75e-6, 5.75e-6, 5.75e-6},

		{opLatency, "UCX tag_lat", 64}:      {5e-6, 5e-6, 5e-6},
		{opLatency, "UCX tag_lat", 1 << 20}: {math.NaN(), math.NaN(), math.NaN()},
		{opLatency, "fi_pingpong", 64}:      {1e-6, 1e-6, 1e-6},
	}
	return b
}

func TestTables(t *testing.T) {
	b := sample()
	var w strings.Builder
	b.writeRatios(&w)
	b.writeFigures(&w)
	for _, want := range []string{
		"| operation | rddp | next to | 64 B | 1 MiB | goal |\n| --- | --- | --- | --- | --- | --- |\n",
		"| write | RDMA Write, CRC off | UCX ucp_put_bw | 2.00 (1.00–4.00) | 0.38 (0.25–0.50), 2 of 3 rounds | > 1 up to 64 KiB: reached |\n",
		"| write | RDMA Write, CRC off | fi_rma_bw writedata | not installed | not installed | > 1 up to 64 KiB: not measured |\n",
		"| latency (less is better) | message, CRC off | UCX tag_lat | 1.20 (1.00–1.40) | failed |  |\n",
		"| latency (less is better) | message, polling, CRC off | UCX tag_lat | 1.20 (1.00–1.40) | failed | ≤ 1.15 up to 64 B: missed at 64 B |\n",
		"| latency (less is better) | byte stream, polling, CRC off | UCX tag_lat | 1.15 (1.15–1.15) | failed | ≤ 1.15 up to 64 B: reached |\n",
		"| write | RDMA Write, CRC off | 20.0 MB/s, 312 k/s | 1000 MB/s, 0.95 k/s |\n",
		"| latency | UCX tag_lat | 5.00 µs | failed |\n",
		"| latency | fi_pingpong | 1.00 µs | – |\n",
	} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, &w)
		}
	}
}

// A ratio of exactly 1 is not more than 1.
func TestGoalAtLimit(t *testing.T) {
	b := sample()
	b.values[key{opWrite, "UCX ucp_put_bw", 64}] = b.values[key{opWrite, "RDMA Write, CRC off", 64}]
	r := rows(b.ops)[0]
	if got, want := b.outcome(r), "> 1 up to 64 KiB: missed at 64 B"; got != want {
		t.Errorf("%+v: %q, want %q", r, got, want)
	}
}

// On a busy machine no goal counts as reached or missed.
func TestGoalBusy(t *testing.T) {
	b := sample()
	b.loads = []float64{0, 0.5, 0.6}
	r := rows(b.ops)[0]
	if got, want := b.outcome(r), "> 1 up to 64 KiB: the machine was too busy"; got != want {
		t.Errorf("%+v: %q, want %q", r, got, want)
	}
}

func TestParseArgs(t *testing.T) {
	b, cpus, document, err := parseArgs([]string{"-modes", "all", "-sizes", "64,4096", "-ops", "read", "-document", "f"}, &strings.Builder{})
	if err != nil || !slices.Equal(cpus, []int{-1}) || document != "f" || !slices.Equal(b.sizes, []int{64, 4096}) || !slices.Equal(b.ops, []operation{opRead}) {
		t.Errorf("%+v, %v, %q, %v", b, cpus, document, err)
	}
	for _, args := range []string{"-sizes 0", "-sizes 64,,1", "-sizes 2000000", "-ops walk", "-modes two", "-rounds 0", "-time 20s", "-timeout 1s", "more", "-none"} {
		if _, _, _, err := parseArgs(strings.Fields(args), &strings.Builder{}); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
	for list, want := range map[string]int{"0-3,8": 8, "0-1": 1, "5": 5, "": 0} {
		if got := highestCPU(list); got != want {
			t.Errorf("highestCPU(%q) = %d, want %d", list, got, want)
		}
	}
}
