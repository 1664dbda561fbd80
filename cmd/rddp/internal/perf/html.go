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

// plots returns the plots of the results that have more than a figure for the atomics' size.
func (r *Report) plots() (plots []template.HTML) {
	for _, p := range []struct {
		plot
		value func(*Result) float64
	}{
		{plot{title: "Throughput by size", unit: "MB/s"}, func(r *Result) float64 { return unless(r.isAnswered(), r.BytesPerS/1e6) }},
		{plot{title: "Message rate by size", unit: "thousand/s"}, func(r *Result) float64 { return r.MsgsPerS / 1e3 }},
		{plot{title: "Ratio to plain TCP by size", unit: "× TCP", linear: true, mark: 1}, func(r *Result) float64 { return r.RatioToTCP }},
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

// lines returns a line for each operation and its parameters. A value of 0 is no value.
func (r *Report) lines(value func(*Result) float64) (lines []line) {
	for i := range r.Results {
		v := &r.Results[i]
		y := value(v)
		if y <= 0 {
			continue
		}
		name := v.name()
		at := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if at < 0 {
			at, lines = len(lines), append(lines, line{name: name})
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
	Layer, Side, What, NS string
	Width                 string // of the bar, in percent of the longest
	Kind                  string // the class of the bar
}

func (b *Breakdown) view() breakdownView {
	v := breakdownView{Title: fmt.Sprintf("%s of %s, CRC %s", b.Op, sizeText(b.Size), b.CRC)}
	longest := max(b.Sum, b.TCP, b.WholeCPU, b.WholeTime, 1)
	add := func(layer, side, what, kind string, ns float64) {
		v.Rows = append(v.Rows, barRow{layer, side, what, fmt.Sprintf("%.0f", ns), fmt.Sprintf("%.1f", 100*max(ns, 0)/longest), kind})
	}
	for _, s := range b.Steps {
		add(s.Layer, s.Side, s.What, s.Layer, s.NS)
	}
	add("all", "both", "the steps together", "sum", b.Sum)
	add("toe", "both", "plain TCP alone, driven in the same way", "tcp", b.TCP)
	if b.WholeCPU > 0 {
		add("whole", "both", "processor time of the whole stack ("+b.WholeOp+")", "sum", b.WholeCPU)
		add("whole", "both", "of which no step: driver, scheduler, wake-ups", "sum", b.Rest())
		add("whole", "both", "elapsed time of the whole stack ("+b.WholeOp+")", "sum", b.WholeTime)
	}
	return v
}
