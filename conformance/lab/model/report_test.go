package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Links: []string{"3"}}, `-link: "3" is not one of e-udp, 1, 2, 10, 100, 400`},
		{Options{Sizes: []int{1, 0}}, "-size: 0 is not between"},
		{Options{Sizes: []int{MaxSize + 1}}, "-size: 67108865 is not between"},
	} {
		_, err := Run(t.Context(), test.o)
		wrong := (*OptionError)(nil)
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.o, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run after the end of its context: %v", err)
	}
}

// Without options there are five links, eleven sizes and both pipelinings, and the simulation
// agrees with the model within 5 %, as the E-UDP paper reports for its hardware.
func TestDefaults(t *testing.T) {
	for _, separate := range []bool{false, true} {
		r, err := Run(t.Context(), Options{Separate: separate})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Links) != 5 || len(r.Results) != 5*11*2 {
			t.Fatalf("%d links, %d results", len(r.Links), len(r.Results))
		}
		if worst := r.Worst(); !(worst < 5) {
			t.Errorf("separate checksum %t: simulation and model differ by %v %%", separate, worst)
		}
		for _, v := range r.Results {
			if v.OfLink <= 0 || v.OfLink > 1 || v.Threshold < 1 || v.Threshold > v.Size || v.Bottleneck == "" {
				t.Errorf("%+v", v)
			}
		}
	}
}

// One result, in all its forms. The figures are those of the E-UDP testbed: 44.7 µs for a byte and
// 951 Mb/s.
func TestForms(t *testing.T) {
	r, err := Run(t.Context(), Options{Links: []string{"E-UDP"}, Sizes: []int{1, 32 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Results[1].LatencyUS; math.Abs(got-44.7) > 0.5 {
		t.Errorf("a byte takes %v µs", got)
	}
	if got := r.Results[3].BytesPerS * 8e-6; math.Abs(got-951) > 1 {
		t.Errorf("the bandwidth is %v Mb/s", got)
	}
	var text, lines bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&lines)); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(text.String(), "\n")
	for i, want := range map[int]string{
		0: "E-UDP: bus 1.0 Gb/s, link 1.3 Gb/s (a packet may pause), packets of 32 KiB, fragments of 1 KiB, checksum in the DMA",
		1: "size coarse µs fine µs saved coarse Gb/s fine Gb/s of the link limit threshold simulation",
		2: "1 B 44.957 44.957 0 % 0.001 0.001 0 % SDMA 1 B 0.000 %",
		3: "32 KiB 770.353 319.779 58 % 0.951 0.951 74 % SDMA 1 KiB 0.000 %",
	} {
		if got := strings.Join(strings.Fields(rows[i]), " "); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	var kinds []string
	for s := bufio.NewScanner(&lines); s.Scan(); {
		var of struct {
			Kind, Link, Pipelining string
			Size                   int
			MaxPacket              int     `json:"max_packet"`
			Latency                float64 `json:"latency_us"`
		}
		if err := json.Unmarshal(s.Bytes(), &of); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		kinds = append(kinds, of.Kind)
		if of.Link != "E-UDP" || of.Kind == "result" && (of.Latency <= 0 || of.Pipelining == "") || of.Kind == "parameters" && of.MaxPacket != 32<<10 {
			t.Errorf("%s", s.Text())
		}
	}
	if got := strings.Join(kinds, " "); got != "parameters result result result result" {
		t.Errorf("JSON objects: %s", got)
	}
}
