package tcpscript

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

//go:embed testdata/*.script
var files embed.FS

// readCases returns the cases of the files in testdata. Package tcpscript's documentation describes
// them.
func readCases() (cases []testCase, err error) {
	names, err := fs.Glob(files, "testdata/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if step := strings.TrimSpace(line); step == "" || step[0] == '#' {
				continue
			}
			if cases, err = addLine(cases, line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
		}
	}
	return cases, nil
}

// addLine adds a line to the last of the cases. A line with a rule begins a new one.
func addLine(cases []testCase, line string) ([]testCase, error) {
	if head := strings.Split(line, " | "); len(head) == 3 && line[0] != '\t' {
		over4, over6 := strings.Contains(head[2], "IPv4"), strings.Contains(head[2], "IPv6")
		return append(cases, testCase{name: head[0], rfc: head[1], over4: over4, over6: over6}), nil
	}
	if len(cases) == 0 {
		return nil, errors.New("no case begins before this line")
	}
	c := &cases[len(cases)-1]
	if step, ok := strings.CutPrefix(line, "\t"); ok {
		c.script = append(c.script, expand(step)...)
		return cases, nil
	}
	if why, ok := strings.CutPrefix(line, "why "); ok {
		c.why = why
		return cases, nil
	}
	timeout, ok := strings.CutPrefix(line, "user timeout ")
	if !ok {
		return nil, fmt.Errorf("neither a case nor a step of one: %q", line)
	}
	var err error
	c.set.userTimeout, err = time.ParseDuration(timeout)
	return cases, err
}

// expand returns the steps that an opening stands for. Any other step stands for itself.
func expand(step string) (steps []string) {
	word, options, _ := strings.Cut(step, " ")
	opening, ok := openings[word]
	if !ok {
		return []string{step}
	}
	for line := range strings.Lines(strings.TrimSpace(opening)) {
		steps = append(steps, strings.Replace(strings.TrimSpace(line), "$", options, 1))
	}
	return steps
}

// atOnce is the number of scripts that run at the same time. Most of them wait for a timer of TCP
// at some time, and hardly any uses the processor.
const atOnce = 64

// TestScripts runs every script against every available TCP.
func TestScripts(t *testing.T) {
	cases, err := readCases()
	if err != nil {
		t.Fatal(err)
	}
	seed := prototest.Seeded(t).Uint64()
	type outcome struct {
		name string
		err  error
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	var outcomes []*outcome
	for _, m := range makers(t) {
		for i := range cases {
			for _, v6 := range []bool{false, true} {
				c := &cases[i]
				if v6 && !c.over6 || !v6 && !c.over4 {
					continue
				}
				o := &outcome{name: fmt.Sprintf("%s/%s, IPv%d", m.name, c.name, map[bool]int{false: 4, true: 6}[v6])}
				outcomes = append(outcomes, o)
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					o.err = execute(c, m, v6, seed)
				})
			}
		}
	}
	wg.Wait()
	for _, o := range outcomes {
		t.Run(o.name, func(t *testing.T) {
			if o.err != nil {
				t.Error(o.err)
			}
		})
	}
}

// TestCases: each case names its rule. It says why the TCPs differ if, and only if, its script has
// steps for only one of them. There are enough cases.
func TestCases(t *testing.T) {
	const enough = 60
	cases, err := readCases()
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, c := range cases {
		differs := slices.ContainsFunc(c.script, func(step string) bool {
			return strings.HasPrefix(step, "user:") || strings.HasPrefix(step, "linux:")
		})
		if c.rfc == "" || names[c.name] || differs != (c.why != "") || !c.over4 && !c.over6 {
			t.Errorf("case %q: rule %q, why %q", c.name, c.rfc, c.why)
		}
		names[c.name] = true
	}
	if len(cases) < enough {
		t.Errorf("%d cases, want %d", len(cases), enough)
	}
}
