package main

import (
	"strconv"
	"time"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// An axis is the meaning of the x of a figure.
type axis struct {
	name string
	of   func(p *point) float64 // 0 has no place on a logarithmic axis
	text func(x float64) string
}

var (
	byLoss        = axis{"loss", func(p *point) float64 { return p.loss }, percent}
	byConnections = axis{"number of connections", func(p *point) float64 { return float64(p.connections) }, func(x float64) string {
		return strconv.Itoa(int(x))
	}}
)

// A drawing is a figure, and the end of its file name.
type drawing struct {
	file   string
	figure *plot.Figure
}

// drawings returns the figures of a link.
func (n *network) drawings(points []point) []drawing {
	if n.connections != nil {
		return []drawing{{"bytes", byConnections.bytes("Bytes behind the gaps of all connections", points)}}
	}
	return []drawing{
		{"bytes", byLoss.bytes("Bytes behind a gap", points)},
		{"time", byLoss.times("Time until the payload of a segment behind a gap is in place", points)},
	}
}

// bytes returns a figure of the bytes behind gaps, with the sizes of RFC 5044. Its bars go from the
// mean to the maximum.
func (a axis) bytes(title string, points []point) *plot.Figure {
	const measured = "measured: mean, up to the maximum"
	return a.figure(title, "kB",
		plot.Panel{Title: "without early placement", Lines: []plot.Line{
			a.line(measured, plot.Look{Color: plot.Red}, points, func(p *point) (y, high float64) {
				return p.without.held() / 1e3, float64(p.without.most.held) / 1e3
			}),
			a.model("BufferSizeTCP, K = 1", plot.Gray, points, (*point).bandwidthDelay),
			a.model("BufferSizeNAF, K1 = K2 = 1", plot.Brown, points, (*point).nonAligned),
		}},
		plot.Panel{Title: "with early placement", Lines: []plot.Line{
			a.line(measured, plot.Look{Color: plot.Blue}, points, func(p *point) (y, high float64) {
				return p.with.waiting() / 1e3, float64(p.with.most.waiting) / 1e3
			}),
			a.model("BufferSizeAF, K2 = 1", plot.Green, points, (*point).aligned),
		}})
}

// times returns a figure of the times until payload is in place. Its bars go from the median to the
// 99th percentile.
func (a axis) times(title string, points []point) *plot.Figure {
	times := func(behind []time.Duration) (y, high float64) {
		return inMS(percentile(behind, 50)), inMS(percentile(behind, 99))
	}
	return a.figure(title, "ms", plot.Panel{Title: "median, up to the 99th percentile", Lines: []plot.Line{
		a.line("without early placement", plot.Look{Color: plot.Red}, points, func(p *point) (y, high float64) { return times(p.without.behind) }),
		a.line("with early placement", plot.Look{Color: plot.Blue}, points, func(p *point) (y, high float64) { return times(p.with.behind) }),
	}})
}

func (a axis) figure(title, unit string, panels ...plot.Panel) *plot.Figure {
	return &plot.Figure{
		Title: title + " by " + a.name, X: plot.Axis{Title: a.name, Text: a.text}, Y: plot.Axis{Title: unit, Text: plot.Number}, Panels: panels,
	}
}

// line returns the line of a value with bars up to high. Both axes are logarithmic, so the line
// leaves out values of 0.
func (a axis) line(name string, look plot.Look, points []point, value func(*point) (y, high float64)) plot.Line {
	l := plot.Line{Name: name, Look: look}
	for i := range points {
		p := &points[i]
		y, high := value(p)
		if a.of(p) <= 0 || y <= 0 {
			continue
		}
		at := plot.Point{X: a.of(p), Y: y}
		if high > 0 {
			at.Low, at.High = y, high
		}
		l.Points = append(l.Points, at)
	}
	return l
}

// model returns the line of a size of RFC 5044.
func (a axis) model(name string, color plot.Color, points []point, size func(*point) float64) plot.Line {
	return a.line(name, plot.Look{Color: color, Dashes: plot.Dotted}, points, func(p *point) (y, high float64) { return size(p) / 1e3, 0 })
}

func inMS(d time.Duration) float64 { return d.Seconds() * 1e3 }
