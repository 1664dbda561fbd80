package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// names are the ways in the document.
var names = map[string]string{wayTCP: "TCP", wayStream: "byte stream", wayPlaced: "byte stream with rendezvous"}

var looks = map[string]plot.Look{wayTCP: {Color: plot.Red}, wayStream: {Color: plot.Blue}, wayPlaced: {Color: plot.Orange}}

// title describes the measurement of a plan.
func (t *trial) title() string {
	schedule := "round-robin"
	if t.Demand {
		schedule = "demand-driven"
	}
	switch {
	case t.Window == 1:
		return "one block at a time, no computation"
	case t.Copies == 1:
		return fmt.Sprintf("%d blocks on their way, no computation", t.Window)
	case t.Uneven == 1:
		return fmt.Sprintf("%d equal copies, %s", t.Copies, schedule)
	}
	return fmt.Sprintf("%d copies, one %g times slower, %s", t.Copies, t.Uneven, schedule)
}

// is reports whether an outcome belongs to this plan.
func (t *trial) is(o *outcome) bool {
	return o.Copies == t.Copies && o.Window == t.Window && o.Cost == t.Cost && o.Uneven == t.Uneven && o.Demand == t.Demand
}

func (o *outcome) blocks() (n int) {
	for _, share := range o.Blocks {
		n += share
	}
	return n
}

// rate returns MB per second.
func (o *outcome) rate() float64 { return float64(o.blocks()*o.Size) * 1e-6 / o.Seconds }

// slowShare returns the share of the first copy in percent.
func slowShare(o *outcome) float64 { return 100 * float64(o.Blocks[0]) / float64(max(o.blocks(), 1)) }

func p50(o *outcome) float64 { return o.P50 }
func p99(o *outcome) float64 { return o.P99 }

// spread returns the range and the median of a value, of all rounds of a trial.
func spread(outcomes []outcome, plan *trial, way string, size int, value func(*outcome) float64) (low, median, high float64) {
	var all []float64
	for i := range outcomes {
		if o := &outcomes[i]; plan.is(o) && o.Way == way && o.Size == size {
			all = append(all, value(o))
		}
	}
	return harness.Spread(all)
}

// figures returns the generated part of the document, and the plots by the names of their files.
func figures(s *harness.Options, outcomes []outcome) (text string, plots map[string]string) {
	var b strings.Builder
	b.WriteString(s.Head() + "\n")
	for i := range plans {
		fmt.Fprintf(&b, "\n### %s\n\n%s", plans[i].title(), table(outcomes, &plans[i]))
	}
	fmt.Fprintf(&b, "\n### With a guarantee\n\n%s", guarantees(outcomes))
	latency := plot.Figure{Title: "Time of a block from the source to the sink by its size", Y: plot.Axis{Title: "µs", Text: plot.Number}}
	rate := plot.Figure{Title: "Throughput by the size of a block", Y: plot.Axis{Title: "MB/s", Text: plot.Number}}
	for _, f := range []*plot.Figure{&latency, &rate} {
		f.X = plot.Axis{Title: "size of a block", Text: plot.Size}
	}
	latency.Panels = []plot.Panel{panel("median, "+plans[0].title(), outcomes, &plans[0], p50), panel("99th percentile", outcomes, &plans[0], p99)}
	for i := range plans[1:] {
		rate.Panels = append(rate.Panels, panel(plans[i+1].title(), outcomes, &plans[i+1], (*outcome).rate))
	}
	return b.String(), map[string]string{"filter-latency.svg": latency.SVG(), "filter-rate.svg": rate.SVG()}
}

func table(outcomes []outcome, plan *trial) string {
	head := []string{"block"}
	for _, way := range ways {
		head = append(head, names[way]+": MB/s", "p50, p99 in µs")
		if plan.Copies > 1 {
			head = append(head, "first copy's share")
		}
	}
	var rows [][]string
	for _, size := range sizes {
		row := []string{plot.Size(float64(size))}
		for _, way := range ways {
			low, rate, high := spread(outcomes, plan, way, size, (*outcome).rate)
			_, half, _ := spread(outcomes, plan, way, size, p50)
			_, most, _ := spread(outcomes, plan, way, size, p99)
			row = append(row, fmt.Sprintf("%s (%s–%s)", plot.Number(rate), plot.Number(low), plot.Number(high)), fmt.Sprintf("%.0f, %.0f", half, most))
			if plan.Copies > 1 {
				_, share, _ := spread(outcomes, plan, way, size, slowShare)
				row = append(row, fmt.Sprintf("%.0f %%", share))
			}
		}
		rows = append(rows, row)
	}
	return harness.Table(head, rows)
}

// bounds are times that a program may guarantee, in µs.
var bounds = []float64{50, 100, 200, 500, 1000, 2000}

// guarantees returns the table of the highest throughput whose 99th percentile of the time of a
// block keeps a bound, and of the size of the blocks with it.
func guarantees(outcomes []outcome) string {
	head := []string{"at most"}
	for _, way := range ways {
		head = append(head, names[way]+": MB/s, block")
	}
	var rows [][]string
	for _, bound := range bounds {
		row := []string{fmt.Sprintf("%.0f µs", bound)}
		for _, way := range ways {
			row = append(row, best(outcomes, way, bound))
		}
		rows = append(rows, row)
	}
	return harness.Table(head, rows)
}

func best(outcomes []outcome, way string, bound float64) string {
	text, most := "none", 0.0
	for i := range plans[:2] { // the plans without computation
		for _, size := range sizes {
			_, rate, _ := spread(outcomes, &plans[i], way, size, (*outcome).rate)
			if _, time, _ := spread(outcomes, &plans[i], way, size, p99); time <= bound && rate > most {
				text, most = fmt.Sprintf("%s, %s", plot.Number(rate), plot.Size(float64(size))), rate
			}
		}
	}
	return text
}

// panel returns the chart of a value, with a line for each way. Its bars are the range of the
// rounds.
func panel(title string, outcomes []outcome, plan *trial, value func(*outcome) float64) plot.Panel {
	chart := plot.Panel{Title: title}
	for _, way := range ways {
		line := plot.Line{Name: names[way], Look: looks[way]}
		for _, size := range sizes {
			if low, median, high := spread(outcomes, plan, way, size, value); low > 0 {
				line.Points = append(line.Points, plot.Point{X: float64(size), Y: median, Low: low, High: high})
			}
		}
		chart.Lines = append(chart.Lines, line)
	}
	return chart
}
