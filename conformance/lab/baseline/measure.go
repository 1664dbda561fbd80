package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// A program is the command that measures, and its settings.
type program struct {
	path   string
	runs   int           // each has its own processes
	rounds int           // of each run
	time   time.Duration // of one run
	cpu    int           // less than 0: the highest
	stderr io.Writer
}

// A measurement is the output of rddp perf --json: its settings and its results.
type measurement struct {
	Date       time.Time
	System     string
	Machine    string
	CPUs       int
	Runs       int
	Rounds     int
	Time       time.Duration `json:"time_ns"`
	Ring       int
	Congestion string
	CPU        int
	results    []result
}

// A result is the measurement of a row, or of plain TCP.
type result struct {
	row
	CPURatioToTCP float64 `json:"cpu_ratio_to_tcp"`
}

// measure measures the rows next to plain TCP, by the settings of the check. The results have each
// row once for each run.
func (p program) measure(ctx context.Context, asked []row) (m *measurement, err error) {
	for i := range p.runs {
		one, err := p.once(ctx, asked)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			m = one
		} else {
			m.results = append(m.results, one.results...)
		}
		m.Runs++
	}
	return m, nil
}

func (p program) once(ctx context.Context, asked []row) (*measurement, error) {
	list := make([]string, len(asked))
	for i, w := range asked {
		list[i] = w.String()
	}
	args := []string{"perf", "--self", "--json", "--one-cpu", "--congestion", checkCongestion, "--ring", strconv.Itoa(checkRing),
		"--rounds", strconv.Itoa(p.rounds), "--time", p.time.String(), "--rows", strings.Join(list, ",")}
	if p.cpu >= 0 {
		args = append(args, "--cpu", strconv.Itoa(p.cpu))
	}
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its other processes
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = p.stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s perf: %w", p.path, err)
	}
	return parse(out)
}

// parse parses the output of rddp perf --json.
func parse(out []byte) (*measurement, error) {
	m := new(measurement)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var text json.RawMessage
		if err := dec.Decode(&text); errors.Is(err, io.EOF) {
			return m, nil
		} else if err != nil {
			return nil, err
		}
		var of struct{ Kind string }
		err := json.Unmarshal(text, &of)
		switch {
		case err != nil:
		case of.Kind == "settings":
			err = json.Unmarshal(text, m)
		case of.Kind == "result":
			var r result
			err = json.Unmarshal(text, &r)
			m.results = append(m.results, r)
		}
		if err != nil {
			return nil, fmt.Errorf("rddp perf printed %.100s: %w", text, err)
		}
	}
}

// tell writes what was measured and on which machine, and whether it can be compared with the
// baseline.
func (m *measurement) tell(w io.Writer, b *baseline) {
	fmt.Fprintf(w, "%s, %s, %s; medians of %d runs of %d rounds of %v; %s; pinned to CPU %d\n",
		m.Date.Format(time.RFC3339), m.machine(), m.System, m.Runs, m.Rounds, m.Time, m.Congestion, m.CPU)
	fmt.Fprintf(w, "baseline: %s, %s, medians of %d runs of %d rounds\n", b.Date.Format("2006-01-02"), b.machine(), b.Runs, b.Rounds)
	if m.machine() != b.machine() {
		fmt.Fprintln(w, "The baseline was measured on another machine. Costs depend on the CPU: before you believe a loss, write a")
		fmt.Fprintln(w, "baseline here with the older version.")
	}
}

func (m *measurement) machine() string { return machineText(m.Machine, m.System) }
func (b *baseline) machine() string    { return machineText(b.Machine, b.System) }

// machineText names a machine without the Go version, which is the last part of system.
func machineText(model, system string) string {
	system, _, _ = strings.Cut(system, ",")
	return strings.TrimSpace(model + " " + system)
}
