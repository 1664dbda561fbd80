package perf

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
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
		Plots      []template.HTML
		Breakdowns []breakdownView
	}
	p := page{Report: r, Summary: r.summary(), Buffers: r.buffers(), Columns: columns, Plots: r.plots()}
	for i := range r.Results {
		p.Rows = append(p.Rows, r.Results[i].row())
	}
	for i := range r.Breakdowns {
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

// plots returns the plots of all results.
func (r *Report) plots() (plots []template.HTML) {
	for _, p := range []struct {
		plot
		value func(*Result) float64
	}{
		{plot{title: "Throughput by size", unit: "MB/s"}, func(r *Result) float64 { return unless(r.isAnswered(), r.BytesPerS/1e6) }},
		{plot{title: "Message rate by size", unit: "thousand/s"}, func(r *Result) float64 { return r.MsgsPerS / 1e3 }},
		{plot{title: "Ratio to plain TCP by size", unit: "× TCP", mark: 1}, func(r *Result) float64 { return r.RatioToTCP }},
		{plot{title: "Latency by size, median", unit: "µs"}, func(r *Result) float64 { return r.latency().P50 }},
		{plot{title: "Latency by size, 99th percentile", unit: "µs"}, func(r *Result) float64 { return r.latency().P99 }},
		{plot{title: "Processor time by size, both ends", unit: "s/GB"}, func(r *Result) float64 { return r.CPUPerGB }},
	} {
		p.lines = r.lines(p.value)
		if svg := p.svg(); svg != "" {
			plots = append(plots, svg)
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

// hasSize reports whether the size of the atomics is also one of the other operations. If not, its
// results have no place in a plot by size.
func (r *Report) hasSize() bool {
	return slices.ContainsFunc(r.Results, func(v Result) bool { return v.Size == atomicSize && v.Op != "atomic" && v.Op != opTCPEcho })
}

// lines returns a line for each operation and its parameters. A value of 0 is no value.
func (r *Report) lines(value func(*Result) float64) (lines []line) {
	for i := range r.Results {
		v := &r.Results[i]
		y := value(v)
		if y <= 0 || v.Size == atomicSize && !r.hasSize() {
			continue
		}
		name := v.name()
		at := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if at < 0 {
			at, lines = len(lines), append(lines, line{name: name, look: lookOf(v)})
		}
		lines[at].points = append(lines[at].points, point{float64(v.Size), y})
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
	v := breakdownView{Title: fmt.Sprintf("%s of %s, CRC %s", b.Op, sizeText(b.Size), b.CRC)}
	longest := 1.0
	for _, s := range b.lines() {
		longest = max(longest, s.NS)
	}
	for _, s := range b.lines() {
		v.Rows = append(v.Rows, barRow{s, fmt.Sprintf("%.0f", s.NS), fmt.Sprintf("%.1f", 100*max(s.NS, 0)/longest)})
	}
	return v
}
