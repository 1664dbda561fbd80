package pipeline

import (
	"errors"
	"testing"
	"time"
)

func TestValidate(t *testing.T) {
	for _, p := range Presets() {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	for _, test := range []struct {
		field  string
		change func(*Params)
	}{
		{"MaxPacket", func(p *Params) { p.MaxPacket = 0 }},
		{"Fragment", func(p *Params) { p.Fragment = 0 }},
		{"Threshold", func(p *Params) { p.Threshold = -1 }},
		{"HostQueue", func(p *Params) { p.HostQueue = -1 }},
		{"EngineQueue", func(p *Params) { p.EngineQueue = 0 }},
		{"Post", func(p *Params) { p.Post = -1 }},
		{"Notify", func(p *Params) { p.Notify = -1 }},
		{"Checksum", func(p *Params) { p.Checksum = -1 }},
		{"Refill", func(p *Params) { p.Refill = -1 }},
		{"ReadHost.PerPacket", func(p *Params) { p.ReadHost.PerPacket = -1 }},
		{"WriteHost.PerByte", func(p *Params) { p.WriteHost.PerByte = -1 }},
		{"Engine.Delay", func(p *Params) { p.Engine.Delay = -1 }},
		{"Link.PerByte", func(p *Params) { p.Link.PerByte = -1 }},
	} {
		p := Presets()[0]
		test.change(&p)
		wrong := (*ParamError)(nil)
		if _, err := NewSim(p, Fine); !errors.As(err, &wrong) || wrong.Field != test.field {
			t.Errorf("NewSim with a wrong %s: %v", test.field, err)
		}
		if _, err := NewModel(p, Fine); !errors.As(err, &wrong) || wrong.Field != test.field {
			t.Errorf("NewModel with a wrong %s: %v", test.field, err)
		}
	}
}

// The links of the presets have the rates of their names, and the bus rates that the comment of
// Presets derives.
func TestPresets(t *testing.T) {
	for i, want := range []struct {
		name    string
		bit     float64 // Gb/s
		perByte Time    // of the bus
	}{
		{"E-UDP", 1.28, 7944}, {"1 Gb/s", 1, 7944}, {"2 Gb/s", 2, 1986}, {"10 Gb/s", 10, 993}, {"100 Gb/s", 100, 70}, {"400 Gb/s", 400, 18},
	} {
		p := Presets()[i]
		if got := 8000 / float64(p.Link.PerByte); p.Name != want.name || got != want.bit {
			t.Errorf("%s has a link of %v Gb/s, want %s with %v", p.Name, got, want.name, want.bit)
		}
		if p.ReadHost.PerByte != want.perByte || p.WriteHost.PerByte != want.perByte {
			t.Errorf("%s: a byte takes %d and %d ps on the bus, want %d", p.Name, p.ReadHost.PerByte, p.WriteHost.PerByte, want.perByte)
		}
	}
}

func TestMinThreshold(t *testing.T) {
	p := Params{MaxPacket: 1000, Fragment: 10, EngineQueue: 1, ReadHost: Cost{PerByte: 4}, Link: Cost{PerByte: 1}}
	for _, test := range []struct {
		desc   string
		n      int
		change func(*Params)
		want   int
	}{
		// The link sends the last of 10 fragments 90 ps after the first. Meanwhile 2 arrive whole.
		{"fast link", 100, func(*Params) {}, 80},
		{"headers", 100, func(p *Params) { p.Link.PerPacket = 30 }, 70},
		{"a fast bus", 100, func(p *Params) { p.ReadHost.PerByte = 1 }, 10},
		{"no cost", 100, func(p *Params) { p.ReadHost.PerByte = 0 }, 10},
		{"a slow engine", 100, func(p *Params) { p.Engine.PerByte = 8 }, 90},
		{"a slow checksum", 100, func(p *Params) { p.Checksum, p.SeparateChecksum = 8, true }, 90},
		{"an integrated checksum", 100, func(p *Params) { p.Checksum = 8 }, 80},
		{"a short packet", 7, func(*Params) {}, 7},
		{"an odd length", 95, func(*Params) {}, 80},
	} {
		p := p
		test.change(&p)
		if got := p.MinThreshold(test.n); got != test.want {
			t.Errorf("%s: MinThreshold(%d) = %d, want %d", test.desc, test.n, got, test.want)
		}
	}
}

func TestTime(t *testing.T) {
	if got := (1500 * Picosecond).Duration(); got != 2*time.Nanosecond {
		t.Errorf("1.5 ns is the Duration %v, want it rounded up", got)
	}
	if got := Duration(3 * time.Microsecond); got != 3*Microsecond || got.Microseconds() != 3 {
		t.Errorf("3 µs is the Time %d, %v µs", got, got.Microseconds())
	}
}
