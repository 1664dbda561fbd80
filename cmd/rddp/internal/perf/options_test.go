package perf

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSizes(t *testing.T) {
	if got, err := ParseSizes("64, 4k,1M"); err != nil || !slices.Equal(got, []int{64, 4096, 1 << 20}) {
		t.Errorf("ParseSizes = %v, %v", got, err)
	}
	for _, list := range []string{"", "0", "-1", "1g", "k", "64,", "65m", "99999999999999999999", "9007199254740993k"} {
		wrong := (*OptionError)(nil)
		if got, err := ParseSizes(list); !errors.As(err, &wrong) || wrong.Option != "size" {
			t.Errorf("ParseSizes(%q) = %v, %v", list, got, err)
		}
	}
}

func TestOptionErrors(t *testing.T) {
	tests := []struct {
		option, text string
		o            Options
	}{
		{"op", `"scream" is not one of`, Options{Ops: []string{"scream"}}},
		{"op", "write is not an echo", Options{Ops: []string{"write"}, Load: LoadHotSpot}},
		{"size", "0 is not between", Options{Sizes: []int{0}}},
		{"size", "is not between", Options{Sizes: []int{MaxSize + 1}}},
		{"depth", "-1 is not", Options{Depths: []int{-1}}},
		{"post", `"all"`, Options{Posts: []string{"all"}}},
		{"load", `"heavy"`, Options{Load: "heavy"}},
		{"conns", "-1 is not", Options{Conns: []int{-1}}},
		{"conns", "1 connections cannot reach 2 servers", Options{Conns: []int{1}, Addresses: []string{"a", "b"}}},
		{"conns", "need more than", Options{Conns: []int{2000}}},
		{"scale", "fan-in", Options{Scale: true, Load: LoadFanIn}},
		{"rounds", "-1", Options{Rounds: -1}},
		{"time", "1µs", Options{Time: time.Microsecond}},
		{"ring", "-1", Options{Ring: -1}},
		{"buffer", "-1", Options{Buffer: -1}},
		{"poll", "1m0s", Options{PollTime: time.Minute}},
		{"timeout", "is not longer than", Options{Time: time.Second, Timeout: time.Second}},
		{"timeout", "is longer than", Options{Timeout: time.Hour}},
	}
	for _, tt := range tests {
		wrong := (*OptionError)(nil)
		if err := tt.o.Complete(); !errors.As(err, &wrong) || wrong.Option != tt.option || !strings.Contains(wrong.Reason, tt.text) {
			t.Errorf("Complete of %+v: %v, want --%s: … %s", tt.o, err, tt.option, tt.text)
		}
	}
	if err := new(Options).Complete(); err != nil {
		t.Errorf("the zero Options: %v", err)
	}
}
