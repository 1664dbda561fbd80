package main

import (
	"strings"
	"testing"
)

const procStat = "cpu  200 10 300 4000 50 6 7 8 0 0\ncpu0 100 5 150 2000 25 3 3 4 0 0\n"

func TestParseStat(t *testing.T) {
	for cpu, want := range map[int]ticks{-1: {200 + 10 + 300 + 6 + 7 + 8, 4581}, 0: {100 + 5 + 150 + 3 + 3 + 4, 2290}, 1: {}} {
		if got, known := parseStat(procStat, cpu); got != want || known != (want != ticks{}) {
			t.Errorf("CPU %d: %+v, %v, want %+v", cpu, got, known, want)
		}
	}
	for _, text := range []string{"", "cpu 1 2 3\n", "intr 1 2 3 4 5 6 7 8 9 10\n", "cpu 1 2 3 4 5 6 7 x 9 10\n", "cpu 1 2 3 4 5 6 7 -8 9 10\n"} {
		if got, known := parseStat(text, -1); known || got != (ticks{}) {
			t.Errorf("%q: %+v, %v", text, got, known)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(procStat, -1)
	f.Add(procStat, 0)
	f.Fuzz(func(t *testing.T, text string, cpu int) {
		if got, known := parseStat(text, cpu); known && got.busy > got.total {
			t.Errorf("%+v", got)
		}
	})
}

func TestLoadText(t *testing.T) {
	for _, c := range []struct {
		loads []float64
		want  string
	}{
		{nil, ""},
		{[]float64{0.01, 0, 0.5}, "other work used 1 % of the processor time (median of 3 looks; between 0 and 50 %)."},
		{[]float64{0.3}, "too busy"},
	} {
		b := &bench{loads: c.loads, cpu: -1}
		if got := b.loadText(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "too busy") != (c.want == "too busy") {
			t.Errorf("%v: %q, want %q", c.loads, got, c.want)
		}
	}
}
