package perf

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

// A Row is one row of the check: an operation with all its parameters, named as in a Result.
type Row struct {
	Op    string `json:"op"`
	CRC   string `json:"crc"`
	Size  int    `json:"size"`
	Depth int    `json:"depth"`
	Post  string `json:"post,omitempty"`
}

// CheckRows are the rows of the check. Each one is a promise about speed that users rely on.
func CheckRows() []Row {
	return []Row{
		{"write", "on", 4 << 10, 16, PostOne},
		{"write", "on", 64 << 10, 16, PostOne},
		{"write", "on", 1 << 20, 16, PostOne},
		{"write", "on", 4 << 10, 16, PostBatch},
		{"write", "on", 64, 64, PostBatch},
		{"write", "off", 64 << 10, 16, PostOne},
		{"write", "off", 1 << 20, 16, PostOne},
		{"read", "on", 4 << 10, 16, PostOne},
		{"read", "on", 64 << 10, 16, PostOne},
		{"read", "on", 1 << 20, 16, PostOne},
		{"stream", "on", 64 << 10, 1, ""},
		{"stream", "on", 1 << 20, 1, ""},
		{"message", "on", 64, 1, ""},
		{"message", "on", 4 << 10, 1, ""},
		{"echo", "on", 64, 1, ""},
		{"echo", "on", 4 << 10, 1, ""},
	}
}

func (r *Result) key() Row { return Row{r.Op, r.CRC, r.Size, r.Depth, r.Post} }

// job returns the job that measures the row.
func (w Row) job() job {
	op, _ := operationOf(w.Op)
	return job{operation: op, crc: w.CRC == onOff(true), size: w.Size, depth: w.Depth, batch: w.Post == PostBatch}
}

func (w Row) String() string { return w.job().String() }

// The settings of the check. The congestion control and the ring are part of a baseline, because the
// ratios depend on them.
const (
	CheckCongestion = "cubic"
	CheckRounds     = 15
	checkRing       = 16 << 20
)

// ForCheck makes o measure rows, by the settings of the check: one connection, all ends on one CPU,
// everybody with the same congestion control. The caller may choose Rounds, Time, CPU and Timeout.
func (o *Options) ForCheck(rows []Row) {
	o.Ops, o.Sizes, o.Depths, o.Posts, o.CRC = nil, nil, nil, nil, nil
	for _, w := range rows {
		o.Ops = append(o.Ops, w.Op)
		o.Sizes = append(o.Sizes, w.Size)
		o.Depths = append(o.Depths, w.Depth)
		o.CRC = append(o.CRC, w.CRC == onOff(true))
	}
	o.rows = rows
	o.Load, o.Conns, o.Congestion, o.Ring, o.Buffer, o.OneCPU = LoadMultiStream, []int{1}, CheckCongestion, checkRing, 0, true
	defaults(&o.Rounds, CheckRounds)
}

// A Baseline is what the rows of the check were at an earlier time. The check compares with it.
type Baseline struct {
	Date       time.Time     `json:"date"`
	System     string        `json:"system"`
	Machine    string        `json:"machine,omitempty"`
	Congestion string        `json:"congestion"`
	Ring       int           `json:"ring"`
	Rounds     int           `json:"rounds"`
	Rows       []BaselineRow `json:"rows"`
}

// A BaselineRow is a row with the ratios to plain TCP that it had.
type BaselineRow struct {
	Row
	Ratio     float64    `json:"ratio"`     // the median of the rounds
	Quartiles [2]float64 `json:"quartiles"` // the first and the third quartile of the rounds
}

// A BaselineError means that a baseline cannot be compared with. Another one must be written.
type BaselineError struct {
	Reason string
}

func (e *BaselineError) Error() string { return "the baseline does not fit: " + e.Reason }

func misfit(format string, args ...any) error { return &BaselineError{fmt.Sprintf(format, args...)} }

// NewBaseline makes a baseline of a report of all rows.
func NewBaseline(r *Report) (*Baseline, error) {
	b := &Baseline{Date: r.Date, System: r.System, Machine: r.Machine, Congestion: r.Congestion, Ring: r.Ring, Rounds: r.Rounds}
	for _, w := range CheckRows() {
		v, err := find(r.Results, w)
		if err != nil {
			return nil, err
		}
		b.Rows = append(b.Rows, v)
	}
	return b, b.check()
}

// errNoRow means that a row was not measured.
var errNoRow = errors.New("the row was not measured")

// find returns the result of a row.
func find(results []Result, w Row) (v BaselineRow, err error) {
	i := slices.IndexFunc(results, func(r Result) bool { return r.key() == w })
	if i < 0 || len(results[i].RatioQuartiles) != 2 {
		return v, fmt.Errorf("%v: %w", w, errNoRow)
	}
	q := results[i].RatioQuartiles
	return BaselineRow{w, rounded(results[i].RatioToTCP), [2]float64{rounded(q[0]), rounded(q[1])}}, nil
}

// rounded returns v with four digits behind the point. More would only be noise in the file.
func rounded(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// Write writes the baseline as JSON with one line for each row, so that a change is easy to read.
func (b *Baseline) Write(w io.Writer) error {
	head := *b
	head.Rows = []BaselineRow{}
	text, err := json.MarshalIndent(&head, "", "  ")
	if err != nil {
		return err
	}
	lines := make([]string, len(b.Rows))
	for i, row := range b.Rows {
		line, err := json.Marshal(row)
		if err != nil {
			return err
		}
		lines[i] = "\n    " + string(line)
	}
	rows := `"rows": [` + strings.Join(lines, ",") + "\n  ]"
	_, err = fmt.Fprintln(w, strings.Replace(string(text), `"rows": []`, rows, 1))
	return err
}

// ReadBaseline reads what Write has written. If its rows or its settings are not those of the check,
// the error is a *BaselineError.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	b := new(Baseline)
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(b); err != nil {
		return nil, misfit("%v", err)
	}
	return b, b.check()
}

// check compares the rows and the settings with those of the check.
func (b *Baseline) check() error {
	if b.Congestion != CheckCongestion || b.Ring != checkRing {
		return misfit("it was measured with congestion control %q and a ring of %d bytes, not with %s and %d", b.Congestion, b.Ring,
			CheckCongestion, checkRing)
	}
	rows := CheckRows()
	seen := make(map[Row]bool)
	for _, w := range b.Rows {
		switch {
		case !slices.Contains(rows, w.Row):
			return misfit("the check has no row %+v", w.Row)
		case seen[w.Row]:
			return misfit("it has two rows of %v", w.Row)
		case w.Ratio <= 0 || w.Quartiles[0] <= 0 || w.Quartiles[0] > w.Quartiles[1]:
			return misfit("%v: ratio %v, quartiles %v", w.Row, w.Ratio, w.Quartiles)
		}
		seen[w.Row] = true
	}
	for _, w := range rows {
		if !seen[w] {
			return misfit("it has no row of %v", w)
		}
	}
	return nil
}
