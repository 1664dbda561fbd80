package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

var (
	reaction = harness.Value[outcome]{Name: "ms to all servers", Of: func(o *outcome) float64 { return o.All }}
	earliest = harness.Value[outcome]{Name: "ms to the first", Of: func(o *outcome) float64 { return o.First }}
	met      = harness.Value[outcome]{Name: "bursts met in %", Of: func(o *outcome) float64 { return 100 * float64(o.Met) / float64(max(o.Bursts, 1)) }}
	moved    = harness.Value[outcome]{Name: "moves/burst", Of: func(o *outcome) float64 { return float64(o.Moves) / float64(max(o.Bursts, 1)) }}
	wrong    = harness.Value[outcome]{Name: "wrong/burst", Of: func(o *outcome) float64 { return float64(o.Wrong) / float64(max(o.Bursts, 1)) }}
	lost     = harness.Value[outcome]{Name: "work lost in %", Of: func(o *outcome) float64 { return 100 * o.Lost }}
)

var lines = []harness.Line[outcome]{
	line("static", wayStatic, plot.Look{Color: plot.Gray}), line("TCP messages", wayTCP, plot.Look{Color: plot.Red}), line("one-sided", wayRead, plot.Look{Color: plot.Blue, Dashes: plot.Dashed}),
	line("one-sided, beside", wayBeside, plot.Look{Color: plot.Green}), line("beside, without locks", wayFree, plot.Look{Color: plot.Purple}),
}

func line(name, way string, look plot.Look) harness.Line[outcome] {
	return harness.Line[outcome]{Name: name, Look: look, Fits: func(o *outcome) bool { return o.Way == way }}
}

// figures returns the generated part of the document, and the plots by the names of their files.
func figures(o *harness.Options, outcomes []outcome) (text string, plots map[string]string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d servers, %d load balancers, %d bursts in a trial. A time of 0 means that no burst was met.\n", o.Head(), nodes, balancers, int(o.Time/period))
	f := plot.Figure{Title: "Reconfiguration by the load of the program", X: plot.Axis{Title: "busy goroutines + 1", Text: plot.Number}, Y: plot.Axis{Title: "ms; %", Text: plot.Number}}
	c := harness.Chart[outcome]{
		Fits: func(*outcome) bool { return true }, X: func(o *outcome) float64 { return float64(o.Busy + 1) },
		Head: "busy", Text: func(v float64) string { return plot.Number(v - 1) },
	}
	for _, l := range lines {
		c.Title, c.Lines = strings.ToUpper(l.Name[:1])+l.Name[1:], []harness.Line[outcome]{{Fits: l.Fits}}
		b.WriteString(c.Table(outcomes, lost, reaction, earliest, met, moved, wrong))
	}
	c.Title, c.Lines = "ms from a burst to all servers that it needs", lines[1:]
	f.Panels = append(f.Panels, c.Panel(outcomes, reaction))
	c.Title, c.Lines = "work lost in %", lines
	f.Panels = append(f.Panels, c.Panel(outcomes, lost))
	return b.String(), map[string]string{"reconfiguration.svg": f.SVG()}
}
