package perf

import "github.com/rddp/rddp/internal/plot"

// colours say which operation a line shows.
var colours = map[string]string{
	"write": "#1f77b4", "read": "#d62728", "send": "#2ca02c", "message": "#9467bd", "stream": "#ff7f0e", "echo": "#17becf", "atomic": "#8c564b",
	opTCP: "#000000", opTCPEcho: "#777777",
}

// lookOf returns the look of a result's line. It is the same in all plots. The colour says which
// operation the line shows, and the dashes say how it is posted. A line without CRC is faint.
func lookOf(r *Result) plot.Look {
	l := plot.Look{Colour: colours[r.Op], Faint: r.CRC == "off"}
	switch {
	case r.Post == PostBatch:
		l.Dashes = "8 3"
	case r.Depth > 1:
		l.Dashes = "2 3"
	}
	return l
}
