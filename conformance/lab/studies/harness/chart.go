package harness

import (
	"fmt"
	"slices"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// A Line is a contender in tables and plots.
type Line[Outcome any] struct {
	Name string
	Look plot.Look
	Fits func(*Outcome) bool // whether an outcome is the contender's
}

// A Value selects one of the figures in an outcome.
type Value[Outcome any] struct {
	Name string
	Of   func(*Outcome) float64
}

// A Chart shows outcomes by a number.
type Chart[Outcome any] struct {
	Title string
	Fits  func(*Outcome) bool // whether an outcome is shown
	X     func(*Outcome) float64
	Head  string               // name of X
	Text  func(float64) string // prints an X
	Lines []Line[Outcome]
}

// xs returns the numbers for which there are outcomes.
func (c *Chart[Outcome]) xs(outcomes []Outcome) (xs []float64) {
	for i := range outcomes {
		if c.Fits(&outcomes[i]) {
			xs = append(xs, c.X(&outcomes[i]))
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

// spread returns the range and the median of the rounds of one line at one number.
func (c *Chart[Outcome]) spread(outcomes []Outcome, l *Line[Outcome], x float64, v *Value[Outcome]) (low, median, high float64) {
	var all []float64
	for i := range outcomes {
		if o := &outcomes[i]; c.Fits(o) && l.Fits(o) && c.X(o) == x {
			all = append(all, v.Of(o))
		}
	}
	return Spread(all)
}

// Table returns a Markdown table below its title: a row for each number, and columns for the values
// of each line. The first value has its range.
func (c *Chart[Outcome]) Table(outcomes []Outcome, values ...Value[Outcome]) string {
	head := []string{c.Head}
	for _, l := range c.Lines {
		for i, v := range values {
			if i == 0 && l.Name != "" {
				v.Name = l.Name + ": " + v.Name
			}
			head = append(head, v.Name)
		}
	}
	var rows [][]string
	for _, x := range c.xs(outcomes) {
		row := []string{c.Text(x)}
		for i := range c.Lines {
			for j := range values {
				low, median, high := c.spread(outcomes, &c.Lines[i], x, &values[j])
				text := plot.Number(median)
				if j == 0 {
					text = fmt.Sprintf("%s (%s–%s)", text, plot.Number(low), plot.Number(high))
				}
				row = append(row, text)
			}
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("\n### %s\n\n%s", c.Title, Table(head, rows))
}

// Panel returns the chart of one value. Its bars are the range of the rounds. An axis is
// logarithmic, so it has no zeros.
func (c *Chart[Outcome]) Panel(outcomes []Outcome, v Value[Outcome]) plot.Panel {
	p := plot.Panel{Title: c.Title}
	for i := range c.Lines {
		line := plot.Line{Name: c.Lines[i].Name, Look: c.Lines[i].Look}
		for _, x := range c.xs(outcomes) {
			if low, median, high := c.spread(outcomes, &c.Lines[i], x, &v); low > 0 {
				line.Points = append(line.Points, plot.Point{X: x, Y: median, Low: low, High: high})
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}
