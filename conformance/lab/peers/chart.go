package main

import (
	"slices"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
)

// chart draws the medians of an operation by size, with the lowest and the highest round. The
// panels show first each of rddp's series, and then each program that rddp is compared with, next
// to rddp as programs use it.
func (b *bench) chart(op operation) *plot.Figure {
	f := &plot.Figure{
		Title: "Throughput of " + string(op), X: plot.Axis{Title: "bytes of an operation", Text: plot.Size}, Y: plot.Axis{Title: "MB/s", Text: plot.Number},
	}
	if op.isTime() {
		f.Title, f.Y.Title = "Half a round trip", "µs"
	}
	for _, panel := range slices.Concat(ourPanels(op), peerPanels(op)) {
		p := plot.Panel{Title: panel.title}
		for i, name := range panel.series {
			if l := b.line(op, name); len(l.Points) > 0 {
				l.Look = look(name, i)
				p.Lines = append(p.Lines, l)
			}
		}
		if panel.hasOwn(p.Lines) {
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// line returns the line of a series.
func (b *bench) line(op operation, name string) plot.Line {
	factor := 1e-6
	if op.isTime() {
		factor = 1e6
	}
	l := plot.Line{Name: name}
	for _, size := range b.sizes {
		if s := spreadOf(b.values[key{op, name, size}]); s.rounds > 0 {
			p := plot.Point{X: float64(size), Y: s.median * factor}
			if s.rounds > 1 {
				p.Low, p.High = s.low*factor, s.high*factor
			}
			l.Points = append(l.Points, p)
		}
	}
	return l
}

// A panel names the series of a panel. The first own of them are its subject, and the others are
// for comparison.
type panel struct {
	title  string
	series []string
	own    int
}

func (p panel) hasOwn(lines []plot.Line) bool {
	return slices.ContainsFunc(lines, func(l plot.Line) bool { return slices.Contains(p.series[:p.own], l.Name) })
}

// variants end the names of series that differ from another one in a setting.
var variants = []string{noCRC, batch, polls}

// base returns the name without the settings.
func base(name string) string {
	for _, v := range variants {
		name = strings.ReplaceAll(name, v, "")
	}
	return name
}

// ourPanels returns a panel for each of rddp's series, with all its settings.
func ourPanels(op operation) (all []panel) {
	for _, name := range ourSeries[op] {
		at := slices.IndexFunc(all, func(p panel) bool { return p.title == "rddp: "+base(name) })
		if at < 0 {
			at, all = len(all), append(all, panel{title: "rddp: " + base(name)})
		}
		all[at].series = append(all[at].series, name)
		all[at].own++
	}
	for i := range all {
		all[i].series = append(all[i].series, plainTCP)
	}
	return all
}

// peerPanels returns a panel for each program that rddp is compared with. Peers poll, so rddp also
// polls if it can.
func peerPanels(op operation) (all []panel) {
	var ours []string
	for _, name := range ourSeries[op] {
		if !strings.Contains(name, noCRC) && !strings.Contains(name, batch) {
			ours = append(ours, name)
		}
	}
	if polling := slices.DeleteFunc(slices.Clone(ours), func(name string) bool { return !strings.Contains(name, polls) }); len(polling) > 0 {
		ours = polling
	}
	for _, name := range peerSeries(op) {
		program, _, _ := strings.Cut(name, " ")
		if name == plainTCP {
			continue
		}
		at := slices.IndexFunc(all, func(p panel) bool { return p.title == program })
		if at < 0 {
			at, all = len(all), append(all, panel{title: program})
		}
		all[at].series = append(all[at].series, name)
		all[at].own++
	}
	for i := range all {
		all[i].series = slices.Concat(all[i].series, ours, []string{plainTCP})
	}
	return all
}

// peerColors has one for each series of another program in a panel.
var peerColors = []plot.Color{plot.Orange, plot.Green, plot.Red, plot.Brown, plot.Purple, plot.Gray}

// look returns the look of the series at index i of its panel. The look of our series shows its
// settings, and is the same in all panels.
func look(name string, i int) plot.Look {
	if name == plainTCP {
		return plot.Look{Color: plot.Text}
	}
	if ours := base(name); !slices.ContainsFunc(operations, func(op operation) bool { return slices.Contains(ourSeries[op], ours) }) {
		l := plot.Look{Color: peerColors[i%len(peerColors)]}
		if i >= len(peerColors) {
			l.Dashes = plot.Dotted
		}
		return l
	}
	l := plot.Look{Color: plot.Blue}
	if strings.Contains(name, batch) || strings.Contains(name, polls) {
		l.Color = plot.Cyan
	}
	if strings.Contains(name, noCRC) {
		l.Dashes = plot.Dashed
	}
	if base(name) == "byte stream" {
		l.Faint = true
	}
	return l
}
