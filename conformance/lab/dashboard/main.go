// Dashboard draws the panels of a Grafana dashboard from the data of a Prometheus server, as a
// picture for a document:
//
//	go run -C conformance/lab ./dashboard -since 10m -svg "$PWD/docs/dashboard.svg" "$PWD/docs/dashboard.json"
//
// It sends the queries of the dashboard as they are, with all instances and a rate interval of 20
// s. Grafana's additions, such as its colors and the last value of each line, are not in the
// picture.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("dashboard", flag.ContinueOnError)
	server := flags.String("prometheus", "http://127.0.0.1:9090", "the `URL` of Prometheus")
	since := flags.Duration("since", 10*time.Minute, "how far back the picture goes")
	file := flags.String("svg", "", "the `FILE` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *file == "" {
		return errors.New("give -svg FILE and the dashboard")
	}
	d, err := read(flags.Arg(0))
	if err != nil {
		return err
	}
	q := query{server: *server, to: time.Now(), since: *since}
	for i := range d.Panels {
		if err := q.panel(&d.Panels[i]); err != nil {
			return fmt.Errorf("panel %q: %w", d.Panels[i].Title, err)
		}
	}
	svg, err := drawPanels(d, q.to.Add(-q.since), q.to)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d panels in %d bytes\n", len(d.Panels), len(svg))
	return os.WriteFile(*file, svg, 0o644)
}

// A dashboard contains the parts of a Grafana dashboard that we need.
type dashboard struct {
	Title  string
	Panels []panel
}

// A panel is one chart, and the lines that Prometheus has for it.
type panel struct {
	Title       string
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, LegendFormat string }

	lines []line
}

type line struct {
	name   string
	points []point
}

// A point is a value at a Unix time in seconds.
type point struct{ at, value float64 }

func read(file string) (*dashboard, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &dashboard{}
	if err := json.Unmarshal(b, d); err != nil {
		return nil, err
	}
	if len(d.Panels) == 0 {
		return nil, fmt.Errorf("%s has no panels", file)
	}
	return d, nil
}

// A query asks a Prometheus for a span of time.
type query struct {
	server string
	to     time.Time
	since  time.Duration
}

// points are the points of a line.
const points = 120

// variables are Grafana's variables with their values in the picture.
var variables = strings.NewReplacer("$instance", ".*", "$__rate_interval", "20s")

// panel sets the lines of p.
func (q query) panel(p *panel) error {
	for _, t := range p.Targets {
		values := url.Values{
			"query": {variables.Replace(t.Expr)}, "start": {unix(q.to.Add(-q.since))}, "end": {unix(q.to)},
			"step": {strconv.FormatFloat(q.since.Seconds()/points, 'f', 3, 64)},
		}
		r, err := http.PostForm(q.server+"/api/v1/query_range", values)
		if err != nil {
			return err
		}
		lines, err := parse(r.Body, t.LegendFormat)
		r.Body.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", t.Expr, err)
		}
		p.lines = append(p.lines, lines...)
	}
	return nil
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// parse parses an answer of Prometheus. The names of the lines are made from legend, in which
// {{label}} stands for the value of a label.
func parse(r io.Reader, legend string) ([]line, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(r).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, errors.New(answer.Error)
	}
	var lines []line
	for _, result := range answer.Data.Result {
		l := line{name: legend}
		for label, value := range result.Metric {
			l.name = strings.ReplaceAll(l.name, "{{"+label+"}}", value)
		}
		for _, v := range result.Values {
			at, isNumber := v[0].(float64)
			text, isText := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if !isNumber || !isText || err != nil {
				return nil, fmt.Errorf("a value is %v", v)
			}
			l.points = append(l.points, point{at, value})
		}
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.name, b.name) })
	return lines, nil
}
