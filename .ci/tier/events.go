package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of the package that is built
	Test       string
	Output     string
	Elapsed    float64
}

// A testRun is the result of one run of go test.
type testRun struct {
	packages []*packageRun
	named    map[string]*packageRun
}

// A packageRun is the result of one package.
type packageRun struct {
	name    string
	failed  []record // its failed top-level tests, in the order in which they ended
	result  string   // pass, fail or skip; "" until the package has ended
	seconds float64
	fatal   string // why it must not run again; "" if it may
	open    map[string]bool
	output  map[string][]string // by top-level test, until the test has ended; "" is the package itself
}

// fatalMarks begin lines of output that are never due to time or chance.
var fatalMarks = []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", "SIGSEGV", "SIGQUIT", "BUG: "}

// readEvents reads the output of go test -json until its end. It prints to w what go test would
// print: a line for each package, and the output of failed tests.
func readEvents(r io.Reader, w io.Writer) (*testRun, error) {
	run := &testRun{named: map[string]*packageRun{}}
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if jsonErr := json.Unmarshal(line, &e); jsonErr != nil {
				fmt.Fprintf(w, "%s", line) // the go command's own output
			} else {
				run.add(e, w)
			}
		}
		if err == io.EOF {
			return run, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// add adds one event.
func (run *testRun) add(e event, w io.Writer) {
	if e.Package == "" {
		if e.Action == "build-output" {
			fmt.Fprint(w, e.Output)
		}
		return
	}
	p := run.named[e.Package]
	if p == nil {
		p = &packageRun{name: e.Package, open: map[string]bool{}, output: map[string][]string{}}
		run.named[e.Package] = p
		run.packages = append(run.packages, p)
	}
	p.add(e, w)
}

func (p *packageRun) add(e event, w io.Writer) {
	top, _, sub := strings.Cut(e.Test, "/")
	switch e.Action {
	case "output":
		p.output[top] = append(p.output[top], e.Output)
		for _, mark := range fatalMarks {
			if strings.HasPrefix(e.Output, mark) && p.fatal == "" {
				p.fatal = strings.TrimSpace(e.Output)
			}
		}
	case "run":
		if !sub {
			p.open[top] = true
		}
	case "pass", "fail", "skip":
		if sub {
			return
		}
		if e.Test == "" {
			p.end(e, w)
			return
		}
		delete(p.open, top)
		if e.Action == "fail" {
			p.failed = append(p.failed, record{Test: top, Package: p.name, Attempt: 1, Result: "fail", Seconds: e.Elapsed})
			for _, line := range p.output[top] {
				if !noise.MatchString(line) {
					fmt.Fprint(w, line)
				}
			}
		}
		delete(p.output, top)
	}
}

// end ends the package. It sets fatal unless the failure is one of single tests.
func (p *packageRun) end(e event, w io.Writer) {
	p.result, p.seconds = e.Action, e.Elapsed
	for _, line := range p.output[""] {
		if strings.TrimSpace(line) != "PASS" {
			fmt.Fprint(w, line)
		}
	}
	if p.result != "fail" {
		return
	}
	switch {
	case p.fatal != "":
	case len(p.open) > 0:
		p.fatal = "the process ended in " + strings.Join(slices.Sorted(maps.Keys(p.open)), ", ")
	case len(p.failed) == 0:
		p.fatal = "the package failed, and none of its tests"
	}
}
