package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

var (
	rate = harness.Value[outcome]{Name: "responses/s", Of: func(o *outcome) float64 { return float64(o.Responses) / o.Seconds }}
	p50  = harness.Value[outcome]{Name: "p50 in µs", Of: func(o *outcome) float64 { return o.P50 }}
	p99  = harness.Value[outcome]{Name: "p99", Of: func(o *outcome) float64 { return o.P99 }}
)

func line(name, way string, kept bool, look plot.Look) harness.Line[outcome] {
	return harness.Line[outcome]{Name: name, Look: look, Fits: func(o *outcome) bool { return o.Way == way && o.Kept == kept }}
}

var lines = []harness.Line[outcome]{
	line("TCP", wayTCP, true, plot.Look{Color: plot.Red}), line("byte stream", wayStream, true, plot.Look{Color: plot.Blue}),
	line("TCP, new each time", wayTCP, false, plot.Look{Color: plot.Red, Dashes: plot.Dashed}),
	line("byte stream, new each time", wayStream, false, plot.Look{Color: plot.Blue, Dashes: plot.Dashed}),
}

// figures returns the generated part of the document, and the plots by the names of their files.
func figures(o *harness.Options, outcomes []outcome) (text string, plots map[string]string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%sPages of %d KiB and %d clients, if not in the first column.\n", o.Head(), usedSize>>10, usedClients)
	byClients := plot.Figure{Title: "Responses by the number of clients", X: plot.Axis{Title: "clients", Text: plot.Number}}
	bySize := plot.Figure{Title: "Median time of a response by the size of a static page", X: plot.Axis{Title: "size of a page", Text: plot.Size}}
	for _, c := range []harness.Chart[outcome]{
		{Title: "Static pages", Fits: func(o *outcome) bool { return o.Size == usedSize && o.Work == 0 }},
		{Title: "Dynamic pages", Fits: func(o *outcome) bool { return o.Work > 0 }},
	} {
		c.Lines, c.Head, c.Text, c.X = lines, "clients", plot.Number, func(o *outcome) float64 { return float64(o.Clients) }
		b.WriteString(c.Table(outcomes, rate, p50, p99))
		byClients.Panels = append(byClients.Panels, c.Panel(outcomes, rate))
	}
	c := harness.Chart[outcome]{
		Title: "Static pages by size", Lines: lines, Head: "page", Text: plot.Size, X: func(o *outcome) float64 { return float64(o.Size) },
		Fits: func(o *outcome) bool { return o.Work == 0 && o.Clients == usedClients },
	}
	b.WriteString(c.Table(outcomes, rate, p50, p99))
	c.Title = fmt.Sprintf("%d clients", usedClients)
	bySize.Panels = []plot.Panel{c.Panel(outcomes, p50)}
	byClients.Y, bySize.Y = plot.Axis{Title: "responses/s", Text: plot.Number}, plot.Axis{Title: "µs", Text: plot.Number}
	return b.String(), map[string]string{"web-clients.svg": byClients.SVG(), "web-size.svg": bySize.SVG()}
}
