package main

import (
	"slices"

	"github.com/rddp/rddp/internal/plot"
)

// colours has one for each series of a chart, in the order of the tables: ours first.
var colours = []string{"#1f77b4", "#17becf", "#2ca02c", "#d62728", "#ff7f0e", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#7f7f7f", "#393b79", "#637939"}

// chart draws the medians of an operation by size.
func (b *bench) chart(op operation) *plot.Chart {
	c := &plot.Chart{Title: "Throughput of " + string(op), Unit: "MB/s", X: plot.SizeText}
	factor := 1e-6
	if op.isTime() {
		c.Title, c.Unit, factor = "Half a round trip", "µs", 1e6
	}
	for i, name := range slices.Concat(ourSeries[op], peerSeries(op)) {
		l := plot.Line{Name: name, Look: look(name, i)}
		for _, size := range b.sizes {
			if s := spreadOf(b.values[key{op, name, size}]); s.rounds > 0 {
				l.Points = append(l.Points, plot.Point{X: float64(size), Y: s.median * factor})
			}
		}
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	return c
}

// look returns the look of the series at index i. Plain TCP is black, and peers have dashes.
func look(name string, i int) plot.Look {
	if name == plainTCP {
		return plot.Look{Colour: "#000000"}
	}
	l := plot.Look{Colour: colours[i%len(colours)]}
	for _, op := range operations {
		if slices.Contains(ourSeries[op], name) {
			return l
		}
	}
	l.Dashes = "6 3"
	return l
}
