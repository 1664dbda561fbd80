package main

import (
	"fmt"
	"strings"

	"github.com/rddp/rddp/conformance/lab/plot"
	"github.com/rddp/rddp/conformance/lab/studies/harness"
)

// per returns the value of bytes divided by the bytes delivered.
func per(name string, bytes func(o *outcome) int) harness.Value[outcome] {
	return harness.Value[outcome]{Name: name, Of: func(o *outcome) float64 { return float64(bytes(o)) / float64(o.Bytes) }}
}

// moved returns the bytes that a side has moved through memory: a copy reads and writes.
func (s *side) moved() int { return 2*s.Kernel + 2*s.Copy + s.CRC }

var (
	moved   = per("all", func(o *outcome) int { return o.Source.moved() + o.Sink.moved() })
	sources = per("moved", func(o *outcome) int { return o.Source.moved() })
	sinks   = per("moved", func(o *outcome) int { return o.Sink.moved() })
	details = [2][]harness.Value[outcome]{
		{sources, per("kernel", func(o *outcome) int { return o.Source.Kernel }), per("program", func(o *outcome) int { return o.Source.Copy }), per("CRC", func(o *outcome) int { return o.Source.CRC })},
		{sinks, per("kernel", func(o *outcome) int { return o.Sink.Kernel }), per("program", func(o *outcome) int { return o.Sink.Copy }), per("CRC", func(o *outcome) int { return o.Sink.CRC })},
	}
)

func line(name, way string, look plot.Look) harness.Line[outcome] {
	return harness.Line[outcome]{Name: name, Look: look, Fits: func(o *outcome) bool { return o.Way == way }}
}

var lines = []harness.Line[outcome]{
	line("TCP", wayTCP, plot.Look{Color: plot.Red}), line("byte stream", wayStream, plot.Look{Color: plot.Orange}), line("byte stream with rendezvous", wayPlaced, plot.Look{Color: plot.Purple, Dashes: plot.Dashed}),
	line("RDMA Write", wayWrite, plot.Look{Color: plot.Blue}), line("RDMA Read", wayRead, plot.Look{Color: plot.Green}),
}

// figures returns the generated part of the document, and the plots by the names of their files.
func figures(o *harness.Options, outcomes []outcome) (text string, plots map[string]string) {
	var b strings.Builder
	b.WriteString(o.Head() + "Bytes for each byte delivered.\n")
	c := harness.Chart[outcome]{
		Title: "Both sides", Fits: func(*outcome) bool { return true }, X: func(o *outcome) float64 { return float64(o.Size) },
		Head: "block", Text: plot.Size, Lines: lines,
	}
	b.WriteString(c.Table(outcomes, moved))
	f := plot.Figure{Title: "Bytes moved through memory for each byte delivered", X: plot.Axis{Title: "size of a block", Text: plot.Size}, Y: plot.Axis{Title: "bytes", Text: plot.Number}}
	for i, title := range []string{"Source", "Sink"} {
		c.Title = title
		f.Panels = append(f.Panels, c.Panel(outcomes, details[i][0]))
		for _, l := range lines {
			one := c
			one.Title, one.Lines = fmt.Sprintf("%s, %s", title, l.Name), []harness.Line[outcome]{{Name: "", Fits: l.Fits}}
			b.WriteString(one.Table(outcomes, details[i]...))
		}
	}
	return b.String(), map[string]string{"memory.svg": f.SVG()}
}
