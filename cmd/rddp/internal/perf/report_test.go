package perf

import (
	"bufio"
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sample returns a report in which all fields are used.
func sample() *Report {
	return &Report{
		Date: time.Unix(1, 0).UTC(), System: "test/none", Machine: "Abacus", CPUs: 2, Servers: []string{"<b>&host</b>:1"}, Load: LoadMultiStream, Conns: []int{1}, Rounds: 3,
		Time: time.Second, Congestion: "<script>", Buffer: 4096, OneCPU: true, CPU: 1, Cold: []Cold{{5 * time.Millisecond, fewPages, 484, 7}},
		Results: []Result{
			{Op: "tcp", Size: 64, Depth: 1, Conns: 1, Rounds: 3, Seconds: 1, BytesPerS: 1e9, MsgsPerS: 15e6, CPUPerGB: 0.5},
			{Op: "tcp", Size: 4096, Depth: 1, Conns: 1, Rounds: 3, Seconds: 1, BytesPerS: 2e9, MsgsPerS: 5e5, CPUPerGB: 0.5},
			{Op: "write", CRC: "off", Size: 64, Depth: 16, Post: PostBatch, Reference: "tcp", MsgsPerS: 1, MsgsSpread: []float64{0.5, 2}, BytesPerS: 64, RatioToTCP: 2, RatioSpread: []float64{1, 3}, RatioQuartiles: []float64{1.5, 2.5},
				CPUPerOp: 10, CPUPerGB: 156, CPUHere: &CPUTime{1, 2}, CPUThere: &CPUTime{3, 4.25}, CPURatioToTCP: 1.75, CPURatioSpread: []float64{1.25, 2.25}, CPURatioQuartiles: []float64{1.5, 2}},
			{Op: "echo", CRC: "on", Size: 64, Depth: 1, Pause: 5 * time.Millisecond, Reference: "tcp-echo", MsgsPerS: 1e4, BytesPerS: 64e4, RatioToTCP: 0.9, Lat: &Latency{1, 2, 3, 4, 5}},
		},
		Idles: []Idle{
			{Conns: 64, Over: "tcp", Rounds: 3, OpenUS: 10, OpenLat: &Latency{1, 2, 3, 4, 5}, Here: &Memory{4e3, 3e3, 2e3}, There: &Memory{1, 2, 3}},
			{Conns: 64, Over: "stream", CRC: "on", OpenUS: 47.5, OpenRatio: 4.75, OpenSpread: []float64{4, 5}, Here: &Memory{7e3, 2, 3},
				HereBeyond: &Memory{3e3, 2e4, 345}},
		},
	}
}

// The first line contains the settings, and each line has a kind.
func TestJSONRoundTrip(t *testing.T) {
	want := sample()
	var b bytes.Buffer
	if err := want.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	got := &Report{}
	for lines := bufio.NewScanner(&b); lines.Scan(); {
		var of struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &of); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		var err error
		switch of.Kind {
		case KindSettings:
			if got.Rounds != 0 {
				t.Errorf("settings again: %s", lines.Text())
			}
			err = json.Unmarshal(lines.Bytes(), got)
		case KindResult:
			got.Results = append(got.Results, Result{})
			err = json.Unmarshal(lines.Bytes(), &got.Results[len(got.Results)-1])
		case KindIdle:
			got.Idles = append(got.Idles, Idle{})
			err = json.Unmarshal(lines.Bytes(), &got.Idles[len(got.Idles)-1])
		default:
			t.Errorf("kind %q: %s", of.Kind, lines.Text())
		}
		if err != nil || got.Rounds == 0 {
			t.Fatalf("%s: %v, or not behind the settings", lines.Text(), err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The names of the JSON fields are an interface for programs.
func TestJSONNames(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{Results: sample().Results[3:], Machine: "m"}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kind", "date", "system", "machine", "cpus", "rounds", "time_ns", "ring", "op", "crc", "depth", "ratio_to_tcp", "size", "seconds", "bytes_per_s", "msgs_per_s", "lat_us", "p50", "p90", "p99", "max"} {
		if !strings.Contains(b.String(), `"`+name+`":`) {
			t.Errorf("no field %s in %s", name, &b)
		}
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(Abacus)", "pinned to CPU 1", "484 ns after 5ms (in a huge page 7)", "x TCP", "1.00–3.00", "4.00    6.25         1.75  1.25–2.25", "the memory of an idle one", "4.75", "4.00–5.00", "20.3"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
