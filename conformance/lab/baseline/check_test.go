package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// madeUp are results of rows: each ratio is 1 with quartiles 2 % to each side, except as
// change says.
func madeUp(asked []row, change func(w row, r *result)) (results []result) {
	for _, w := range asked {
		r := result{row: w, RatioToTCP: 1, RatioQuartiles: []float64{0.98, 1.02}}
		if change != nil {
			change(w, &r)
		}
		results = append(results, r)
	}
	return results
}

// times multiplies the ratio by f, with a distance of 2*half between the quartiles.
func (r *result) times(f, half float64) {
	r.RatioToTCP *= f
	r.RatioQuartiles = []float64{r.RatioToTCP - half, r.RatioToTCP + half}
}

func testBaseline(t *testing.T) *baseline {
	t.Helper()
	b, err := newBaseline(&measurement{Date: time.Unix(1e9, 0).UTC(), System: "test/none, go1", Machine: "Abacus", Congestion: checkCongestion,
		Ring: checkRing, Rounds: 3, results: madeUp(rows(), nil)})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompare(t *testing.T) {
	tests := []struct {
		desc    string
		f, half float64
		want    verdict
	}{
		{"nothing has changed", 1, 0.01, same},
		{"a little less", 0.96, 0.001, same},
		{"a little more", 1.04, 0.001, same},
		{"less", 0.93, 0.001, slower},
		{"less, by more than both spreads", 0.90, 0.07, slower},
		{"less, by less than both spreads", 0.90, 0.09, unclear},
		{"more", 1.1, 0.01, faster},
		{"more, by less than both spreads", 1.1, 0.09, unclear},
		{"nearly nothing left", 0.01, 0.001, slower},
	}
	first := rows()[0]
	was, err := find(madeUp([]row{first}, nil), first)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		now, err := find(madeUp([]row{first}, func(_ row, r *result) { r.times(tt.f, tt.half) }), first)
		if err != nil {
			t.Fatal(err)
		}
		if c := compare(was, now); c.verdict != tt.want || c.row != first || c.Was != 1 || c.Now != rounded(tt.f) {
			t.Errorf("%s: %+v, want %s", tt.desc, c, tt.want)
		}
	}
}

