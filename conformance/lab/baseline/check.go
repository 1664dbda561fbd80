package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// tolerance is the part of its ratio to plain TCP that a row may lose. With both ends on one CPU,
// ratios repeat within 2 % on a quiet machine.
const tolerance = 0.05

// A verdict is the result of a comparison of a row with its baseline.
type verdict string

// The verdicts. The spread of a row is half the distance between the quartiles of its rounds, added
// up for the baseline and the new measurement.
const (
	same    verdict = "same"    // within the tolerance
	faster  verdict = "faster"  // more than the baseline, beyond the tolerance and beyond the spread
	unclear verdict = "unclear" // beyond the tolerance, but not beyond the spread
	slower  verdict = "SLOWER"  // less than the baseline, beyond the tolerance and beyond the spread
)

// A comparison is a row next to its baseline.
type comparison struct {
	row
	Was, Now float64 // ratios to plain TCP
	Spread   float64 // in units of the ratio
	verdict  verdict
}

// change returns the change of the ratio as a part of the baseline.
func (c *comparison) change() float64 { return c.Now/c.Was - 1 }

// compare compares two measurements of a row.
func compare(was, now baselineRow) comparison {
	c := comparison{row: was.row, Was: was.Ratio, Now: now.Ratio, verdict: same}
	for _, q := range [][2]float64{was.Quartiles, now.Quartiles} {
		c.Spread += (q[1] - q[0]) / 2
	}
	change := c.Now - c.Was
	switch beyond := max(change, -change); {
	case beyond <= tolerance*c.Was:
	case beyond <= c.Spread:
		c.verdict = unclear
	case change > 0:
		c.verdict = faster
	default:
		c.verdict = slower
	}
	return c
}

// compare compares results of rows with the baseline.
func (b *baseline) compare(rows []row, results []result) (all []comparison, err error) {
	for _, was := range b.Rows {
		for _, w := range rows {
			if w != was.row {
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
	Rows []comparison // of the second measurement
}

func (e *LossError) Error() string {
	text := make([]string, len(e.Rows))
	for i := range e.Rows {
		text[i] = fmt.Sprintf("%v (%+.0f %%)", e.Rows[i].row, 100*e.Rows[i].change())
	}
	return fmt.Sprintf("slower than the baseline in two measurements: %s", strings.Join(text, "; "))
}

// decide compares what measure measures with the baseline, and writes tables to w. It measures rows
// that seem slower once more. If they are slower again, the error is a *LossError.
func (b *baseline) decide(measure func(rows []row) ([]result, error), w io.Writer) error {
	once := func(asked []row) (lost []comparison, number map[verdict]int, err error) {
		results, err := measure(asked)
		if err != nil {
			return nil, nil, err
		}
		all, err := b.compare(asked, results)
		if err != nil {
			return nil, nil, err
		}
		number = make(map[verdict]int)
		for _, c := range all {
			if number[c.verdict]++; c.verdict == slower {
				lost = append(lost, c)
			}
		}
		return lost, number, writeComparisons(w, all)
	}
	lost, number, err := once(rows())
	if err != nil {
		return err
	}
	if n := number[faster]; n > 0 {
		fmt.Fprintf(w, "%d rows are faster: commit a new baseline with the change that is the reason.\n", n)
	}
	if n := number[unclear]; n > 0 {
		fmt.Fprintf(w, "%d rows are unclear: their rounds differ more than the rows have changed. Is the machine quiet?\n", n)
	}
	if len(lost) == 0 {
		_, err = fmt.Fprintln(w, "no row is slower than the baseline")
		return err
	}
	fmt.Fprintf(w, "%d rows seem slower. One measurement is not enough: measuring these rows again.\n", len(lost))
	again := make([]row, len(lost))
	for i, c := range lost {
		again[i] = c.row
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
func writeComparisons(w io.Writer, all []comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "op\tsize\tdepth\tpost\tCRC\tx TCP: baseline\tnow\tchange\tspread\tverdict\t")
	for i := range all {
		c := &all[i]
		post := c.Post
		if post == "" {
			post = "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%.3f\t%.3f\t%+.1f %%\t%.1f %%\t%s\t\n", c.Op, c.Size, c.Depth, post, c.CRC, c.Was, c.Now,
			100*c.change(), 100*c.Spread/c.Was, c.verdict)
	}
	return t.Flush()
}
