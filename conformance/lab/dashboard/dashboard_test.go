package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDashboard draws the dashboard of the documents from a Prometheus that gives the same answer
// to each query. All panels are in the picture.
func TestDashboard(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if q := r.FormValue("query"); strings.Contains(q, "$") || r.FormValue("step") != "5.000" {
			t.Errorf("asked for %q, step %s", q, r.FormValue("step"))
		}
		start := r.FormValue("start")
		fmt.Fprintf(w, `{"status":"success","data":{"result":[{"metric":{"instance":"a<b","direction":"sent"},"values":[[%s,"0"],[%s,"12345678"]]}]}}`, start, r.FormValue("end"))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "d.svg")
	const source = "../../../docs/dashboard.json"
	if err := run([]string{"-prometheus", s.URL, "-svg", file, source}, io.Discard); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := read(source)
	if err != nil {
		t.Fatal(err)
	}
	texts := textsOf(t, string(b))
	queries := 0
	for _, p := range d.Panels {
		queries += len(p.Targets)
		if !strings.Contains(texts, p.Title) {
			t.Errorf("there is no %q", p.Title)
		}
		if unit := p.FieldConfig.Defaults.Unit; unit != "short" && units[unit] == "" {
			t.Errorf("the unit %q has no text", unit)
		}
	}
	if asked != queries || !strings.Contains(texts, "a<b") || !strings.Contains(texts, " MB/s") {
		t.Errorf("%d queries of %d; the texts are %q", asked, queries, texts)
	}
}

// textsOf returns all text of an SVG.
func textsOf(t *testing.T, svg string) string {
	t.Helper()
	var all strings.Builder
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			all.Write(text)
		}
	}
}

func TestErrors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"status":"error","error":"no such thing"}`)
	}))
	defer s.Close()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "give -svg FILE and the dashboard"},
		{[]string{"-svg", filepath.Join(dir, "x"), empty}, "has no panels"},
		{[]string{"-svg", filepath.Join(dir, "x"), filepath.Join(dir, "none")}, "no such file"},
		{[]string{"-svg", filepath.Join(dir, "x"), "-prometheus", s.URL, "../../../docs/dashboard.json"}, "no such thing"},
	} {
		if err := run(tt.args, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.args, err, tt.want)
		}
	}
}
