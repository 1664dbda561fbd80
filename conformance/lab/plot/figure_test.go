package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	gonum "gonum.org/v1/plot"
)

// TestFigureOfAnyValues: for any values, the axes begin and end at round values that enclose all of
// them, with few ticks.
func TestFigureOfAnyValues(t *testing.T) {
	for _, ys := range [][]float64{{1}, {1e-9, 1e12}, {5, 5}, {0.3, 0.31}, {2e3}, {1e3, 9.99e3}, {7, 101}, {99, 1e7}} {
		f := Figure{Mark: 1, X: Axis{Title: "size", Text: Size}, Y: Axis{Title: "MB/s", Text: Number}, Panels: []Panel{{"p", []Line{{Name: "a"}}}}}
		for i, y := range ys {
			f.Panels[0].Lines[0].Points = append(f.Panels[0].Lines[0].Points, Point{X: float64(i + 1), Y: y})
		}
		_, ticks := f.ticks(f.Panels)
		first, last := ticks[0].Value, ticks[len(ticks)-1].Value
		if low, high := slices.Min(ys), slices.Max(ys); first > low || last < high || first < low/10.1 || last > high*10.1 {
			t.Errorf("the axis of %v goes from %v to %v", ys, first, last)
		}
		if len(ticks) < 2 || len(ticks) > 24 || !slices.IsSortedFunc(ticks, func(a, b gonum.Tick) int { return int(a.Value/b.Value - 1) }) {
			t.Errorf("the ticks for %v are %v", ys, ticks)
		}
		if text := f.SVG(); text == "" || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%v: %s", ys, text)
		}
	}
}

// TestAxisIncludes: the y-axis has the values that it must include, and those of the points.
func TestAxisIncludes(t *testing.T) {
	for _, y := range []float64{0.1, 1, 50} {
		f := Figure{X: Axis{Text: Size}, Y: Axis{Text: Number, Low: 0.2, High: 20}, Panels: []Panel{{"p", []Line{{Points: []Point{{X: 1, Y: y}}}}}}}
		_, ticks := f.ticks(f.Panels)
		if first, last := ticks[0].Value, ticks[len(ticks)-1].Value; first != min(y, 0.2) || last != max(y, 20) {
			t.Errorf("the axis for %v goes from %v to %v", y, first, last)
		}
	}
}

func TestFigureOfNothing(t *testing.T) {
	for _, f := range []Figure{{}, {Panels: []Panel{{}}}, {Panels: []Panel{{Title: "a", Lines: []Line{{Name: "b"}}}}}} {
		if svg := f.SVG(); svg != "" {
			t.Errorf("%+v: %s", f, svg)
		}
	}
}

// TestFigureIsXML: a figure is well-formed XML in SVG's namespace, whatever the names are. It has a
// viewport, a style sheet for dark pages, a dot for each value, the titles, and the values as text.
func TestFigureIsXML(t *testing.T) {
	f := Figure{Title: "a < b & c", X: Axis{Title: "<x>", Text: Size}, Y: Axis{Title: `"MB/s"`, Text: Number}, Mark: 1, Panels: []Panel{
		{"<p>", []Line{
			{"<one>", Look{Color: Blue, Dashes: Dashed, Faint: true, Wide: true}, []Point{{64, 0.5, 0.4, 0.7}, {1 << 20, 5000, 0, 0}}},
			{"two", Look{}, []Point{{64, 3, 0, 0}}},
		}},
		{"empty", nil},
	}}
	svg := f.SVG()
	for _, want := range []string{
		`viewBox="0 0 290 `, "prefers-color-scheme: dark", "<title>a &lt; b &amp; c</title>", "&lt;x&gt;", "&lt;p&gt;",
		"stroke-width:5", "&lt;one&gt;: 64 B: 0.5 (0.4 to 0.7); 1 MiB: 5000\ntwo: 64 B: 3</desc>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	for _, unwanted := range []string{"#000000", "font-family:L", "empty"} {
		if strings.Contains(svg, unwanted) {
			t.Errorf("%q is in\n%s", unwanted, svg)
		}
	}
	var root string
	elements := make(map[string]int)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			if root == "" {
				root = start.Name.Space + " " + start.Name.Local
			}
			elements[start.Name.Local]++
		}
	}
	if root != "http://www.w3.org/2000/svg svg" {
		t.Errorf("the root is %s", root)
	}
	if dots := strings.Count(svg, "A1.8,1.8"); dots < 3 {
		t.Errorf("%d arcs, want those of 3 dots", dots)
	}
	if elements["title"] != 1 || elements["desc"] != 1 || elements["text"] < 8 {
		t.Errorf("the elements are %v", elements)
	}
}

// TestPanelsAreEven: no row has many more panels than the last one.
func TestPanelsAreEven(t *testing.T) {
	var got []int
	for n := 1; n <= 9; n++ {
		got = append(got, columnsOf(n))
	}
	if want := "[1 2 3 2 3 3 3 3 3]"; fmt.Sprint(got) != want {
		t.Errorf("the columns are %v, want %s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234: "1234", 99.6: "99.6", 0.5: "0.5", 3: "3", 0.0123: "0.0123"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{1: "1 B", 1000: "1000 B", 4096: "4 KiB", 3 << 20: "3 MiB"} {
		if got := Size(v); got != want {
			t.Errorf("Size(%v) = %s, want %s", v, got, want)
		}
	}
}
