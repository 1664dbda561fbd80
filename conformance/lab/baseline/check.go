package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// tolerance is the part of its cost by which a row may grow: see the documentation of the program.
const tolerance = 0.15

// A verdict is the result of a comparison of a row with its baseline.
type verdict string

// The verdicts. Two measurements of a row overlap if a run of one is between the runs of the other.
const (
	same    verdict = "same"    // within the tolerance
	cheaper verdict = "cheaper" // less than the baseline, beyond the tolerance, and without overlap
	unclear verdict = "unclear" // beyond the tolerance, but with overlap
	dearer  verdict = "DEARER"  // more than the baseline, beyond the tolerance, and without overlap
)

// A comparison is a row next to its baseline.
type comparison struct {
	row
	Was, Now float64    // costs
	Range    [2]float64 // of Now
	verdict  verdict
}

// change returns the change of the cost as a part of the baseline.
func (c *comparison) change() float64 { return c.Now/c.Was - 1 }

// compare compares two measurements of a row.
func compare(was, now baselineRow) comparison {
	c := comparison{row: was.row, Was: was.Cost, Now: now.Cost, Range: now.Range, verdict: same}
	switch change := c.change(); {
	case max(change, -change) <= tolerance:
	case now.Range[0] <= was.Range[1] && was.Range[0] <= now.Range[1]:
		c.verdict = unclear
	case change < 0:
		c.verdict = cheaper
	default:
		c.verdict = dearer
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

// A LossError means that rows cost more than their baseline, in two measurements one after the
// other.
type LossError struct {
	Rows []comparison // of the second measurement
}

func (e *LossError) Error() string {
	text := make([]string, len(e.Rows))
	for i := range e.Rows {
		text[i] = fmt.Sprintf("%v (%+.0f %%)", e.Rows[i].row, 100*e.Rows[i].change())
	}
	return fmt.Sprintf("more processor time than the baseline in two measurements: %s", strings.Join(text, "; "))
}

// decide compares what measure measures with the baseline, and writes tables to w. It measures rows
// that seem dearer once more. If they are dearer again, the error is a *LossError.
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
			if number[c.verdict]++; c.verdict == dearer {
				lost = append(lost, c)
			}
		}
		return lost, number, writeComparisons(w, all)
	}
	lost, number, err := once(rows())
	if err != nil {
		return err
	}
	if n := number[cheaper]; n > 0 {
		fmt.Fprintf(w, "%d rows are cheaper: commit a new baseline with the change that is the reason.\n", n)
	}
	if n := number[unclear]; n > 0 {
		fmt.Fprintf(w, "%d rows are unclear: runs of both measurements overlap.\n", n)
	}
	if len(lost) == 0 {
		_, err = fmt.Fprintln(w, "no row costs more than the baseline")
		return err
	}
	fmt.Fprintf(w, "%d rows seem dearer. One measurement is not enough: measuring these rows again.\n", len(lost))
	again := make([]row, len(lost))
	for i, c := range lost {
		again[i] = c.row
	}
	if lost, _, err = once(again); err != nil {
		return err
	}
	if len(lost) == 0 {
		_, err = fmt.Fprintln(w, "no row cost more than the baseline in both measurements")
		return err
	}
	return &LossError{lost}
}

// writeComparisons writes a table.
func writeComparisons(w io.Writer, all []comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "op\tsize\tdepth\tpost\tCRC\tx TCP's CPU: baseline\tnow\trange\tchange\tverdict\t")
	for i := range all {
		c := &all[i]
		post := c.Post
		if post == "" {
			post = "-"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%.3f\t%.3f\t%.3f–%.3f\t%+.1f %%\t%s\t\n", c.Op, c.Size, c.Depth, post, c.CRC, c.Was, c.Now,
			c.Range[0], c.Range[1], 100*c.change(), c.verdict)
	}
	return t.Flush()
}
