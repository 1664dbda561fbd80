package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// names are the ways in the document.
var names = map[string]string{
	wayNone: "no cache", wayTCP: "TCP", wayStream: "byte stream", wayRead: "RDMA Read", wayDevice: "RDMA Read, rddp run",
	wayUnchecked: "not validated",
}

var looks = map[string]plot.Look{
	wayNone: {Color: plot.Gray}, wayTCP: {Color: plot.Red}, wayStream: {Color: plot.Orange}, wayRead: {Color: plot.Blue},
	wayDevice: {Color: plot.Green}, wayUnchecked: {Color: plot.Text, Dashes: plot.Dotted},
}

// A point is a combination of parameters in the study, with its results.
type point struct {
	way    string
	share  float64
	busy   int
	rounds []outcome
}

// summarize combines the rounds of each trial.
func summarize(outcomes []outcome) (points []*point) {
	for _, o := range outcomes {
		i := slices.IndexFunc(points, func(p *point) bool { return p.way == o.Way && p.share == o.UpdateShare && p.busy == o.Busy })
		if i < 0 {
			i = len(points)
			points = append(points, &point{way: o.Way, share: o.UpdateShare, busy: o.Busy})
		}
		points[i].rounds = append(points[i].rounds, o)
	}
	slices.SortFunc(points, func(a, b *point) int {
		return cmp.Or(cmp.Compare(a.busy, b.busy), cmp.Compare(a.share, b.share), slices.Index(ways, a.way)-slices.Index(ways, b.way))
	})
	return points
}

// spread returns the lowest value of the rounds, the median (the lower one of two) and the highest.
func (p *point) spread(value func(*outcome) float64) (low, median, high float64) {
	var all []float64
	for i := range p.rounds {
		all = append(all, value(&p.rounds[i]))
	}
	return harness.Spread(all)
}

// text returns the median, and the range of the rounds.
func (p *point) text(value func(*outcome) float64) string {
	low, median, high := p.spread(value)
	return fmt.Sprintf("%s (%s–%s)", plot.Number(median), plot.Number(low), plot.Number(high))
}

// Values of an outcome. A trial without requests has none of them.
var (
	p50       = func(o *outcome) float64 { return o.P50 }
	p99       = func(o *outcome) float64 { return o.P99 }
	hits      = func(o *outcome) float64 { return 100 * float64(o.Hits) / float64(max(o.Requests, 1)) }
	stale     = func(o *outcome) float64 { return float64(o.Stale) }
	proxyTime = func(o *outcome) float64 { return o.ProxyCPU }
	serverCPU = func(o *outcome) float64 { return o.BackendCPU }
)

// figures returns the generated part of the document, and the plots by the names of their files.
func (s *study) figures(o *harness.Options, outcomes []outcome) (text string, files map[string]string) {
	var b strings.Builder
	t, points := s.trial, summarize(outcomes)
	fmt.Fprintf(&b, "%s%d pages of %d bytes, %d proxies with %d clients each.\n", o.Head(), t.Pages, pageLen, t.Proxies, t.Clients)
	for _, busy := range []int{0, loaded} {
		fmt.Fprintf(&b, "\n### Back end with %d busy goroutines\n\n", busy)
		b.WriteString(table(slices.DeleteFunc(slices.Clone(points), func(p *point) bool { return p.busy != busy }), "updates", (*point).shareText))
	}
	fmt.Fprintf(&b, "\n### By load, with %s updates\n\n", percent(usedShare))
	b.WriteString(table(slices.DeleteFunc(slices.Clone(points), func(p *point) bool { return p.share != usedShare }), "busy", (*point).busyText))
	files = map[string]string{"cache-rate.svg": rates(points), "cache-latency.svg": latencies(points)}
	return b.String(), files
}

func (p *point) shareText() string { return percent(p.share) }
func (p *point) busyText() string  { return fmt.Sprint(p.busy) }

func percent(share float64) string { return fmt.Sprintf("%g %%", 100*share) }

func table(points []*point, first string, of func(*point) string) string {
	head := []string{first, "validation", "responses/s", "p50 in µs", "p99 in µs", "hits in %", "stale", "CPU s: back end, proxies"}
	var rows [][]string
	for _, p := range points {
		_, hit, _ := p.spread(hits)
		_, _, old := p.spread(stale)
		_, b, _ := p.spread(serverCPU)
		_, c, _ := p.spread(proxyTime)
		rows = append(rows, []string{
			of(p), names[p.way], p.text((*outcome).rate), p.text(p50), p.text(p99), fmt.Sprintf("%.1f", hit),
			fmt.Sprintf("%.0f", old), fmt.Sprintf("%.2f, %.2f", b, c),
		})
	}
	return harness.Table(head, rows)
}

// zeroShare is the position of a share of 0 on the logarithmic axis.
const zeroShare = 0.003

func shareLabel(x float64) string {
	if x == zeroShare {
		return percent(0)
	}
	return percent(x)
}

// rates returns the plot of throughput by the share of updates.
func rates(points []*point) string {
	f := plot.Figure{
		Title: "Responses per second by the share of updates, back end with 0 and with 4 busy goroutines",
		X:     plot.Axis{Title: "share of updates (0 at the left edge)", Text: shareLabel},
		Y:     plot.Axis{Title: "responses per second", Text: plot.Number},
	}
	for _, busy := range []int{0, loaded} {
		f.Panels = append(f.Panels, panel(fmt.Sprintf("%d busy", busy), points,
			func(p *point) bool { return p.busy == busy }, func(p *point) float64 { return max(p.share, zeroShare) }, (*outcome).rate))
	}
	return f.SVG()
}

// zeroLoad is the position of an idle back end on the logarithmic axis.
const zeroLoad = 0.5

func loadLabel(x float64) string {
	if x == zeroLoad {
		return "0"
	}
	return plot.Number(x)
}

// latencies returns the plot of times by load.
func latencies(points []*point) string {
	f := plot.Figure{
		Title: "Time of a request by the load of the back end, " + percent(usedShare) + " updates",
		X:     plot.Axis{Title: "busy goroutines (0 at the left edge)", Text: loadLabel},
		Y:     plot.Axis{Title: "µs", Text: plot.Number},
	}
	used := func(p *point) bool { return p.share == usedShare }
	load := func(p *point) float64 { return max(float64(p.busy), zeroLoad) }
	f.Panels = []plot.Panel{panel("median", points, used, load, p50), panel("99th percentile", points, used, load, p99)}
	return f.SVG()
}

// panel returns the chart of a value, with a line for each way. Its bars are the range of the
// rounds.
func panel(title string, points []*point, wanted func(*point) bool, x func(*point) float64, value func(*outcome) float64) plot.Panel {
	chart := plot.Panel{Title: title}
	for _, way := range ways {
		line := plot.Line{Name: names[way], Look: looks[way]}
		for _, p := range points {
			if low, median, high := p.spread(value); p.way == way && wanted(p) && low > 0 {
				line.Points = append(line.Points, plot.Point{X: x(p), Y: median, Low: low, High: high})
			}
		}
		chart.Lines = append(chart.Lines, line)
	}
	return chart
}
