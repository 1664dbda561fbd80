package main

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page is a document.
type page struct {
	Title  string
	Texts  []string
	Tables []table
}

// A table may have a bar in each row.
type table struct {
	Title   string
	Text    string
	Columns []string
	Rows    []row
}

type row struct {
	Cells []string
	Bar   float64 // its length in percent of the longest; 0 means none
}

func (p *page) write(w io.Writer, drawings []drawing) error {
	type document struct {
		*page
		Figures []template.HTML
	}
	d := document{page: p}
	for _, f := range drawings {
		if svg := f.figure.SVG(); svg != "" {
			d.Figures = append(d.Figures, template.HTML(svg)) //nolint:gosec // all text in it is escaped
		}
	}
	return pageTemplate.Execute(w, d)
}

// HasBars reports whether rows have bars.
func (t *table) HasBars() bool {
	for _, r := range t.Rows {
		if r.Bar != 0 {
			return true
		}
	}
	return false
}
