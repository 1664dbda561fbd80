package perf

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"
)

// The plots are SVG elements written by hand. All of them have the size of an operation as x, on a
// logarithmic axis. A plotting library would bring its fonts and a dozen modules for that.

// A plot is a chart of lines.
type plot struct {
	title  string
	unit   string  // of y
	linear bool    // the y axis begins at 0; otherwise it is logarithmic
	mark   float64 // a horizontal line, if not 0
	lines  []line
}

// A line is the values of one operation by size.
type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// The geometry of a plot, in pixels.
const (
	plotWidth, plotHeight = 900, 380
	plotLeft, plotRight   = 70, 210 // margins; the legend is on the right
	plotTop, plotBottom   = 34, 44
	areaWidth             = plotWidth - plotLeft - plotRight
	areaHeight            = plotHeight - plotTop - plotBottom
)

var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#bcbd22"}

// style returns the colour and the dashes of line i.
func style(i int) string {
	dashes := []string{"", "6 3", "2 3"}
	text := fmt.Sprintf(`stroke="%s"`, colours[i%len(colours)])
	if d := dashes[i/len(colours)%len(dashes)]; d != "" {
		text += fmt.Sprintf(` stroke-dasharray="%s"`, d)
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
	x := axis{xs[0], xs[len(xs)-1], plotLeft + 10, plotLeft + areaWidth - 10, true}
	y := p.yAxis(slices.Min(ys), slices.Max(ys))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, plotHeight, html.EscapeString(p.title))
	fmt.Fprintf(&b, `<text x="%d" y="18" class="title">%s</text>`, plotLeft, html.EscapeString(p.title+", "+p.unit))
	for _, v := range xs {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="grid"/>`, x.at(v), plotTop, x.at(v), plotTop+areaHeight)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x.at(v), plotTop+areaHeight+18, sizeText(int(v)))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="grid"/>`, plotLeft, y.at(v), plotLeft+areaWidth, y.at(v))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-6, y.at(v)+4, number(v))
	}
	if p.mark > 0 && p.mark <= y.high {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" class="mark"/>`, plotLeft, y.at(p.mark), plotLeft+areaWidth, y.at(p.mark))
	}
	for i, l := range p.lines {
		l.draw(&b, i, x, y, p.unit)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // all text in it is escaped
}

// draw draws the line and its entry in the legend.
func (l *line) draw(b *strings.Builder, i int, x, y axis, unit string) {
	var path []string
	for _, at := range l.points {
		path = append(path, fmt.Sprintf("%.1f,%.1f", x.at(at.x), y.at(at.y)))
	}
	fmt.Fprintf(b, `<polyline points="%s" %s class="line"/>`, strings.Join(path, " "), style(i))
	for _, at := range l.points {
		text := fmt.Sprintf("%s, %s: %s %s", l.name, sizeText(int(at.x)), number(at.y), unit)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s</title></circle>`, x.at(at.x), y.at(at.y), colours[i%len(colours)],
			html.EscapeString(text))
	}
	at := plotTop + 6 + 16*i
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" %s class="line"/>`, plotWidth-plotRight+10, at, plotWidth-plotRight+36, at, style(i))
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`, plotWidth-plotRight+42, at+4, html.EscapeString(l.name))
}

// yAxis returns the axis for values from low to high, with round ends.
func (p *plot) yAxis(low, high float64) axis {
	a := axis{from: plotTop + areaHeight, to: plotTop, logarithmic: !p.linear}
	if p.linear {
		a.high = math.Max(high, p.mark) * 1.05
		return a
	}
	a.low, a.high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if a.low == a.high {
		a.high *= 10
	}
	return a
}

// ticks returns the values of the axis that have a label.
func (a axis) ticks() (values []float64) {
	if a.logarithmic {
		for v := a.low; v <= a.high*1.001 && len(values) < 30; v *= 10 {
			values = append(values, v)
		}
		return values
	}
	step := math.Pow(10, math.Floor(math.Log10(a.high)))
	for a.high/step < 4 {
		step /= 2
	}
	for v := a.low; v <= a.high; v += step {
		values = append(values, v)
	}
	return values
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
