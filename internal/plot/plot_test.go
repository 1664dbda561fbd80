package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// The scales keep all points inside the area, whatever the values.
func TestChartInside(t *testing.T) {
	for _, ys := range [][]float64{{1}, {1e-9, 1e12}, {5, 5}, {0.3, 0.31}, {2e3}, {1e3, 9.99e3}, {7, 101}} {
		c := Chart{Mark: 1, X: SizeText, Lines: []Line{{Name: "a"}}}
		for i, y := range ys {
			c.Lines[0].Points = append(c.Lines[0].Points, Point{float64(i + 1), y})
		}
		a := yAxis(slices.Min(ys), slices.Max(ys))
		for _, y := range ys {
			if at := a.at(y); math.IsNaN(at) || at < plotTop-0.01 || at > plotTop+areaHeight+0.01 {
				t.Errorf("%v of %v is at %v", y, ys, at)
			}
		}
		if n := len(a.ticks()); n < 2 || n > 30 {
			t.Errorf("%d ticks for %v", n, ys)
		}
		if text := c.SVG(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%v: %s", ys, text)
		}
	}
	if svg := (&Chart{}).SVG(); svg != "" {
		t.Errorf("an empty chart: %s", svg)
	}
}

// A document is well-formed XML in SVG's namespace, whatever the names are, and has a style sheet.
func TestDocument(t *testing.T) {
	c := Chart{Title: "a < b & c", Unit: `"MB/s"`, X: SizeText, Mark: 1, Lines: []Line{
		{"<one>", Look{Colour: "#123456", Dashes: "2 3", Faint: true}, []Point{{64, 0.5}, {1 << 20, 5000}}},
		{"two", Look{Colour: `"/><script>`}, []Point{{64, 3}}},
	}}
	text := c.Document()
	var root string
	var circles int
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			root = start.Name.Space + " " + start.Name.Local
		}
		switch start.Name.Local {
		case "circle":
			circles++
		case "script":
			t.Errorf("an element from a name in\n%s", text)
		}
	}
	if root != "http://www.w3.org/2000/svg svg" || circles != 3 || !strings.Contains(text, "<style>") {
		t.Errorf("root %q, %d points instead of 3, in\n%s", root, circles, text)
	}
	if text := (&Chart{}).Document(); text != "" {
		t.Errorf("an empty chart: %s", text)
	}
}

// The chart is wide enough for the longest name of its legend.
func TestLegendFits(t *testing.T) {
	width := func(name string) (n int) {
		t.Helper()
		c := Chart{X: SizeText, Lines: []Line{{Name: name, Points: []Point{{1, 1}}}}}
		if _, err := fmt.Sscanf(c.SVG(), `<svg viewBox="0 0 %d`, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	usual := width("a")
	if got := width(strings.Repeat("w", 24)); got != usual {
		t.Errorf("width %d with a name that has room, want %d", got, usual)
	}
	if got, want := width(strings.Repeat("é", 60)), legendText+60*letterWidth; got != want {
		t.Errorf("width %d with a long name, want %d", got, want)
	}
}
