// Package plot draws line charts as SVG. Both axes are logarithmic. A plotting library would bring
// its fonts and a dozen modules for that.
package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Chart is a chart of lines.
type Chart struct {
	Title string
	X     func(int) string // prints an x
	Unit  string           // of y
	Mark  float64          // a horizontal line, if not 0
	Lines []Line
}

// A Line is the values of one operation.
type Line struct {
	Name   string
	Look   Look
	Points []Point
}

// A Point is one value. Both coordinates are above 0.
type Point struct{ X, Y float64 }

// The geometry of a plot, in pixels.
const (
	plotLeft, plotRight = 70, 210 // margins; the legend is on the right, and may need more
	plotTop, plotBottom = 34, 44
	areaWidth           = 620
	areaHeight          = 302
	legendHeight        = 16 // of one entry
	legendLeft          = plotLeft + areaWidth + 10
	legendText          = legendLeft + 32
	letterWidth         = 7 // of most letters, or less
)

// A Look is how a line is drawn.
type Look struct {
	Colour string // as in SVG, such as #1f77b4
	Dashes string // SVG's stroke-dasharray; "" means a solid line
	Faint  bool
}

// String returns the look as attributes of an SVG element.
func (l Look) String() string {
	text := fmt.Sprintf(`stroke="%s"`, html.EscapeString(l.Colour))
	if l.Dashes != "" {
		text += fmt.Sprintf(` stroke-dasharray="%s"`, html.EscapeString(l.Dashes))
	}
	if l.Faint {
		text += ` stroke-opacity="0.45"`
	}
	return text
}

// Style is the style sheet of the charts. A page that contains charts needs it once.
const Style = `svg text { font: 12px sans-serif; fill: #333; } svg .title { font-weight: bold; font-size: 14px; }
.grid { stroke: #e4e4e4; } .mark { stroke: #888; stroke-dasharray: 4 4; } .line { fill: none; stroke-width: 2; }`

// Document returns the chart as an SVG file, or "" if there is nothing to draw.
func (c *Chart) Document() string {
	const element = "<svg "
	rest, drawn := strings.CutPrefix(c.SVG(), element)
	if !drawn {
		return ""
	}
	attributes, rest, _ := strings.Cut(rest, ">")
	rest = strings.ReplaceAll(rest, "<text", "\n<text")
	rest = strings.ReplaceAll(rest, "<polyline", "\n<polyline")
	return element + `xmlns="http://www.w3.org/2000/svg" ` + attributes + ">\n<style>\n" + Style + "\n</style>\n" +
		`<rect width="100%" height="100%" fill="#fff"/>` + rest + "\n"
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

// SVG returns the chart as an SVG element, or "" if there is nothing to draw. All text in it is
// escaped.
func (c *Chart) SVG() string {
	var xs, ys []float64
	for _, l := range c.Lines {
		for _, at := range l.Points {
			if !slices.Contains(xs, at.X) {
				xs = append(xs, at.X)
			}
			ys = append(ys, at.Y)
		}
	}
	if len(xs) == 0 {
		return ""
	}
	slices.Sort(xs)
	width := plotLeft + areaWidth + plotRight
	for _, l := range c.Lines {
		width = max(width, legendText+letterWidth*utf8.RuneCountInString(l.Name))
	}
	height := max(plotTop+areaHeight+plotBottom, plotTop+legendHeight*len(c.Lines)+10)
	x := axis{xs[0], xs[len(xs)-1], plotLeft + 10, plotLeft + areaWidth - 10, true}
	y := yAxis(slices.Min(ys), slices.Max(ys))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, height, html.EscapeString(c.Title))
	fmt.Fprintf(&b, `<text x="%d" y="18" class="title">%s</text>`, plotLeft, html.EscapeString(c.Title+", "+c.Unit))
	for _, v := range xs {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/>`, x.at(v), plotTop, x.at(v), plotTop+areaHeight)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x.at(v), plotTop+areaHeight+18, c.X(int(v)))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/>`, plotLeft, y.at(v), plotLeft+areaWidth, y.at(v))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-6, y.at(v)+4, Number(v))
	}
	if c.Mark >= y.low && c.Mark <= y.high {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="mark"/>`, plotLeft, y.at(c.Mark), plotLeft+areaWidth, y.at(c.Mark))
	}
	for i, l := range c.Lines {
		l.draw(&b, plotTop+6+legendHeight*i, x, y, c)
	}
	b.WriteString("</svg>")
	return b.String()
}

// draw draws the line, and its entry in the legend at the height at.
func (l *Line) draw(b *strings.Builder, at int, x, y axis, in *Chart) {
	var path []string
	for _, p := range l.Points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.at(p.X), y.at(p.Y)))
	}
	fmt.Fprintf(b, `<polyline points="%s" %s class="line"/>`, strings.Join(path, " "), l.Look)
	for _, p := range l.Points {
		text := fmt.Sprintf("%s, %s: %s %s", l.Name, in.X(int(p.X)), Number(p.Y), in.Unit)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s</title></circle>`, x.at(p.X), y.at(p.Y), html.EscapeString(l.Look.Colour),
			html.EscapeString(text))
	}
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s class="line"/>`, legendLeft, at, legendLeft+26, at, l.Look)
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, legendText, at+4, html.EscapeString(l.Name))
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

// ticks returns the values of the axis that have a label: the series 1, 2, 5, 10 …, or the powers
// of ten if those are too many.
func (a axis) ticks() (values []float64) {
	for v := a.low; v <= a.high*1.0001; v = above(v) {
		values = append(values, v)
	}
	if len(values) <= 10 {
		return values
	}
	return slices.DeleteFunc(values, func(v float64) bool { d := math.Log10(v); return math.Abs(d-math.Round(d)) > 1e-3 })
}

// Number prints v with about three digits.
func Number(v float64) string {
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

// SizeText prints a size in bytes.
func SizeText(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
