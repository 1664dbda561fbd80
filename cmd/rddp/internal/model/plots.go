package model

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/rddp/rddp/internal/plot"
)

//go:embed report.html
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

// colours are those of the links, in the order of the Report.
var colours = []string{"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"}

// Latency returns the plot of latency by size.
func (r *Report) Latency() *plot.Chart {
	return r.chart("Latency by size", "µs", func(v Result) float64 { return v.LatencyUS })
}

// Bandwidth returns the plot of bandwidth by size.
func (r *Report) Bandwidth() *plot.Chart {
	return r.chart("Bandwidth by size", "Gb/s", func(v Result) float64 { return v.BytesPerS * 8e-9 })
}

// chart returns a plot with two lines for each link: dashes for coarse-grained pipelining.
func (r *Report) chart(title, unit string, y func(Result) float64) *plot.Chart {
	c := &plot.Chart{Title: title, Unit: unit, X: plot.SizeText}
	for i, p := range r.Links {
		for _, pipelining := range []string{"coarse", "fine"} {
			l := plot.Line{Name: p.Name + " " + pipelining, Look: plot.Look{Colour: colours[i%len(colours)]}}
			if pipelining == "coarse" {
				l.Look.Dashes = "6 4"
			}
			for _, v := range r.Results {
				if v.Link == p.Name && v.Pipelining == pipelining {
					l.Points = append(l.Points, plot.Point{X: float64(v.Size), Y: y(v)})
				}
			}
			c.Lines = append(c.Lines, l)
		}
	}
	return c
}

// WriteHTML writes the report as one HTML document that needs nothing else.
func (r *Report) WriteHTML(w io.Writer) error {
	type table struct {
		Summary string
		Rows    [][]string
	}
	page := struct {
		Columns []string
		Tables  []table
		Plots   []template.HTML
		Style   template.CSS
		Legend  string
	}{Columns: columns, Style: plot.Style, Legend: r.legend()}
	for _, c := range []*plot.Chart{r.Latency(), r.Bandwidth()} {
		page.Plots = append(page.Plots, template.HTML(c.SVG())) //nolint:gosec // all text in it is escaped
	}
	for _, p := range r.Links {
		page.Tables = append(page.Tables, table{summary(p), r.rows(p.Name)})
	}
	return reportTemplate.Execute(w, page)
}
