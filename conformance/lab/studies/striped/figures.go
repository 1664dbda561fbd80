package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

var (
	rate = harness.Value[outcome]{Name: "MB/s", Of: func(o *outcome) float64 { return float64(o.Bytes) * 1e-6 / o.Seconds }}
	p50  = harness.Value[outcome]{Name: "p50 in µs", Of: func(o *outcome) float64 { return o.P50 }}
)

var lines = []harness.Line[outcome]{
	{Name: "TCP", Look: plot.Look{Color: plot.Red}, Fits: func(o *outcome) bool { return o.Way == wayTCP }},
	{Name: "byte stream", Look: plot.Look{Color: plot.Orange}, Fits: func(o *outcome) bool { return o.Way == wayStream }},
	{Name: "one-sided", Look: plot.Look{Color: plot.Blue}, Fits: func(o *outcome) bool { return o.Way == wayOneSided }},
}

// chart returns the chart of the operations of one kind that fit.
func chart(pattern string, write bool, fits func(*outcome) bool) harness.Chart[outcome] {
	title := "reads, " + pattern
	if write {
		title = "writes, " + pattern
	}
	return harness.Chart[outcome]{
		Title: title, Lines: lines,
		Fits: func(o *outcome) bool { return o.Pattern == pattern && o.Write == write && fits(o) },
	}
}

// figures returns the generated part of the document, and the plots by the names of their files.
func figures(o *harness.Options, outcomes []outcome) (text string, plots map[string]string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%sStripes of %d KiB; pieces of %d KiB, if not in the first column.\n", o.Head(), stripe>>10, usedPiece>>10)
	byServers := plot.Figure{Title: "One client, by the number of I/O servers", X: plot.Axis{Title: "I/O servers", Text: plot.Number}}
	byPiece := plot.Figure{Title: fmt.Sprintf("One client, %d I/O servers, by the size of pieces", fewServers), X: plot.Axis{Title: "size of a piece", Text: plot.Size}}
	for _, write := range []bool{false, true} {
		for _, pattern := range patterns {
			c := chart(pattern, write, func(o *outcome) bool { return o.Clients == 1 && o.Piece == usedPiece })
			c.Head, c.Text, c.X = "servers", plot.Number, func(o *outcome) float64 { return float64(o.Servers) }
			b.WriteString(c.Table(outcomes, rate, p50))
			byServers.Panels = append(byServers.Panels, c.Panel(outcomes, rate))
			if pattern == contiguous {
				continue
			}
			c = chart(pattern, write, func(o *outcome) bool { return o.Clients == 1 && o.Servers == fewServers })
			c.Head, c.Text, c.X = "piece", plot.Size, func(o *outcome) float64 { return float64(o.Piece) }
			b.WriteString(c.Table(outcomes, rate, p50))
			byPiece.Panels = append(byPiece.Panels, c.Panel(outcomes, rate))
		}
	}
	for _, write := range []bool{false, true} {
		for _, pattern := range patterns {
			c := chart(pattern, write, func(o *outcome) bool { return o.Servers == fewServers && o.Piece == usedPiece })
			c.Title += fmt.Sprintf(", %d servers", fewServers)
			c.Head, c.Text, c.X = "clients", plot.Number, func(o *outcome) float64 { return float64(o.Clients) }
			b.WriteString(c.Table(outcomes, rate, p50))
		}
	}
	byServers.Y, byPiece.Y = plot.Axis{Title: "MB/s", Text: plot.Number}, plot.Axis{Title: "MB/s", Text: plot.Number}
	return b.String(), map[string]string{"striped-servers.svg": byServers.SVG(), "striped-pieces.svg": byPiece.SVG()}
}
