package perf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// figures are made-up results of rows: each ratio is 1 with quartiles 2 % to each side, except as
// change says.
func figures(rows []Row, change func(w Row, r *Result)) (results []Result) {
	for _, w := range rows {
		r := Result{Op: w.Op, CRC: w.CRC, Size: w.Size, Depth: w.Depth, Post: w.Post, RatioToTCP: 1, RatioQuartiles: []float64{0.98, 1.02}}
		if change != nil {
			change(w, &r)
		}
		results = append(results, r)
	}
	return results
}

// times multiplies the ratio by f, with a distance of 2*half between the quartiles.
func (r *Result) times(f, half float64) {
	r.RatioToTCP *= f
	r.RatioQuartiles = []float64{r.RatioToTCP - half, r.RatioToTCP + half}
}

func testBaseline(t *testing.T) *Baseline {
	t.Helper()
	b, err := NewBaseline(&Report{Date: time.Unix(1e9, 0).UTC(), System: "test/none, go1", Machine: "Abacus", Congestion: CheckCongestion,
		Ring: checkRing, Rounds: 3, Results: figures(CheckRows(), nil)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompare(t *testing.T) {
	tests := []struct {
		desc    string
		f, half float64
		want    Verdict
	}{
		{"nothing has changed", 1, 0.01, Same},
		{"a little less", 0.96, 0.001, Same},
		{"a little more", 1.04, 0.001, Same},
		{"less", 0.93, 0.001, Slower},
		{"less, by more than both spreads", 0.90, 0.07, Slower},
		{"less, by less than both spreads", 0.90, 0.09, Unclear},
		{"more", 1.1, 0.01, Faster},
		{"more, by less than both spreads", 1.1, 0.09, Unclear},
		{"nearly nothing left", 0.01, 0.001, Slower},
	}
	row := CheckRows()[0]
	was, err := find(figures([]Row{row}, nil), row)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		now, err := find(figures([]Row{row}, func(_ Row, r *Result) { r.times(tt.f, tt.half) }), row)
		if err != nil {
			t.Fatal(err)
		}
		if c := compare(was, now); c.Verdict != tt.want || c.Row != row || c.Was != 1 || c.Now != rounded(tt.f) {
			t.Errorf("%s: %+v, want %s", tt.desc, c, tt.want)
		}
	}
}

// A loss fails the check only if the row is slower in both measurements. Only rows that seem slower
// are measured again.
func TestCheckFindsLosses(t *testing.T) {
	rows := CheckRows()
	first, second := rows[3], rows[9]
	slow := func(of ...Row) func(Row, *Result) {
		return func(w Row, r *Result) {
			if slices.Contains(of, w) {
				r.times(0.8, 0.01)
			}
		}
	}
	noisy := func(_ Row, r *Result) { r.times(0.8, 0.5) }
	tests := []struct {
		desc       string
		runs       []func(Row, *Result) // what each measurement shows
		again      []Row                // what the second one must measure
		lost       []Row
		want, omit string // in the output
	}{
		{"nothing lost", []func(Row, *Result){nil}, nil, nil, "no row is slower", "again"},
		{"all faster", []func(Row, *Result){func(_ Row, r *Result) { r.times(2, 0.01) }}, nil, nil, "16 rows are faster", "again"},
		{"two rows lost", []func(Row, *Result){slow(first, second), slow(first, second)}, []Row{first, second}, []Row{first, second}, "2 rows seem slower", "no row"},
		{"one of two was chance", []func(Row, *Result){slow(first, second), slow(second)}, []Row{first, second}, []Row{second}, "measuring these rows again", "no row"},
		{"chance", []func(Row, *Result){slow(first), nil}, []Row{first}, nil, "no row was slower than the baseline in both", ""},
		{"all lost", []func(Row, *Result){slow(rows...), slow(rows...)}, rows, rows, "16 rows seem slower", "no row"},
		{"noise", []func(Row, *Result){noisy}, nil, nil, "16 rows are unclear", "again"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			var out bytes.Buffer
			runs := 0
			err := testBaseline(t).decide(func(asked []Row) ([]Result, error) {
				if want := [][]Row{rows, tt.again}[runs]; !slices.Equal(asked, want) {
					t.Errorf("measurement %d is of %v, want %v", runs+1, asked, want)
				}
				runs++
				return figures(asked, tt.runs[runs-1]), nil
			}, &out)
			if runs != len(tt.runs) || !strings.Contains(out.String(), tt.want) || tt.omit != "" && strings.Contains(out.String(), tt.omit) {
				t.Errorf("%d measurements, want %d; output without %q or with %q:\n%s", runs, len(tt.runs), tt.want, tt.omit, &out)
			}
			var lost []Row
			if loss := (*LossError)(nil); errors.As(err, &loss) {
				for _, c := range loss.Rows {
					lost = append(lost, c.Row)
					if !strings.Contains(err.Error(), c.String()+" (-20 %)") {
						t.Errorf("no %v in the error: %v", c.Row, err)
					}
				}
			} else if err != nil {
				t.Error(err)
			}
			if !slices.Equal(lost, tt.lost) {
				t.Errorf("lost %v, want %v", lost, tt.lost)
			}
		})
	}
}

// A measurement that fails, or that lacks a row, fails the check.
func TestCheckErrors(t *testing.T) {
	b := testBaseline(t)
	if err := b.decide(func(rows []Row) ([]Result, error) { return figures(rows[1:], nil), nil }, io.Discard); !errors.Is(err, errNoRow) {
		t.Errorf("a row was not measured: %v", err)
	}
	broken := errors.New("broken")
	if err := b.decide(func([]Row) ([]Result, error) { return nil, broken }, io.Discard); !errors.Is(err, broken) {
		t.Errorf("a failed measurement: %v", err)
	}
}

func TestBaselineRoundTrip(t *testing.T) {
	want := testBaseline(t)
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != len(CheckRows())+10 {
		t.Errorf("%d lines:\n%s", lines, &b)
	}
	if got, err := ReadBaseline(&b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestBaselineErrors(t *testing.T) {
	row := BaselineRow{CheckRows()[0], 1, [2]float64{1, 1}}
	tests := []struct {
		want   string
		change func(b *Baseline)
	}{
		{"it has no row of write", func(b *Baseline) { b.Rows = b.Rows[1:] }},
		{"it has no row of echo", func(b *Baseline) { b.Rows = b.Rows[:len(b.Rows)-1] }},
		{"it has no row of", func(b *Baseline) { b.Rows = nil }},
		{"two rows of write", func(b *Baseline) { b.Rows = append(b.Rows, row) }},
		{"the check has no row", func(b *Baseline) { b.Rows[2].Size++ }},
		{"the check has no row", func(b *Baseline) { b.Rows[2].Op = "bite" }},
		{"ratio 0", func(b *Baseline) { b.Rows[2].Ratio = 0 }},
		{"quartiles [2 1]", func(b *Baseline) { b.Rows[2].Quartiles = [2]float64{2, 1} }},
		{`congestion control "reno"`, func(b *Baseline) { b.Congestion = "reno" }},
		{"a ring of 7 bytes", func(b *Baseline) { b.Ring = 7 }},
	}
	check := func(text, want string) {
		t.Helper()
		wrong := (*BaselineError)(nil)
		if _, err := ReadBaseline(strings.NewReader(text)); !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, want) {
			t.Errorf("ReadBaseline: %v, want %q", err, want)
		}
	}
	for _, tt := range tests {
		b := testBaseline(t)
		tt.change(b)
		var text bytes.Buffer
		if err := b.Write(&text); err != nil {
			t.Fatal(err)
		}
		check(text.String(), tt.want)
	}
	check("", "EOF")
	check("[]", "cannot unmarshal")
	check(`{"speed": 1}`, "unknown field")
	if _, err := NewBaseline(&Report{Congestion: CheckCongestion, Ring: checkRing}); !errors.Is(err, errNoRow) {
		t.Errorf("a baseline of nothing: %v", err)
	}
}

// The committed baseline has the rows of the check.
func TestCommittedBaseline(t *testing.T) {
	f, err := os.Open("../../../../conformance/bench/baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReadBaseline(f); err != nil {
		t.Errorf("%v: run `make bench-baseline`", err)
	}
}

// The options for the check measure its rows, each once, and nothing else but their references.
func TestForCheck(t *testing.T) {
	o := new(Options)
	o.ForCheck(CheckRows())
	complete(t, o)
	var got []string
	for _, size := range o.groups() {
		for _, j := range o.jobs(size) {
			got = append(got, fmt.Sprint(j))
		}
	}
	var want []string
	for _, w := range CheckRows() {
		want = append(want, w.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || o.deepest() != 64 || o.largest() != 1<<20 || !o.OneCPU || o.Congestion != CheckCongestion {
		t.Errorf("jobs %q, want %q; options %+v", got, want, o)
	}
	if len(slices.Compact(want)) != len(CheckRows()) {
		t.Errorf("rows that mean the same: %q", want)
	}
}
