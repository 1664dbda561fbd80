package main

import (
	"strconv"
	"time"

	"github.com/rddp/rddp/internal/plot"
)

// An axis is what the x of a chart stands for.
type axis struct {
	name string
	of   func(p *point) int // 0 has no place on a logarithmic axis
	text func(x int) string
}

// lossUnit is the unit of the axis of losses.
const lossUnit = 1e-5

var (
	byLoss = axis{"loss", func(p *point) int { return int(p.loss/lossUnit + 0.5) }, func(x int) string {
		return percent(float64(x) * lossUnit)
	}}
	byConnections = axis{"number of connections", func(p *point) int { return p.connections }, strconv.Itoa}
)

// charts returns the charts of a link.
func (n *network) charts(points []point) []*plot.Chart {
	if n.connections != nil {
		return []*plot.Chart{byConnections.bytes("Bytes behind the gaps of all connections", points)}
	}
	return []*plot.Chart{byLoss.bytes("Bytes behind a gap", points), byLoss.times("Time until the payload of a segment behind a gap is in place", points)}
}

// bytes returns a chart of the bytes behind gaps, with the sizes of RFC 5044.
func (a axis) bytes(title string, points []point) *plot.Chart {
	return &plot.Chart{Title: title + " by " + a.name, Unit: "kB", X: a.text, Lines: []plot.Line{
		a.line("without: wait, mean", plain(red), points, func(p *point) float64 { return p.without.held() / 1e3 }),
		a.line("without: wait, maximum", dashed(red), points, func(p *point) float64 { return float64(p.without.most.held) / 1e3 }),
		a.line("with: wait, mean", plain(blue), points, func(p *point) float64 { return p.with.waiting() / 1e3 }),
		a.line("with: wait, maximum", dashed(blue), points, func(p *point) float64 { return float64(p.with.most.waiting) / 1e3 }),
		a.line("BufferSizeTCP, K = 1", dotted(grey), points, func(p *point) float64 { return p.bandwidthDelay() / 1e3 }),
		a.line("BufferSizeNAF, K1 = K2 = 1", dotted(brown), points, func(p *point) float64 { return p.nonAligned() / 1e3 }),
		a.line("BufferSizeAF, K2 = 1", dotted(green), points, func(p *point) float64 { return p.aligned() / 1e3 }),
	}}
}

// times returns a chart of the times until payload is in place.
func (a axis) times(title string, points []point) *plot.Chart {
	return &plot.Chart{Title: title + " by " + a.name, Unit: "ms", X: a.text, Lines: []plot.Line{
		a.line("without: median", plain(red), points, func(p *point) float64 { return inMS(percentile(p.without.behind, 50)) }),
		a.line("without: p99", dashed(red), points, func(p *point) float64 { return inMS(percentile(p.without.behind, 99)) }),
		a.line("with: median", plain(blue), points, func(p *point) float64 { return inMS(percentile(p.with.behind, 50)) }),
		a.line("with: p99", dashed(blue), points, func(p *point) float64 { return inMS(percentile(p.with.behind, 99)) }),
	}}
}

const red, blue, grey, brown, green = "#d62728", "#1f77b4", "#7f7f7f", "#8c564b", "#2ca02c"

func plain(colour string) plot.Look  { return plot.Look{Colour: colour} }
func dashed(colour string) plot.Look { return plot.Look{Colour: colour, Dashes: "6 4"} }
func dotted(colour string) plot.Look { return plot.Look{Colour: colour, Dashes: "2 3"} }

// line returns the line of a value. Both axes are logarithmic, so the line leaves out what is 0.
func (a axis) line(name string, look plot.Look, points []point, y func(*point) float64) plot.Line {
	l := plot.Line{Name: name, Look: look}
	for i := range points {
		if p := &points[i]; a.of(p) > 0 && y(p) > 0 {
			l.Points = append(l.Points, plot.Point{X: float64(a.of(p)), Y: y(p)})
		}
	}
	return l
}

func inMS(d time.Duration) float64 { return d.Seconds() * 1e3 }
