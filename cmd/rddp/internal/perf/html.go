package perf

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rddp/rddp/internal/plot"
)

//go:embed report.html
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

// WriteHTML writes the report as one HTML document that needs nothing else: no script, no style
// sheet, no picture.
func (r *Report) WriteHTML(w io.Writer) error {
	type page struct {
		*Report
		Summary    string
		Buffers    string
		Columns    []string
		Rows       [][]string
		IdleNames  []string
		IdleRows   [][]string
		Plots      []template.HTML
		Style      template.CSS
		Breakdowns []breakdownView
		LayerNames []string
		Layers     [][]string
	}
	p := page{Report: r, Summary: r.summary(), Buffers: r.buffers(), Columns: columns, Plots: r.plots(), Style: plot.Style, LayerNames: layerColumns, IdleNames: idleColumns}
	for i := range r.Results {
		p.Rows = append(p.Rows, r.Results[i].row())
	}
	for i := range r.Idles {
		p.IdleRows = append(p.IdleRows, r.Idles[i].row())
	}
	for i := range r.Breakdowns {
		p.Layers = append(p.Layers, r.Breakdowns[i].layerRow())
		p.Breakdowns = append(p.Breakdowns, r.Breakdowns[i].view())
	}
	return reportTemplate.Execute(w, p)
}

// buffers describes the settings of TCP.
func (r *Report) buffers() string {
	text := "congestion control of the system"
	if r.Congestion != "" {
		text = "congestion control " + r.Congestion
	}
	if r.Buffer > 0 {
		return text + fmt.Sprintf(", buffers of %d bytes", r.Buffer)
	}
	return text + ", automatic buffers"
}

// plots returns the plots of all results: by size, or, if there are several numbers of connections,
// by that number for each size.
func (r *Report) plots() (plots []template.HTML) {
	if len(r.Conns) < 2 {
		return plotsOf(r.Results, plot.Chart{Title: "size", X: plot.SizeText}, func(r *Result) float64 { return float64(r.Size) })
	}
	groups := make(map[int][]Result)
	for _, v := range r.Results {
		groups[v.Size] = append(groups[v.Size], v)
	}
	for _, size := range slices.Sorted(maps.Keys(groups)) {
		p := plot.Chart{Title: "number of connections, " + plot.SizeText(size), X: strconv.Itoa}
		plots = append(plots, plotsOf(groups[size], p, func(r *Result) float64 { return float64(r.Conns) })...)
	}
	return plots
}

// plotsOf returns the plots of results. form says what their x axis shows, and x returns that of a
// result.
func plotsOf(results []Result, form plot.Chart, x func(*Result) float64) (plots []template.HTML) {
	for _, k := range []struct {
		title, unit string
		mark        float64
		value       func(*Result) float64
	}{
		{"Throughput", "MB/s", 0, func(r *Result) float64 { return unless(r.isAnswered(), r.BytesPerS/1e6) }},
		{"Message rate", "thousand/s", 0, func(r *Result) float64 { return r.MsgsPerS / 1e3 }},
		{"Ratio to plain TCP", "× TCP", 1, func(r *Result) float64 { return r.RatioToTCP }},
		{"Latency, median", "µs", 0, func(r *Result) float64 { return r.latency().P50 }},
		{"Latency, 99th percentile", "µs", 0, func(r *Result) float64 { return r.latency().P99 }},
		{"Processor time, both ends", "s/GB", 0, func(r *Result) float64 { return r.CPUPerGB }},
	} {
		p := form
		p.Title, p.Unit, p.Mark = k.title+" by "+form.Title, k.unit, k.mark
		p.Lines = linesOf(results, x, k.value)
		if svg := p.SVG(); svg != "" {
			plots = append(plots, template.HTML(svg)) //nolint:gosec // all text in it is escaped
		}
	}
	return plots
}

func unless(not bool, v float64) float64 {
	if not {
		return 0
	}
	return v
}

// isAnswered reports whether the operations wait for answers one by one, so that their throughput
// says little.
func (r *Result) isAnswered() bool { return r.Lat != nil }

func (r *Result) latency() Latency {
	if r.Lat == nil {
		return Latency{}
	}
	return *r.Lat
}

// linesOf returns a line for each operation and its parameters. A y of 0 is no value. The words of
// atomics have a size of their own, so a plot by size has no line for them.
func linesOf(results []Result, x, y func(*Result) float64) (lines []plot.Line) {
	atomics := !slices.ContainsFunc(results, func(v Result) bool { return v.Size != atomicSize })
	for i := range results {
		v := &results[i]
		to := y(v)
		if to <= 0 || !atomics && v.Size == atomicSize && (v.Op == "atomic" || v.Op == opTCPEcho) {
			continue
		}
		name := v.name()
		at := slices.IndexFunc(lines, func(l plot.Line) bool { return l.Name == name })
		if at < 0 {
			at, lines = len(lines), append(lines, plot.Line{Name: name, Look: lookOf(v)})
		}
		lines[at].Points = append(lines[at].Points, plot.Point{X: x(v), Y: to})
	}
	return lines
}

// name is what the results of one operation and its parameters share over all sizes.
func (r *Result) name() string {
	parts := []string{r.Op}
	if r.Post != "" {
		parts = append(parts, fmt.Sprintf("×%d", r.Depth))
		if r.Depth > 1 {
			parts = append(parts, r.Post)
		}
	}
	if r.CRC == "off" {
		parts = append(parts, "no CRC")
	}
	return strings.Join(parts, " ")
}

// A breakdownView is a Breakdown with the lengths of its bars.
type breakdownView struct {
	Title string
	Rows  []barRow
}

type barRow struct {
	Step
	Text  string // of NS
	Width string // of the bar, in percent of the longest
}

func (b *Breakdown) view() breakdownView {
	v := breakdownView{Title: fmt.Sprintf("%s of %s, CRC %s", b.Op, plot.SizeText(b.Size), b.CRC)}
	longest := 1.0
	for _, s := range b.lines() {
		longest = max(longest, s.NS)
	}
	for _, s := range b.lines() {
		v.Rows = append(v.Rows, barRow{s, fmt.Sprintf("%.0f", s.NS), fmt.Sprintf("%.1f", 100*max(s.NS, 0)/longest)})
	}
	return v
}
