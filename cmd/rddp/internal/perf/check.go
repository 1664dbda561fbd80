package perf

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// CheckTolerance is the part of its ratio to plain TCP that a row may lose. With both ends on one
// CPU, ratios repeat within 2 % on a quiet machine.
const CheckTolerance = 0.05

// A Verdict says how a row compares with its baseline.
type Verdict string

// The verdicts. The spread of a row is half the distance between the quartiles of its rounds, that
// of the baseline and that of the new measurement added.
const (
	Same    Verdict = "same"    // within the tolerance
	Faster  Verdict = "faster"  // more than the baseline, beyond the tolerance and beyond the spread
	Unclear Verdict = "unclear" // beyond the tolerance, but not beyond the spread
	Slower  Verdict = "SLOWER"  // less than the baseline, beyond the tolerance and beyond the spread
)

// A Comparison is a row next to its baseline.
type Comparison struct {
	Row
	Was, Now float64 // ratios to plain TCP
	Spread   float64 // in units of the ratio
	Verdict  Verdict
}

// Change returns the change of the ratio as a part of the baseline.
func (c *Comparison) Change() float64 { return c.Now/c.Was - 1 }

// compare compares two measurements of a row.
func compare(was, now BaselineRow) Comparison {
	c := Comparison{Row: was.Row, Was: was.Ratio, Now: now.Ratio, Verdict: Same}
	for _, q := range [][2]float64{was.Quartiles, now.Quartiles} {
		c.Spread += (q[1] - q[0]) / 2
	}
	change := c.Now - c.Was
	switch beyond := max(change, -change); {
	case beyond <= CheckTolerance*c.Was:
	case beyond <= c.Spread:
		c.Verdict = Unclear
	case change > 0:
		c.Verdict = Faster
	default:
		c.Verdict = Slower
	}
	return c
}

// compare compares results of rows with the baseline.
func (b *Baseline) compare(rows []Row, results []Result) (all []Comparison, err error) {
	for _, was := range b.Rows {
		for _, w := range rows {
			if w != was.Row {
				continue
			}
			now, err := find(results, w)
			if err != nil {
				return nil, err
			}
			all = append(all, compare(was, now))
		}
	}
	return all, nil
}

// A LossError means that rows are slower than their baseline, in two measurements one after the
// other.
type LossError struct {
	Rows []Comparison // of the second measurement
}

func (e *LossError) Error() string {
	text := make([]string, len(e.Rows))
	for i := range e.Rows {
		text[i] = fmt.Sprintf("%v (%+.0f %%)", e.Rows[i].Row, 100*e.Rows[i].Change())
	}
	return fmt.Sprintf("slower than the baseline in two measurements: %s", strings.Join(text, "; "))
}

// Check measures all rows next to plain TCP, compares them with the baseline, and writes a table to
// w. It measures rows that seem slower once more. If they are again, the error is a *LossError. Check
// changes o as ForCheck does; the servers must run on this machine.
func Check(ctx context.Context, o *Options, b *Baseline, w io.Writer) error {
	var machine string
	measure := func(rows []Row) ([]Result, error) {
		again := *o
		again.ForCheck(rows)
		r, err := Run(ctx, &again)
		if err != nil {
			return nil, err
		}
		if machine == "" {
			machine = r.machine()
			fmt.Fprintln(w, r.summary())
			fmt.Fprintf(w, "baseline: %s, %s, medians of %d rounds\n", b.Date.Format("2006-01-02"), b.machine(), b.Rounds)
			if machine != b.machine() {
				fmt.Fprintln(w, "The baseline was measured on another machine. Ratios depend on the CPU: before you believe a loss, write a")
				fmt.Fprintln(w, "baseline here with the older version.")
			}
		}
		return r.Results, nil
	}
	return b.decide(measure, w)
}

func (r *Report) machine() string   { return machineText(r.Machine, r.System) }
func (b *Baseline) machine() string { return machineText(b.Machine, b.System) }

// machineText names a machine without the Go version, which is the last part of system.
func machineText(model, system string) string {
	system, _, _ = strings.Cut(system, ",")
	return strings.TrimSpace(model + " " + system)
}

// decide is Check with any way to measure.
func (b *Baseline) decide(measure func(rows []Row) ([]Result, error), w io.Writer) error {
	once := func(rows []Row) (lost []Comparison, number map[Verdict]int, err error) {
		results, err := measure(rows)
		if err != nil {
			return nil, nil, err
		}
		all, err := b.compare(rows, results)
		if err != nil {
			return nil, nil, err
		}
		number = make(map[Verdict]int)
		for _, c := range all {
			if number[c.Verdict]++; c.Verdict == Slower {
				lost = append(lost, c)
			}
		}
		return lost, number, writeComparisons(w, all)
	}
	lost, number, err := once(CheckRows())
	if err != nil {
		return err
	}
	if n := number[Faster]; n > 0 {
		fmt.Fprintf(w, "%d rows are faster: commit a new baseline with the change that is the reason.\n", n)
	}
	if n := number[Unclear]; n > 0 {
		fmt.Fprintf(w, "%d rows are unclear: their rounds differ more than the rows have changed. Is the machine quiet?\n", n)
	}
	if len(lost) == 0 {
		_, err = fmt.Fprintln(w, "no row is slower than the baseline")
		return err
	}
	fmt.Fprintf(w, "%d rows seem slower. One measurement is not enough: measuring these rows again.\n", len(lost))
	again := make([]Row, len(lost))
	for i, c := range lost {
		again[i] = c.Row
	}
	if lost, _, err = once(again); err != nil {
		return err
	}
	if len(lost) == 0 {
		_, err = fmt.Fprintln(w, "no row was slower than the baseline in both measurements")
		return err
	}
	return &LossError{lost}
}

// writeComparisons writes a table.
func writeComparisons(w io.Writer, all []Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "op\tsize\tdepth\tpost\tCRC\tx TCP: baseline\tnow\tchange\tspread\tverdict\t")
	for i := range all {
		c := &all[i]
		post := c.Post
		if post == "" {
			post = "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%.3f\t%.3f\t%+.1f %%\t%.1f %%\t%s\t\n", c.Op, c.Size, c.Depth, post, c.CRC, c.Was, c.Now,
			100*c.Change(), 100*c.Spread/c.Was, c.Verdict)
	}
	return t.Flush()
}
