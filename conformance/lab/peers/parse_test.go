package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The files in testdata are outputs of the tools: ucx_perftest 1.13.1, fi_pingpong 1.17.0,
// fi_rma_bw of fabtests 1.17.0, iperf3 3.12, and rddp perf.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func TestParseUCX(t *testing.T) {
	for _, c := range []struct {
		file string
		want ucxResult
	}{
		{"ucx-put_bw.txt", ucxResult{30.670e-6, 32605}},
		{"ucx-get.txt", ucxResult{53.317e-6, 18756}},
		{"ucx-tag_lat.txt", ucxResult{3599.521e-6, 278}},
	} {
		r, err := parseUCX(recorded(t, c.file))
		if err != nil || !near(r.Latency, c.want.Latency) || !near(r.Rate, c.want.Rate) {
			t.Errorf("%s: %+v, %v, want %+v", c.file, r, err, c.want)
		}
	}
}

func TestParseFabric(t *testing.T) {
	for _, c := range []struct {
		file string
		want fabricResult
	}{
		{"rma-write-client.txt", fabricResult{387.86e6, 10.56e-6}},
		{"rma-write-server.txt", fabricResult{245.69e6, 16.67e-6}},
		{"pingpong.txt", fabricResult{1.14e6, 55.90e-6}},
	} {
		r, err := parseFabric("fi", recorded(t, c.file))
		if err != nil || !near(r.Latency, c.want.Latency) || !near(r.Rate, c.want.Rate) {
			t.Errorf("%s: %+v, %v, want %+v", c.file, r, err, c.want)
		}
	}
}

func TestParseIperf(t *testing.T) {
	rate, err := parseIperf(recorded(t, "iperf.json"))
	if want := 3790560136.934804 / 8; err != nil || !near(rate, want) {
		t.Errorf("%v, %v, want %v", rate, err, want)
	}
	_, err = parseIperf(recorded(t, "iperf-refused.json"))
	if wrong := (*outputError)(nil); !errors.As(err, &wrong) || wrong.Reason != `it reports "unable to connect to server: Connection refused"` {
		t.Errorf("refused: %v", err)
	}
}

func TestParsePerf(t *testing.T) {
	results, err := parsePerf(recorded(t, "perf-write.json"))
	if err != nil || len(results) != 5 {
		t.Fatalf("%d results, %v, want 5", len(results), err)
	}
	if want := (perfResult{"write", "off", 64, 32, "batch", 1774303.3103422543}); results[4] != want {
		t.Errorf("%+v, want %+v", results[4], want)
	}
	// Other objects may come before and after the results.
	more := append([]byte(`{"kind":"report","date":"2026-01-02T03:04:05Z","cpus":2}`+"\n"), recorded(t, "perf-write.json")...)
	if again, err := parsePerf(more); err != nil || len(again) != 5 {
		t.Errorf("behind another object: %d results, %v", len(again), err)
	}
}

// A truncated output is an error, or fewer results for a program that prints one object per line.
func TestParseTruncated(t *testing.T) {
	for _, c := range []struct {
		file  string
		parse func([]byte) error
	}{
		{"ucx-put_bw.txt", func(b []byte) error { _, err := parseUCX(b); return err }},
		{"rma-write-client.txt", func(b []byte) error { _, err := parseFabric("fi", b); return err }},
		{"iperf.json", func(b []byte) error { _, err := parseIperf(bytes.TrimSpace(b)); return err }},
		{"perf-write.json", func(b []byte) error {
			results, err := parsePerf(b)
			if err == nil && len(results) < 5 {
				_, err = contenders(opWrite)[0].perfFigures(map[string]string{"write": "RDMA Write"}, 64, results)
			}
			return err
		}},
	} {
		whole := recorded(t, c.file)
		if err := c.parse(whole); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
		for n := range len(bytes.TrimSpace(whole)) {
			wrong := (*outputError)(nil)
			if err := c.parse(whole[:n]); !errors.As(err, &wrong) {
				t.Errorf("%s: %d of %d bytes: %v", c.file, n, len(whole), err)
			}
		}
	}
}

// Figures that would spoil a median are errors.
func TestParseRefuses(t *testing.T) {
	const names = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
	for _, line := range []string{
		"64 50k 3m 0.35s nan 7.03 0.14\n", "64 50k 3m 0.35s 0.00 7.03 0.14\n", "64 50k 3m 0.35s -1 7.03 0.14\n", "64 50k 3m 0.35s inf 7.03 0.14\n",
		"64 50k 3m 0.35s 9.11 7.03\n", "64 50k 3m 0.35s 9.11 x 0.14\n", "64 50k 3m 0.35s 9.11 7.03 0.14\nmore\n",
	} {
		if r, err := parseFabric("fi", []byte(names+line)); err == nil {
			t.Errorf("%q: %+v", line, r)
		}
	}
	for _, text := range []string{
		"iterations,overall_lat,overall_mr\n5,0,7\n", "iterations,overall_lat,overall_mr\n5,1\n", "iterations,overall_lat\n5,1\n",
		"[1795352849.799952] [vm:11783:0]        perftest.c:405  UCX  ERROR client failed. connect() failed: Connection refused\n",
	} {
		if r, err := parseUCX([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func checkFigures(t *testing.T, err error, values ...float64) {
	t.Helper()
	if wrong := (*outputError)(nil); err != nil && !errors.As(err, &wrong) {
		t.Errorf("%T: %v", err, err)
	}
	for _, v := range values {
		if err == nil && !(v > 0 && v < math.MaxFloat64) {
			t.Errorf("a figure of %v", v)
		}
	}
}

func FuzzParseUCX(f *testing.F) {
	for _, name := range []string{"ucx-put_bw.txt", "ucx-get.txt", "ucx-tag_lat.txt"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := parseUCX(out)
		checkFigures(t, err, r.Latency, r.Rate)
	})
}

func FuzzParseFabric(f *testing.F) {
	for _, name := range []string{"rma-write-client.txt", "rma-write-server.txt", "pingpong.txt"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := parseFabric("fi", out)
		checkFigures(t, err, r.Latency, r.Rate)
	})
}

func FuzzParseIperf(f *testing.F) {
	for _, name := range []string{"iperf.json", "iperf-refused.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		rate, err := parseIperf(out)
		checkFigures(t, err, rate)
	})
}

func FuzzParsePerf(f *testing.F) {
	for _, name := range []string{"perf-write.json", "perf-latency.json"} {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		results, err := parsePerf(out)
		checkFigures(t, err)
		for _, r := range results {
			checkFigures(t, err, r.MsgsPerS)
			if err == nil && (r.Op == "" || r.Size < 1) {
				t.Errorf("a result %+v", r)
			}
		}
	})
}
