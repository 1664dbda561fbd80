package plot

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// style returns the style of text of a size.
func style(size vg.Length) text.Style {
	f := sans
	f.Size = size
	return text.Style{Color: colors[Text], Font: f, Handler: plot.DefaultTextHandler}
}

// rounds returns round values. The first is at most low, and the last at least high: the series 1,
// 2, 5, 10 …, or the powers of ten if those are too many.
func rounds(low, high float64) (values []float64) {
	const most = 9
	values = []float64{roundDown(low)}
	for len(values) < 2 || values[len(values)-1] < high {
		values = append(values, above(values[len(values)-1]))
	}
	if len(values) <= most {
		return values
	}
	values = values[:0]
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		values = append(values, math.Pow(10, e))
	}
	return values
}

// roundDown returns the largest 1, 2 or 5 times a power of ten that is at most v.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{5, 2} {
		if m*decade <= v {
			return m * decade
		}
	}
	return decade
}

// above returns the value after v in the series 1, 2, 5, 10 …
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

// Size prints a size in bytes.
func Size(v float64) string {
	switch n := int(v + 0.5); {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d B", n)
	}
}
