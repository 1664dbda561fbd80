package plot

import (
	"fmt"
	"html"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is one or more charts of lines with the same axes, side by side.
type Figure struct {
	Title  string
	X, Y   Axis
	Mark   float64 // a horizontal line in all panels, if not 0
	Panels []Panel
}

// An Axis describes a coordinate. Axes are logarithmic.
type Axis struct {
	Title string
	Text  func(v float64) string // prints a value
	// Low and High are values that the y-axis includes, if not 0, so that figures can be compared.
	Low, High float64
}

// A Panel is one chart.
type Panel struct {
	Title string
	Lines []Line
}

// A Line is a named series of values.
type Line struct {
	Name   string
	Look   Look
	Points []Point
}

// A Point is one value. Coordinates are above 0. Low and High are the ends of its error bar;
// without one both are 0.
type Point struct{ X, Y, Low, High float64 }

// A Look is how a line is drawn.
type Look struct {
	Color  Color
	Dashes Dashes
	Faint  bool
	Wide   bool // shows on both sides of a line on top of it
}

// A Color is distinct from the others, on white and on black.
type Color int

// The colors. Text is that of the text: dark on a light page, and light on a dark one.
const (
	Text Color = iota
	Blue
	Orange
	Green
	Red
	Purple
	Brown
	Cyan
	Gray
)

var colors = map[Color]color.NRGBA{
	Text: {A: 0xFF}, Blue: {0x2F, 0x86, 0xC8, 0xFF}, Orange: {0xF0, 0x80, 0x20, 0xFF}, Green: {0x35, 0xA0, 0x40, 0xFF},
	Red: {0xDC, 0x40, 0x40, 0xFF}, Purple: {0x9B, 0x72, 0xC8, 0xFF}, Brown: {0x9C, 0x6A, 0x55, 0xFF}, Cyan: {0x20, 0xB0, 0xBE, 0xFF},
	Gray: {0x88, 0x88, 0x88, 0xFF},
}

// Dashes are the dashes of a line.
type Dashes int

// The dashes.
const (
	Solid Dashes = iota
	Dashed
	Dotted
)

var dashes = map[Dashes][]vg.Length{Dashed: {6, 3}, Dotted: {1.5, 2.5}}

// The geometry of a figure, in points.
const (
	columns      = 3   // at most
	panelWidth   = 290 // or more, for the titles
	panelHeight  = 210
	titleHeight  = 32
	entryHeight  = 13 // of a line in the legend of a panel
	legendIndent = 44
	padding      = 6
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}

// SVG returns the figure as an SVG element, or "" if there is nothing to draw. All text in it is
// escaped. It has a viewport, so a page can give it any width. Its colors follow the reader's
// choice of a light or a dark page. Its description has all values.
func (f *Figure) SVG() string {
	panels := slices.DeleteFunc(slices.Clone(f.Panels), func(p Panel) bool { return p.empty() })
	if len(panels) == 0 {
		return ""
	}
	cols := columnsOf(len(panels))
	rows := slices.Collect(slices.Chunk(panels, cols))
	height := vg.Length(titleHeight)
	for _, row := range rows {
		height += rowHeight(row)
	}
	width := f.width(panels, cols)
	c := vgsvg.New(width, height)
	page := draw.New(c)
	page.FillText(style(12), vg.Point{X: padding, Y: height - 16}, f.Title)
	xs, ys := f.ticks(panels)
	top := height - titleHeight
	for _, row := range rows {
		bottom := top - rowHeight(row)
		area := draw.Crop(page, padding, -padding, bottom, top-height)
		f.drawRow(area, row, cols, xs, ys)
		top = bottom
	}
	var b strings.Builder
	if _, err := c.WriteTo(&b); err != nil {
		panic("BUG: " + err.Error()) // a Builder takes everything
	}
	return Page(b.String(), f.Title, f.description(panels), float64(width), float64(height))
}

// width returns the width of the figure: enough for its title, and for those of panels.
func (f *Figure) width(panels []Panel, cols int) vg.Length {
	const (
		wider  = 1.2 // the font of a reader who does not have ours
		beside = 60  // a panel's title
	)
	panel := vg.Length(panelWidth)
	for _, p := range panels {
		panel = max(panel, wider*style(10).Rectangle(p.Title).Size().X+beside)
	}
	return max(vg.Length(cols)*panel, wider*style(12).Rectangle(f.Title).Size().X+2*padding)
}

func (p *Panel) empty() bool {
	return !slices.ContainsFunc(p.Lines, func(l Line) bool { return len(l.Points) > 0 })
}

// columnsOf returns how many of n panels are side by side. The number of rows is minimal, and the
// rows are as even as possible.
func columnsOf(n int) int {
	rows := (n + columns - 1) / columns
	return (n + rows - 1) / rows
}

func rowHeight(row []Panel) vg.Length {
	most := 0
	for _, p := range row {
		most = max(most, len(p.Lines))
	}
	return panelHeight + vg.Length(most)*entryHeight + 4*padding
}

// drawRow draws panels side by side, each with its legend below.
func (f *Figure) drawRow(area draw.Canvas, row []Panel, cols int, xs, ys []plot.Tick) {
	legends := rowHeight(row) - panelHeight - 2*padding // the rest keeps the next row's titles away
	charts := make([]*plot.Plot, cols)
	for i := range charts {
		var p Panel // without one at the end of the last row, which keeps its place
		if i < len(row) {
			p = row[i]
		}
		charts[i] = f.chart(p, xs, ys)
		if i > 0 {
			charts[i].Y.Label.Text = ""
		}
	}
	canvases := plot.Align([][]*plot.Plot{charts}, draw.Tiles{Rows: 1, Cols: cols, PadX: 2 * padding}, draw.Crop(area, 0, 0, legends+2*padding, 0))
	for i, p := range row {
		charts[i].Draw(canvases[0][i])
		below := canvases[0][i]
		below.Min.Y, below.Max.Y = area.Min.Y+2*padding, area.Min.Y+2*padding+legends-padding
		l := plot.NewLegend()
		l.Top, l.Left, l.TextStyle, l.Padding, l.XOffs = true, true, style(9), 2, legendIndent
		for _, line := range p.Lines {
			if len(line.Points) > 0 {
				l.Add(line.Name, thumbnail{line.Look})
			}
		}
		l.Draw(below)
	}
}

// chart returns a panel as a plot.
func (f *Figure) chart(p Panel, xs, ys []plot.Tick) *plot.Plot {
	c := plot.New()
	c.BackgroundColor = nil // the page's
	c.Title.Text, c.Title.TextStyle, c.Title.Padding = p.Title, style(10), 3
	c.Title.TextStyle.XAlign = text.XCenter
	for _, a := range []struct {
		axis  *plot.Axis
		title string
		ticks []plot.Tick
	}{{&c.X, f.X.Title, xs}, {&c.Y, f.Y.Title, ys}} {
		a.axis.Label.Text, a.axis.Label.TextStyle.Font = a.title, style(9).Font
		a.axis.Tick.Label.Font = style(8).Font
		a.axis.Scale = plot.LogScale{}
		a.axis.Tick.Marker = plot.ConstantTicks(a.ticks)
		a.axis.Min, a.axis.Max = a.ticks[0].Value, a.ticks[len(a.ticks)-1].Value
		a.axis.Padding = 4
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint(Gray, 0x70), faint(Gray, 0x70)
	grid.Horizontal.Width, grid.Vertical.Width = 0.4, 0.4
	c.Add(grid)
	if f.Mark >= c.Y.Min && f.Mark <= c.Y.Max {
		c.Add(&plotter.Line{
			XYs:       plotter.XYs{{X: c.X.Min, Y: f.Mark}, {X: c.X.Max, Y: f.Mark}},
			LineStyle: draw.LineStyle{Color: colors[Gray], Width: 1, Dashes: dashes[Dashed]},
		})
	}
	for _, l := range p.Lines {
		if len(l.Points) > 0 {
			c.Add(l.plotters()...)
		}
	}
	return c
}

// plotters returns the plotters of a line: its error bars, the line, and a dot for each value.
func (l *Line) plotters() []plot.Plotter {
	var points plotter.XYs
	bars := &plotter.YErrorBars{LineStyle: draw.LineStyle{Color: l.Look.color(), Width: 0.8}, CapWidth: 5}
	for _, p := range l.Points {
		at := plotter.XY{X: p.X, Y: p.Y}
		points = append(points, at)
		if p.High > 0 {
			bars.XYs = append(bars.XYs, at)
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{p.Low - p.Y, p.High - p.Y})
		}
	}
	dots := &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: l.Look.color(), Radius: 1.8, Shape: draw.CircleGlyph{}}}
	all := []plot.Plotter{&plotter.Line{XYs: points, LineStyle: l.Look.style()}, dots}
	if len(bars.XYs) > 0 {
		all = append(all, bars)
	}
	return all
}

