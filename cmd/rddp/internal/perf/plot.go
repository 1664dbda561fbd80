package perf

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
)

// The plots are SVG elements written by hand. Both axes are logarithmic. A plotting library would bring its fonts and a dozen modules for that.

// A plot is a chart of lines.
type plot struct {
	title string
	by    string           // what x is
	xText func(int) string // prints an x
	unit  string           // of y
	mark  float64          // a horizontal line, if not 0
	lines []line
}

// A line is the values of one operation.
type line struct {
	name   string
	look   look
	points []point
}

type point struct{ x, y float64 }

// The geometry of a plot, in pixels.
const (
	plotWidth           = 900
	plotLeft, plotRight = 70, 210 // margins; the legend is on the right
	plotTop, plotBottom = 34, 44
	areaWidth           = plotWidth - plotLeft - plotRight
	areaHeight          = 302
	legendHeight        = 16 // of one entry
)

// A look is how a line is drawn: the colour says which operation it is, the dashes how it is posted.
type look struct {
	colour string
	dashes string
	faint  bool // no CRC
}

var colours = map[string]string{
	"write": "#1f77b4", "read": "#d62728", "send": "#2ca02c", "message": "#9467bd", "stream": "#ff7f0e", "echo": "#17becf", "atomic": "#8c564b",
	opTCP: "#000000", opTCPEcho: "#777777",
}

// lookOf returns the look of a result's line. It is the same in all plots.
func lookOf(r *Result) look {
	l := look{colour: colours[r.Op], faint: r.CRC == "off"}
	switch {
	case r.Post == PostBatch:
		l.dashes = "8 3"
	case r.Depth > 1:
		l.dashes = "2 3"
	}
	return l
}

func (l look) String() string {
	text := fmt.Sprintf(`stroke="%s"`, l.colour)
	if l.dashes != "" {
		text += fmt.Sprintf(` stroke-dasharray="%s"`, l.dashes)
	}
	if l.faint {
		text += ` stroke-opacity="0.45"`
	}
	return text
}

// An axis maps values to pixels.
type axis struct {
	low, high   float64
	from, to    float64 // pixels
	logarithmic bool
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.logarithmic {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	if high == low {
		return (a.from + a.to) / 2
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// svg draws the plot. It returns "" if there is nothing to draw.
func (p *plot) svg() template.HTML {
	var xs, ys []float64
	for _, l := range p.lines {
		for _, at := range l.points {
			if !slices.Contains(xs, at.x) {
				xs = append(xs, at.x)
			}
			ys = append(ys, at.y)
		}
	}
	if len(xs) == 0 {
		return ""
	}
	slices.Sort(xs)
	height := max(plotTop+areaHeight+plotBottom, plotTop+legendHeight*len(p.lines)+10)
	x := axis{xs[0], xs[len(xs)-1], plotLeft + 10, plotLeft + areaWidth - 10, true}
	y := yAxis(slices.Min(ys), slices.Max(ys))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, height, html.EscapeString(p.title))
	fmt.Fprintf(&b, `<text x="%d" y="18" class="title">%s</text>`, plotLeft, html.EscapeString(p.title+", "+p.unit))
	for _, v := range xs {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/>`, x.at(v), plotTop, x.at(v), plotTop+areaHeight)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x.at(v), plotTop+areaHeight+18, p.xText(int(v)))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/>`, plotLeft, y.at(v), plotLeft+areaWidth, y.at(v))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-6, y.at(v)+4, number(v))
	}
	if p.mark >= y.low && p.mark <= y.high {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="mark"/>`, plotLeft, y.at(p.mark), plotLeft+areaWidth, y.at(p.mark))
	}
	for i, l := range p.lines {
		l.draw(&b, plotTop+6+legendHeight*i, x, y, p)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all text in it is escaped
}

// draw draws the line, and its entry in the legend at the height at.
func (l *line) draw(b *strings.Builder, at int, x, y axis, in *plot) {
	var path []string
	for _, p := range l.points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.at(p.x), y.at(p.y)))
	}
	fmt.Fprintf(b, `<polyline points="%s" %s class="line"/>`, strings.Join(path, " "), l.look)
	for _, p := range l.points {
		text := fmt.Sprintf("%s, %s: %s %s", l.name, in.xText(int(p.x)), number(p.y), in.unit)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s</title></circle>`, x.at(p.x), y.at(p.y), l.look.colour,
			html.EscapeString(text))
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s class="line"/>`, plotWidth-plotRight+10, at, plotWidth-plotRight+36, at, l.look)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, plotWidth-plotRight+42, at+4, html.EscapeString(l.name))
}

// yAxis returns the logarithmic axis for values from low to high, with round ends.
func yAxis(low, high float64) axis {
	a := axis{low: roundDown(low), from: plotTop + areaHeight, to: plotTop, logarithmic: true}
	for a.high = a.low; a.high < high; {
		a.high = above(a.high)
	}
	if a.low == a.high {
		a.high = above(a.high)
	}
	return a
}

// roundDown returns the largest 1, 2 or 5 times a power of ten that is not above v.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*decade <= v {
			return m * decade
		}
	}
	return decade
}

// above returns the value that follows v in the series 1, 2, 5, 10 …
func above(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v*1.0001)))
	switch m := v / decade; {
	case m < 1.5:
		return 2 * decade
	case m < 3:
		return 5 * decade
	}
	return 10 * decade
}

// ticks returns the values of the axis that have a label: the series 1, 2, 5, 10 …, or the powers of
// ten if those are too many.
func (a axis) ticks() (values []float64) {
	for v := a.low; v <= a.high*1.0001; v = above(v) {
		values = append(values, v)
	}
	if len(values) <= 10 {
		return values
	}
	return slices.DeleteFunc(values, func(v float64) bool { d := math.Log10(v); return math.Abs(d-math.Round(d)) > 1e-3 })
}

// number prints v with about three digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 0.1:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
	return fmt.Sprintf("%.3g", v)
}

// sizeText prints a size in bytes.
func sizeText(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