// A loss fails the check only if the row is slower in both measurements. Only rows that seem slower
// are measured again.
func TestCheckFindsLosses(t *testing.T) {
	all := rows()
	first, second := all[3], all[9]
	slow := func(of ...row) func(row, *result) {
		return func(w row, r *result) {
			if slices.Contains(of, w) {
				r.times(0.8, 0.01)
			}
		}
	}
	noisy := func(_ row, r *result) { r.times(0.8, 0.5) }
	tests := []struct {
		desc       string
		runs       []func(row, *result) // results of each measurement
		again      []row                // rows that the second one must measure
		lost       []row
		want, omit string // in the output
	}{
		{"nothing lost", []func(row, *result){nil}, nil, nil, "no row is slower", "again"},
		{"all faster", []func(row, *result){func(_ row, r *result) { r.times(2, 0.01) }}, nil, nil, "16 rows are faster", "again"},
		{"two rows lost", []func(row, *result){slow(first, second), slow(first, second)}, []row{first, second}, []row{first, second}, "2 rows seem slower", "no row"},
		{"one of two was chance", []func(row, *result){slow(first, second), slow(second)}, []row{first, second}, []row{second}, "measuring these rows again", "no row"},
		{"chance", []func(row, *result){slow(first), nil}, []row{first}, nil, "no row was slower than the baseline in both", ""},
		{"all lost", []func(row, *result){slow(all...), slow(all...)}, all, all, "16 rows seem slower", "no row"},
		{"noise", []func(row, *result){noisy}, nil, nil, "16 rows are unclear", "again"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			var out bytes.Buffer
			runs := 0
			err := testBaseline(t).decide(func(asked []row) ([]result, error) {
				if want := [][]row{all, tt.again}[runs]; !slices.Equal(asked, want) {
					t.Errorf("measurement %d is of %v, want %v", runs+1, asked, want)
				}
				runs++
				return madeUp(asked, tt.runs[runs-1]), nil
			}, &out)
			if runs != len(tt.runs) || !strings.Contains(out.String(), tt.want) || tt.omit != "" && strings.Contains(out.String(), tt.omit) {
				t.Errorf("%d measurements, want %d; output without %q or with %q:\n%s", runs, len(tt.runs), tt.want, tt.omit, &out)
			}
			var lost []row
			if loss := (*LossError)(nil); errors.As(err, &loss) {
				for _, c := range loss.Rows {
					lost = append(lost, c.row)
					if !strings.Contains(err.Error(), c.String()+" (-20 %)") {
						t.Errorf("no %v in the error: %v", c.row, err)
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

// The check fails if a measurement fails or lacks a row.
func TestCheckErrors(t *testing.T) {
	b := testBaseline(t)
	if err := b.decide(func(asked []row) ([]result, error) { return madeUp(asked[1:], nil), nil }, io.Discard); !errors.Is(err, errNoRow) {
		t.Errorf("a row was not measured: %v", err)
	}
	broken := errors.New("broken")
	if err := b.decide(func([]row) ([]result, error) { return nil, broken }, io.Discard); !errors.Is(err, broken) {
		t.Errorf("a failed measurement: %v", err)
	}
}

func TestBaselineRoundTrip(t *testing.T) {
	want := testBaseline(t)
	var b bytes.Buffer
	if err := want.write(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != len(rows())+10 {
		t.Errorf("%d lines:\n%s", lines, &b)
	}
	if got, err := readBaseline(&b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestBaselineErrors(t *testing.T) {
	row := baselineRow{rows()[0], 1, [2]float64{1, 1}}
	tests := []struct {
		want   string
		change func(b *baseline)
	}{
		{"it has no row of write", func(b *baseline) { b.Rows = b.Rows[1:] }},
		{"it has no row of echo", func(b *baseline) { b.Rows = b.Rows[:len(b.Rows)-1] }},
		{"it has no row of", func(b *baseline) { b.Rows = nil }},
		{"two rows of write", func(b *baseline) { b.Rows = append(b.Rows, row) }},
		{"the check has no row", func(b *baseline) { b.Rows[2].Size++ }},
		{"the check has no row", func(b *baseline) { b.Rows[2].Op = "bite" }},
		{"ratio 0", func(b *baseline) { b.Rows[2].Ratio = 0 }},
		{"quartiles [2 1]", func(b *baseline) { b.Rows[2].Quartiles = [2]float64{2, 1} }},
		{`congestion control "reno"`, func(b *baseline) { b.Congestion = "reno" }},
		{"a ring of 7 bytes", func(b *baseline) { b.Ring = 7 }},
	}
	check := func(text, want string) {
		t.Helper()
		wrong := (*BaselineError)(nil)
		if _, err := readBaseline(strings.NewReader(text)); !errors.As(err, &wrong) || !strings.Contains(wrong.Reason, want) {
			t.Errorf("readBaseline: %v, want %q", err, want)
		}
	}
	for _, tt := range tests {
		b := testBaseline(t)
		tt.change(b)
		var text bytes.Buffer
		if err := b.write(&text); err != nil {
			t.Fatal(err)
		}
		check(text.String(), tt.want)
	}
	check("", "EOF")
	check("[]", "cannot unmarshal")
	check(`{"speed": 1}`, "unknown field")
	if _, err := newBaseline(&measurement{Congestion: checkCongestion, Ring: checkRing}); !errors.Is(err, errNoRow) {
		t.Errorf("a baseline of nothing: %v", err)
	}
}

// The committed baseline has the rows of the check.
func TestCommittedBaseline(t *testing.T) {
	f, err := os.Open("../../bench/baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := readBaseline(f); err != nil {
		t.Errorf("%v: run `make bench-baseline`", err)
	}
}
