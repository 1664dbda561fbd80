package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	lab "github.com/rddp/rddp/conformance/lab/plot"
)

// The geometry of the picture, in points.
const (
	columns     = 3
	panelWidth  = 300
	panelHeight = 190
	gap         = 10
)

var lineColors = []color.Color{
	color.NRGBA{0x2F, 0x86, 0xC8, 0xFF}, color.NRGBA{0xF0, 0x80, 0x20, 0xFF}, color.NRGBA{0x35, 0xA0, 0x40, 0xFF}, color.NRGBA{0xDC, 0x40, 0x40, 0xFF},
	color.NRGBA{0x9B, 0x72, 0xC8, 0xFF}, color.NRGBA{0x9C, 0x6A, 0x55, 0xFF}, color.NRGBA{0x20, 0xB0, 0xBE, 0xFF}, color.NRGBA{0x88, 0x88, 0x88, 0xFF},
}

// drawPanels draws the panels in rows, as an SVG that follows the reader's choice of a light or a
// dark page.
func drawPanels(d *dashboard, from, to time.Time) ([]byte, error) {
	rows := (len(d.Panels) + columns - 1) / columns
	c := vgsvg.New(columns*(panelWidth+gap)+gap, vg.Length(rows)*(panelHeight+gap)+gap)
	page := draw.New(c)
	for i := range d.Panels {
		p, err := chart(&d.Panels[i], from, to)
		if err != nil {
			return nil, err
		}
		left, top := gap+vg.Length(i%columns)*(panelWidth+gap), page.Max.Y-gap-vg.Length(i/columns)*(panelHeight+gap)
		p.Draw(draw.Canvas{Canvas: page.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left, Y: top - panelHeight}, Max: vg.Point{X: left + panelWidth, Y: top},
		}})
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	width, height := page.Rectangle.Size().X, page.Rectangle.Size().Y
	return []byte(lab.Page(b.String(), d.Title, "", float64(width), float64(height))), nil
}

func style(size vg.Length) text.Style {
	return text.Style{Color: color.Black, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: plot.DefaultTextHandler}
}

// chart returns a panel as a plot over minutes, from 0 to the highest value.
func chart(p *panel, from, to time.Time) (*plot.Plot, error) {
	c := plot.New()
	c.BackgroundColor = nil // the page's
	c.Title.Text, c.Title.TextStyle.Font = p.Title, style(10).Font
	c.X.Tick.Label.Font, c.Y.Tick.Label.Font = style(7).Font, style(7).Font
	c.Legend.TextStyle, c.Legend.Top, c.Legend.Left, c.Legend.ThumbnailWidth, c.Legend.YOffs = style(7), true, true, 12, -4
	c.Add(plotter.NewGrid())
	most := 0.0
	for i, l := range p.lines {
		var xys plotter.XYs
		for _, at := range l.points {
			xys = append(xys, plotter.XY{X: (at.at - float64(from.Unix())) / 60, Y: at.value})
			most = math.Max(most, at.value)
		}
		line, err := plotter.NewLine(xys)
		if err != nil {
			return nil, fmt.Errorf("panel %q, %s: %w", p.Title, l.name, err)
		}
		line.Color, line.Width = lineColors[i%len(lineColors)], 1.2
		c.Add(line)
		c.Legend.Add(l.name, line)
	}
	c.X.Min, c.X.Max, c.Y.Min = 0, to.Sub(from).Minutes(), 0
	if c.Y.Max = most * (1.15 + 0.09*float64(len(p.lines))); most == 0 { // room for the legend
		c.Y.Max = 1
	}
	c.X.Tick.Marker = ticker(func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + " min" })
	c.Y.Tick.Marker = ticker(func(v float64) string { return label(v, p.FieldConfig.Defaults.Unit) })
	return c, nil
}

// ticker labels the ticks of the default ticker.
func ticker(label func(float64) string) plot.TickerFunc {
	return func(least, most float64) []plot.Tick {
		ticks := plot.DefaultTicks{}.Ticks(least, most)
		for i := range ticks {
			if ticks[i].Label != "" {
				ticks[i].Label = label(ticks[i].Value)
			}
		}
		return ticks
	}
}

// units are the texts after a value, by Grafana's name of the unit.
var units = map[string]string{"bytes": "B", "Bps": "B/s", "ops": "/s", "cps": "/s", "short": ""}

func label(v float64, unit string) string {
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T"} {
		if math.Abs(v) < 1000 {
			break
		}
		v, prefix = v/1000, p
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " " + prefix + units[unit]
}
