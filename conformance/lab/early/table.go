package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// figures writes the generated part of the document, and returns the plots by the names of their
// files.
func (s *study) figures(w io.Writer, date time.Time, host string) (plots map[string]string) {
	plots = make(map[string]string)
	fmt.Fprintf(w, "Measured on %s, on %s; rddp %s.\n\n", date.Format("2006-01-02"), host, s.revision)
	fmt.Fprintf(w, "Each figure is from %d rounds of %v with the seeds %d to %d. The EMSS is %d bytes.\n", s.rounds, s.time, s.seed, s.seed+uint64(s.rounds)-1,
		s.points[0].with.emss)
	for i := range s.networks {
		n := &s.networks[i]
		var points []point
		for _, p := range s.points {
			if p.network == n {
				points = append(points, p)
			}
		}
		fmt.Fprintf(w, "\n## Link: %s\n\n", n.name)
		for _, d := range n.drawings(points) {
			if svg := d.figure.SVG(); svg != "" {
				name := n.file + "-" + d.file + ".svg"
				plots[name] = svg
				fmt.Fprintf(w, "![%s](%s)\n\n", d.figure.Title, name)
			}
		}
		for i, t := range n.sheets() {
			if i > 0 {
				fmt.Fprintln(w)
			}
			t.write(w, points)
		}
	}
	return plots
}

// A sheet is a table with a row for each point.
type sheet struct {
	title   string
	columns []column
}

// A column is a heading and the text of each cell.
type column struct {
	name string
	cell func(p *point) string
}

func (t sheet) write(w io.Writer, points []point) {
	fmt.Fprintf(w, "%s:\n\n|", t.title)
	for _, c := range t.columns {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, "\n|%s\n", strings.Repeat(" --- |", len(t.columns)))
	for i := range points {
		fmt.Fprint(w, "|")
		for _, c := range t.columns {
			fmt.Fprintf(w, " %s |", c.cell(&points[i]))
		}
		fmt.Fprintln(w)
	}
}

// openShare returns the share of time with bytes behind a gap.
func (r *result) openShare() string { return percent(ratio(r.open.Seconds(), r.elapsed.Seconds())) }

// behindShare returns the number of segments that arrived behind a gap, and their share.
func (r *result) behindShare() string {
	return fmt.Sprintf("%d (%s)", len(r.behind), percent(ratio(float64(len(r.behind)), float64(len(r.all)))))
}

// kB prints a mean and a maximum of bytes.
func kB(mean float64, most uint64) string {
	return fmt.Sprintf("%s (%s)", thousands(mean), thousands(float64(most)))
}

// thousands prints v / 1000.
func thousands(v float64) string {
	if v == 0 {
		return "0"
	}
	return fmt.Sprintf("%.1f", v/1e3)
}

// times prints the mean, the median and the 99th percentile of sorted times.
func times(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "–"
	}
	var text []string
	for _, d := range []time.Duration{mean(sorted), percentile(sorted, 50), percentile(sorted, 99)} {
		v := d.Seconds() * 1e3
		if v >= 10 {
			text = append(text, fmt.Sprintf("%.1f", v))
		} else {
			text = append(text, fmt.Sprintf("%.2f", v))
		}
	}
	return strings.Join(text, ", ")
}

// constants prints a mean and a maximum as multiples of a size, or a dash if nothing is lost.
func (p *point) constants(mean float64, most uint64, size float64) string {
	if p.loss == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.1f)", ratio(mean, size), ratio(float64(most), size))
}

// percent prints a share.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", share*100) }
