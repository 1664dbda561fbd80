package main

import (
	"fmt"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// The kinds of objects in model's output. Its package documents them.
const (
	kindParameters = "parameters" // of a link
	kindResult     = "result"
)

// A computed is the output of model.
type computed struct {
	links   []modelLink
	results []modelResult
}

type modelLink struct {
	Link             string
	MaxPacket        int  `json:"max_packet"`
	Fragment         int  `json:"fragment"`
	SeparateChecksum bool `json:"separate_checksum"`
}

type modelResult struct {
	Link       string
	Size       int
	Pipelining string
	LatencyUS  float64 `json:"latency_us"`
	BytesPerS  float64 `json:"bytes_per_s"`
	OfLink     float64 `json:"of_link"`
	Bottleneck string
	Threshold  int
	Difference float64 `json:"difference_percent"`
}

func (c *computed) add(kind string, line []byte) (known bool, err error) {
	switch kind {
	case kindParameters:
		return decode(&c.links, line)
	case kindResult:
		return decode(&c.results, line)
	}
	return false, nil
}

func (c *computed) drawings() []drawing {
	return []drawing{
		{"latency", c.figure("Latency by size", "µs", func(r modelResult) float64 { return r.LatencyUS })},
		{"bandwidth", c.figure("Bandwidth by size", "Gb/s", func(r modelResult) float64 { return r.BytesPerS * 8e-9 })},
	}
}

// figure returns a figure with a panel for each link, with both kinds of pipelining.
func (c *computed) figure(title, unit string, y func(modelResult) float64) *plot.Figure {
	f := &plot.Figure{Title: title, X: plot.Axis{Title: "bytes of a message", Text: plot.Size}, Y: plot.Axis{Title: unit, Text: plot.Number}}
	for _, link := range c.links {
		coarse := plot.Line{Name: "coarse (store and forward)", Look: plot.Look{Color: plot.Orange, Wide: true}}
		fine := plot.Line{Name: "fine (cut-through)", Look: plot.Look{Color: plot.Blue}}
		for _, r := range c.results {
			if r.Link != link.Link {
				continue
			}
			l := &coarse
			if r.Pipelining == "fine" {
				l = &fine
			}
			l.Points = append(l.Points, plot.Point{X: float64(r.Size), Y: y(r)})
		}
		f.Panels = append(f.Panels, plot.Panel{Title: link.Link, Lines: []plot.Line{coarse, fine}})
	}
	return f
}

func (c *computed) page() *page {
	p := &page{Title: "An offload engine on links of several rates", Texts: []string{
		"Latency is from the post to the peer's program, bandwidth that of a long stream in one direction; both are the model's, and nothing is measured. " +
			"Limit is the stage that limits the bandwidth. Threshold is how many bytes of a packet the link waits for. " +
			"Difference is the largest one between the simulation and the model.",
	}}
	for _, link := range c.links {
		t := table{
			Title:   fmt.Sprintf("%s: packets of %s, fragments of %s", link.Link, plot.Size(float64(link.MaxPacket)), plot.Size(float64(link.Fragment))),
			Columns: []string{"size", "pipelining", "latency in µs", "Gb/s", "of the link", "limit", "threshold", "difference"},
		}
		if link.SeparateChecksum {
			t.Title += ", the checksum apart"
		}
		for _, r := range c.results {
			if r.Link == link.Link {
				t.Rows = append(t.Rows, row{Cells: []string{
					plot.Size(float64(r.Size)), r.Pipelining, fmt.Sprintf("%.3f", r.LatencyUS), fmt.Sprintf("%.3f", r.BytesPerS*8e-9),
					fmt.Sprintf("%.0f %%", 100*r.OfLink), r.Bottleneck, plot.Size(float64(r.Threshold)), fmt.Sprintf("%.3f %%", r.Difference),
				}})
			}
		}
		p.Tables = append(p.Tables, t)
	}
	return p
}
