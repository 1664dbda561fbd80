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

// madeUp are results of two runs of rows: 2 % below and above a cost of 1, or as change says.
func madeUp(asked []row, change func(w row, f, half *float64)) (results []result) {
	for _, w := range asked {
		f, half := 1.0, 0.02
		if change != nil {
			change(w, &f, &half)
		}
		results = append(results, result{w, f + half}, result{w, f - half})
	}
	return results
}

// cost returns a change to f, with a distance of 2*half between the runs.
func cost(f, half float64) func(row, *float64, *float64) {
	return func(_ row, g, h *float64) { *g, *h = f, half }
}

func testBaseline(t *testing.T) *baseline {
	t.Helper()
	b, err := newBaseline(&measurement{Date: time.Unix(1e9, 0).UTC(), System: "test/none, go1", Machine: "Abacus", Congestion: checkCongestion,
		Ring: checkRing, Runs: 2, Rounds: 3, results: madeUp(rows(), nil)})
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
		{"a little less", 1 - tolerance + 0.01, 0.001, same},
		{"a little more", 1 + tolerance - 0.01, 0.001, same},
		{"more", 1 + tolerance + 0.01 + 0.02, 0.001, dearer},
		{"more, and no run is between those of the other", 1.30, 0.27, dearer},
		{"more, and some are", 1.30, 0.29, unclear},
		{"less", 0.7, 0.01, cheaper},
		{"less, and some are", 0.7, 0.29, unclear},
		{"a hundred times", 100, 0.001, dearer},
	}
	first := rows()[0]
	was, err := find(madeUp([]row{first}, nil), first)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		now, err := find(madeUp([]row{first}, cost(tt.f, tt.half)), first)
		if err != nil {
			t.Fatal(err)
		}
		if c := compare(was, now); c.verdict != tt.want || c.row != first || c.Was != 1 || c.Now != rounded(tt.f) {
			t.Errorf("%s: %+v, want %s", tt.desc, c, tt.want)
		}
	}
}

// A loss fails the check only if the row is dearer in both measurements. Only rows that seem dearer
// are measured again.
func TestCheckFindsLosses(t *testing.T) {
	all := rows()
	first, second := all[3], all[9]
	slow := func(of ...row) func(row, *float64, *float64) {
		return func(w row, f, half *float64) {
			if slices.Contains(of, w) {
				*f, *half = 1.3, 0.01
			}
		}
	}
	tests := []struct {
		desc       string
		runs       []func(row, *float64, *float64) // results of each measurement
		again      []row                           // rows that the second one must measure
		lost       []row
		want, omit string // in the output
	}{
		{"nothing lost", []func(row, *float64, *float64){nil}, nil, nil, "no row costs more", "again"},
		{"all cheaper", []func(row, *float64, *float64){cost(0.5, 0.01)}, nil, nil, "16 rows are cheaper", "again"},
		{"two rows lost", []func(row, *float64, *float64){slow(first, second), slow(first, second)}, []row{first, second}, []row{first, second}, "2 rows seem dearer", "no row"},
		{"one of two was chance", []func(row, *float64, *float64){slow(first, second), slow(second)}, []row{first, second}, []row{second}, "measuring these rows again", "no row"},
		{"chance", []func(row, *float64, *float64){slow(first), nil}, []row{first}, nil, "no row cost more than the baseline in both", ""},
		{"all lost", []func(row, *float64, *float64){slow(all...), slow(all...)}, all, all, "16 rows seem dearer", "no row"},
		{"noise", []func(row, *float64, *float64){cost(1.3, 0.5)}, nil, nil, "16 rows are unclear", "again"},
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
					if !strings.Contains(err.Error(), c.String()+" (+30 %)") {
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
	if lines := strings.Count(b.String(), "\n"); lines != len(rows())+11 {
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
		{"cost 0", func(b *baseline) { b.Rows[2].Cost = 0 }},
		{"range [2 1]", func(b *baseline) { b.Rows[2].Range = [2]float64{2, 1} }},
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