func (l Look) color() color.Color {
	if l.Faint {
		return faint(l.Color, 0xB0) // still visible on black
	}
	return colors[l.Color]
}

func faint(c Color, opacity uint8) color.Color {
	v := colors[c]
	v.A = opacity
	return v
}

func (l Look) style() draw.LineStyle {
	width := vg.Length(1.5)
	if l.Wide {
		width = 5
	}
	return draw.LineStyle{Color: l.color(), Width: width, Dashes: dashes[l.Dashes]}
}

// A thumbnail is a line in a legend.
type thumbnail struct{ look Look }

func (t thumbnail) Thumbnail(c *draw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(t.look.style(), c.Min.X, y, c.Max.X, y)
}

// ticks returns the ticks of both axes, which go from the first to the last. The x of each point
// has one. Labels that would not fit are left out.
func (f *Figure) ticks(panels []Panel) (xs, ys []plot.Tick) {
	var all []float64
	low, high := math.Inf(1), f.Y.High
	if f.Y.Low > 0 {
		low = f.Y.Low
	}
	for _, p := range panels {
		for _, l := range p.Lines {
			for _, at := range l.Points {
				all = append(all, at.X)
				low, high = min(low, at.Y), max(high, at.Y, at.High)
				if at.Low > 0 {
					low = min(low, at.Low)
				}
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	free := math.Inf(-1)
	span := math.Log(all[len(all)-1]) - math.Log(all[0])
	for _, v := range all {
		t := plot.Tick{Value: v}
		if at := math.Log(v); len(all) == 1 || at >= free {
			t.Label = f.X.Text(v)
			free = at + span*float64(style(8).Rectangle(t.Label).Size().X+6)/(panelWidth-70)
		}
		xs = append(xs, t)
	}
	if len(xs) == 1 { // a logarithmic axis needs two ends
		v := xs[0].Value
		xs = []plot.Tick{{Value: v / 2}, xs[0], {Value: v * 2}}
	}
	for _, v := range rounds(low, high) {
		ys = append(ys, plot.Tick{Value: v, Label: f.Y.Text(v)})
	}
	return xs, ys
}

// description returns all values of the figure.
func (f *Figure) description(panels []Panel) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s.", f.Y.Title, f.X.Title)
	for _, p := range panels {
		fmt.Fprintf(&b, "\n%s", p.Title)
		for _, l := range p.Lines {
			for i, at := range l.Points {
				separator := ";"
				if i == 0 {
					separator = "\n" + l.Name + ":"
				}
				fmt.Fprintf(&b, "%s %s: %s", separator, f.X.Text(at.X), Number(at.Y))
				if at.High > 0 {
					fmt.Fprintf(&b, " (%s to %s)", Number(at.Low), Number(at.High))
				}
			}
		}
	}
	return b.String()
}

// sheet is the style sheet of a figure. A file that an <img> shows also follows the reader's choice
// of a dark page, so it has its own background.
const sheet = `.figure { color: #222; fill: currentColor; font-family: "Liberation Sans", Arial, Helvetica, sans-serif; } .page { fill: #fff; }
@media (prefers-color-scheme: dark) { .figure { color: #d8dadf; } .page { fill: #16181d; } }`

// Page replaces the head of gonum's SVG file by one with a size in pixels, a viewport, a style
// sheet, a title and a description, and replaces black by the color of the text. The width and
// height are in points.
func Page(svg, title, description string, width, height float64) string {
	_, body, _ := strings.Cut(svg, "<svg ")
	_, body, _ = strings.Cut(body, ">\n")
	body = strings.NewReplacer(
		"stroke:#000000", "stroke:currentColor",
		"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "",
		"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal", "",
	).Replace(body)
	const pixels = 1.25 // for a point
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="figure" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">
<title>%s</title>
<desc>%s</desc>
<style>
%s
</style>
<rect width="100%%" height="100%%" class="page"/>
%s`, width*pixels, height*pixels, width, height, html.EscapeString(title), html.EscapeString(description), sheet, body)
}
