package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// A quantity is the meaning of the y of a figure.
type quantity struct {
	file, title, unit string
	mark              float64
	value             func(r *result) plot.Point // without X; a Y of 0 means no value
}

var quantities = []quantity{
	{"throughput", "Throughput", "MB/s", 0, func(r *result) plot.Point {
		if r.Lat != nil { // the operations wait for answers one by one, so their throughput says little
			return plot.Point{}
		}
		return scaled(r, r.BytesPerS/1e6)
	}},
	{"rate", "Message rate", "thousand per second", 0, func(r *result) plot.Point { return scaled(r, r.MsgsPerS/1e3) }},
	{"ratio", "Ratio to plain TCP: more than 1 is faster", "rate divided by plain TCP's", 1, func(r *result) plot.Point {
		return ends(plot.Point{Y: r.RatioToTCP}, r.RatioSpread, 1)
	}},
	{"latency", "Latency: median, up to the 99th percentile", "µs", 0, func(r *result) plot.Point {
		if r.Lat == nil {
			return plot.Point{}
		}
		return plot.Point{Y: r.Lat.P50, Low: r.Lat.P50, High: r.Lat.P99}
	}},
	{"cpu", "Processor time, both ends", "seconds per GB", 0, func(r *result) plot.Point { return plot.Point{Y: r.CPUPerGB} }},
}

// scaled returns y, which is proportional to the rate, with a bar from the rates of the rounds.
func scaled(r *result, y float64) plot.Point {
	if r.MsgsPerS == 0 {
		return plot.Point{}
	}
	return ends(plot.Point{Y: y}, r.MsgsSpread, y/r.MsgsPerS)
}

// ends adds the bar from the lowest to the highest round.
func ends(p plot.Point, spread []float64, factor float64) plot.Point {
	if len(spread) == 2 && spread[0] > 0 {
		p.Low, p.High = spread[0]*factor, spread[1]*factor
	}
	return p
}

// drawings returns the figures: by size, or, if there are several numbers of connections, by that
// number for each size.
func (m *measured) drawings() (all []drawing) {
	if len(m.settings.Conns) < 2 {
		x := plot.Axis{Title: "bytes of an operation", Text: plot.Size}
		return drawingsOf(m.results, "", "", x, func(r *result) float64 { return float64(r.Size) })
	}
	groups := make(map[int][]result)
	for _, r := range m.results {
		groups[r.Size] = append(groups[r.Size], r)
	}
	x := plot.Axis{Title: "connections", Text: func(v float64) string { return strconv.Itoa(int(v)) }}
	for _, size := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, drawingsOf(groups[size], "-"+strconv.Itoa(size), ", "+plot.Size(float64(size)), x, func(r *result) float64 { return float64(r.Conns) })...)
	}
	return all
}

func drawingsOf(results []result, file, title string, x plot.Axis, at func(*result) float64) (all []drawing) {
	for _, q := range quantities {
		f := &plot.Figure{Title: q.title + title, X: x, Y: plot.Axis{Title: q.unit, Text: plot.Number}, Mark: q.mark}
		for _, op := range operationsOf(results) {
			p := plot.Panel{Title: op}
			for _, l := range linesOf(results, op, at, q.value) {
				l.Look = lookOf(len(p.Lines))
				p.Lines = append(p.Lines, l)
			}
			reference := referenceOf(results, op)
			if len(p.Lines) > 0 {
				p.Lines = append(p.Lines, linesOf(results, reference, at, q.value)...)
			}
			f.Panels = append(f.Panels, p)
		}
		if f.SVG() != "" {
			all = append(all, drawing{q.file + file, f})
		}
	}
	return all
}

// ratios returns one chart of the ratios of all operations to plain TCP, by size.
func (m *measured) ratios() *plot.Figure {
	f := &plot.Figure{
		Title: "Rate divided by plain TCP's",
		X:     plot.Axis{Title: "bytes of an operation", Text: plot.Size},
		Y:     plot.Axis{Title: "more than 1 is faster", Text: plot.Number, Low: 0.2, High: 20},
		Mark:  1,
	}
	if m.settings.Congestion != "" {
		f.Title += ", " + m.settings.Congestion
	}
	var all plot.Panel
	for _, op := range operationsOf(m.results) {
		size := func(r *result) float64 { return float64(r.Size) }
		for _, l := range linesOf(m.results, op, size, func(r *result) plot.Point { return plot.Point{Y: r.RatioToTCP} }) {
			l.Look = lookOf(len(all.Lines))
			l.Name = inWords.Replace(l.Name)
			all.Lines = append(all.Lines, l)
		}
	}
	f.Panels = []plot.Panel{all}
	return f
}

// inWords replaces rddp perf's words by those of readers who do not know the command.
var inWords = strings.NewReplacer("write", "RDMA Write", "read", "RDMA Read", "send", "Send", "message", "messages there and back",
	"stream", "byte stream", "echo", "round trip over the byte stream", " ×", ", ", " one", " under way", " batch", " in a batch")

// operationsOf returns the operations in their order, without those of plain TCP, which are part of
// each panel. If there are no others, it returns those.
func operationsOf(results []result) (names []string) {
	for _, tcp := range []bool{false, true} {
		for i := range results {
			if r := &results[i]; r.isTCP() == tcp && !slices.Contains(names, r.Op) {
				names = append(names, r.Op)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// referenceOf returns the operation over plain TCP that op is compared with.
func referenceOf(results []result, op string) string {
	for _, r := range results {
		if r.Op == op {
			return r.Reference
		}
	}
	return ""
}

// linesOf returns a line for each way in which an operation ran. Those of plain TCP have the color
// of the text.
func linesOf(results []result, op string, at func(*result) float64, value func(*result) plot.Point) (lines []plot.Line) {
	for i := range results {
		r := &results[i]
		p := value(r)
		if p.X = at(r); r.Op != op || p.X <= 0 || p.Y <= 0 {
			continue
		}
		n := slices.IndexFunc(lines, func(l plot.Line) bool { return l.Name == r.name() })
		if n < 0 {
			n, lines = len(lines), append(lines, plot.Line{Name: r.name()})
		}
		lines[n].Points = append(lines[n].Points, p)
	}
	return lines
}

// lookOf returns the look of a line at index i of its panel.
func lookOf(i int) plot.Look {
	palette := []plot.Color{plot.Blue, plot.Orange, plot.Green, plot.Red, plot.Purple, plot.Brown, plot.Cyan}
	l := plot.Look{Color: palette[i%len(palette)]}
	if i >= len(palette) {
		l.Dashes = plot.Dashed
	}
	return l
}
