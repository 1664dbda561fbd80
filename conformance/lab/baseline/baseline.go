package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// A row is one row of the check: an operation with all its parameters, named as rddp perf does.
type row struct {
	Op    string `json:"op"`
	CRC   string `json:"crc"`
	Size  int    `json:"size"`
	Depth int    `json:"depth"`
	Post  string `json:"post,omitempty"`
}

// rows returns the rows of the check. Users rely on what each costs.
func rows() []row {
	const one, batch = "one", "batch"
	return []row{
		{"write", "on", 4 << 10, 16, one},
		{"write", "on", 64 << 10, 16, one},
		{"write", "on", 1 << 20, 16, one},
		{"write", "on", 4 << 10, 16, batch},
		{"write", "on", 64, 64, batch},
		{"write", "off", 64 << 10, 16, one},
		{"write", "off", 1 << 20, 16, one},
		{"read", "on", 4 << 10, 16, one},
		{"read", "on", 64 << 10, 16, one},
		{"read", "on", 1 << 20, 16, one},
		{"stream", "on", 64 << 10, 1, ""},
		{"stream", "on", 1 << 20, 1, ""},
		{"message", "on", 64, 1, ""},
		{"message", "on", 4 << 10, 1, ""},
		{"echo", "on", 64, 1, ""},
		{"echo", "on", 4 << 10, 1, ""},
	}
}

// String returns the row as rddp perf --rows takes it.
func (w row) String() string {
	text := fmt.Sprintf("%s/%s/%d/%d", w.Op, w.CRC, w.Size, w.Depth)
	if w.Post != "" {
		text += "/" + w.Post
	}
	return text
}

// The settings of the check. The congestion control and the ring are part of a baseline, because
// the ratios depend on them.
const (
	checkCongestion = "cubic"
	checkRuns       = 3 // how memory lies in the caches is the luck of a process, so more than one
	checkRounds     = 10
	checkTime       = 50 * time.Millisecond
	checkRing       = 16 << 20
)

// A baseline contains earlier results of the rows of the check. The check compares new results with
// it.
type baseline struct {
	Date       time.Time     `json:"date"`
	System     string        `json:"system"`
	Machine    string        `json:"machine,omitempty"`
	Congestion string        `json:"congestion"`
	Ring       int           `json:"ring"`
	Runs       int           `json:"runs"`
	Rounds     int           `json:"rounds"` // of each run
	Rows       []baselineRow `json:"rows"`
}

// A baselineRow is a row with its earlier cost: the processor time of both ends for one operation,
// divided by plain TCP's in the same round.
type baselineRow struct {
	row
	Cost  float64    `json:"cost"`  // the median of the runs; a run is the median of its rounds
	Range [2]float64 `json:"range"` // the lowest and the highest of the runs
}

// A BaselineError means that a baseline does not fit the check. A new one must be written.
type BaselineError struct {
	Reason string
}

func (e *BaselineError) Error() string { return "the baseline does not fit: " + e.Reason }

func misfit(format string, args ...any) error { return &BaselineError{fmt.Sprintf(format, args...)} }

// newBaseline makes a baseline of a measurement of all rows.
func newBaseline(r *measurement) (*baseline, error) {
	b := &baseline{Date: r.Date, System: r.System, Machine: r.Machine, Congestion: r.Congestion, Ring: r.Ring, Runs: r.Runs, Rounds: r.Rounds}
	for _, w := range rows() {
		v, err := find(r.results, w)
		if err != nil {
			return nil, err
		}
		b.Rows = append(b.Rows, v)
	}
	return b, b.check()
}

// errNoRow means that a row was not measured.
var errNoRow = errors.New("the row was not measured")

// find returns the results of a row, of all runs.
func find(results []result, w row) (v baselineRow, err error) {
	var costs []float64
	for _, r := range results {
		if r.row == w && r.CPURatioToTCP > 0 {
			costs = append(costs, rounded(r.CPURatioToTCP))
		}
	}
	if len(costs) == 0 {
		return v, fmt.Errorf("%v: %w", w, errNoRow)
	}
	slices.Sort(costs)
	n := len(costs)
	return baselineRow{w, rounded((costs[(n-1)/2] + costs[n/2]) / 2), [2]float64{costs[0], costs[n-1]}}, nil
}

// rounded returns v with four digits after the point. More would only be noise in the file.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// write writes the baseline as JSON with one line for each row, so that a change is easy to read.
func (b *baseline) write(w io.Writer) error {
	head := *b
	head.Rows = []baselineRow{}
	text, err := json.MarshalIndent(&head, "", "  ")
	if err != nil {
		return err
	}
	lines := make([]string, len(b.Rows))
	for i, w := range b.Rows {
		line, err := json.Marshal(w)
		if err != nil {
			return err
		}
		lines[i] = "\n    " + string(line)
	}
	list := `"rows": [` + strings.Join(lines, ",") + "\n  ]"
	_, err = fmt.Fprintln(w, strings.Replace(string(text), `"rows": []`, list, 1))
	return err
}

// readBaseline reads a baseline that write has written. If its rows or its settings differ from
// those of the check, the error is a *BaselineError.
func readBaseline(r io.Reader) (*baseline, error) {
	b := new(baseline)
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil {
		return nil, misfit("%v", err)
	}
	return b, b.check()
}

// check compares the rows and the settings with those of the check.
func (b *baseline) check() error {
	if b.Congestion != checkCongestion || b.Ring != checkRing {
		return misfit("it was measured with congestion control %q and a ring of %d bytes, not with %s and %d", b.Congestion, b.Ring,
			checkCongestion, checkRing)
	}
	all := rows()
	seen := make(map[row]bool)
	for _, w := range b.Rows {
		switch {
		case !slices.Contains(all, w.row):
			return misfit("the check has no row %+v", w.row)
		case seen[w.row]:
			return misfit("it has two rows of %v", w.row)
		case w.Range[0] <= 0 || w.Cost < w.Range[0] || w.Cost > w.Range[1]:
			return misfit("%v: cost %v, range %v", w.row, w.Cost, w.Range)
		}
		seen[w.row] = true
	}
	for _, w := range all {
		if !seen[w] {
			return misfit("it has no row of %v", w)
		}
	}
	return nil
}
