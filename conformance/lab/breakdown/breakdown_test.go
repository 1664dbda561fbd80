package main

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// input is an output of rddp perf for three operations.
const input = `{"kind":"settings","rounds":2,"time_ns":1000000,"ring":1048576,"conns":[2],"one_cpu":false,"cpu":1}
{"kind":"result","op":"tcp-echo","size":1,"depth":1,"conns":2,"msgs_per_s":20000,"cpu_us_per_msg":20}
{"kind":"result","op":"message","crc":"on","size":1,"depth":1,"conns":2,"reference":"tcp-echo","msgs_per_s":10000,"cpu_us_per_msg":30}
{"kind":"result","op":"write","crc":"off","size":300000,"depth":1,"post":"one","conns":2,"reference":"tcp","msgs_per_s":5}
{"kind":"result","op":"write","crc":"off","size":300000,"depth":16,"post":"one","conns":2,"reference":"tcp","msgs_per_s":5}
{"kind":"result","op":"read","crc":"on","size":300000,"depth":1,"post":"one","conns":2,"reference":"tcp-echo","msgs_per_s":5}
{"kind":"result","op":"read","crc":"on","size":300000,"depth":1,"post":"one","conns":4,"reference":"tcp-echo","msgs_per_s":5}
`

// TestBreakdown: every step of every operation is executed, including messages that need several
// FPDUs.
func TestBreakdown(t *testing.T) {
	m, err := parse([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	if want := []job{{opSend, 1, "on"}, {opWrite, 300_000, off}, {opRead, 300_000, "on"}}; !slices.Equal(m.jobs(), want) {
		t.Errorf("the jobs are %v, want %v", m.jobs(), want)
	}
	all, err := breakdowns(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.Count < 2 || (b.Sockets > 0) != (b.Op == opSend) || b.Sum <= 0 || b.TCP <= 0 || len(b.Steps) != steps {
			t.Errorf("%+v", b)
		}
		for _, i := range []int{stepWrite, stepRead} { // system calls
			if b.Steps[i].NS <= 0 {
				t.Errorf("%s of %d bytes: step %q takes no time", b.Op, b.Size, b.Steps[i].What)
			}
		}
	}
	if b := all[0]; b.WholeCPU != 15e3 || b.WholeTime != 100e3 || b.TCPCPU != 10e3 || b.TCPTime != 50e3 {
		t.Errorf("of a message: whole %v, %v; TCP %v, %v", b.WholeCPU, b.WholeTime, b.TCPCPU, b.TCPTime)
	}
	if b := all[1]; b.WholeTime != 2/5.0*1e9 || b.TCPTime != 0 {
		t.Errorf("of a Write: whole %v, TCP %v", b.WholeTime, b.TCPTime)
	}
}

// TestText: the text has a table of the layers and one for each breakdown.
func TestText(t *testing.T) {
	all := []Breakdown{{
		Op: opSend, Size: 64, CRC: "on", Steps: stepNames[:], Sum: 100, TCP: 50, Count: 7, WholeOp: opMessage, WholeCPU: 60, WholeTime: 400, TCPCPU: 70, TCPTime: 300,
	}}
	var w strings.Builder
	if err := writeText(&w, all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"breakdown by layers", "whole, CPU", "breakdown: send of 64 bytes, CRC on", "verify the CRC", "-60"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, &w)
		}
	}
}

// TestJSON: -json prints the input, and then the breakdowns. On one CPU the program runs itself
// again, with TestMain as the program.
func TestJSON(t *testing.T) {
	in := input
	if _, err := exec.LookPath("taskset"); err == nil {
		t.Setenv(programEnv, "1")
		in = strings.Replace(input, `"one_cpu":false,"cpu":1`, `"one_cpu":true,"cpu":0`, 1)
	}
	var out, log strings.Builder
	if err := run(t.Context(), []string{"-json"}, strings.NewReader(in), &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	rest, ok := strings.CutPrefix(out.String(), in)
	lines := strings.Split(strings.TrimSpace(rest), "\n")
	if !ok || len(lines) != 3 {
		t.Fatalf("the output is %s", &out)
	}
	for _, line := range lines {
		var b struct {
			Kind string
			Breakdown
		}
		if err := json.Unmarshal([]byte(line), &b); err != nil || b.Kind != "breakdown" || len(b.Steps) != steps {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestWrongInput(t *testing.T) {
	for in, want := range map[string]string{
		"":                         errNoJobs.Error(),
		"no":                       "invalid character",
		`{"kind":"result","op":1}`: "the input has ",
		`{"kind":"result","op":"write","crc":"on","size":64,"depth":1}`:                               "0 rounds",
		`{"kind":"settings","rounds":1}{"kind":"result","op":"write","crc":"on","size":64,"depth":1}`: "a ring of 0 bytes",
	} {
		if err := run(t.Context(), nil, strings.NewReader(in), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
	if err := run(t.Context(), []string{"more"}, strings.NewReader(input), io.Discard, io.Discard); err == nil {
		t.Error("an argument is no error")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(input))
	f.Fuzz(func(t *testing.T, in []byte) {
		if m, err := parse(in); (m == nil) != (err != nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// The bytes that the hand-driven layers write arrive: afterwards bytes of one ring are in the other
// one.
func TestHandPairMovesBytes(t *testing.T) {
	for _, name := range []string{opWrite, opSend, opRead} {
		p, err := newHandPair(t.Context(), &settings{Ring: 1 << 20}, job{name, 200_000, "on"})
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		from, to := p.a.ring, p.b.ring
		if name == opRead {
			from, to = to, from
		}
		clear(to)
		for i := range from {
			from[i] = byte(i * 7)
		}
		for range 3 {
			if err := p.operate(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range to {
			if want := byte(0); i < 600_000 && to[i] != from[i] || i >= 600_000 && to[i] != want {
				t.Fatalf("%s: byte %d is %d", name, i, to[i])
			}
		}
	}
}
