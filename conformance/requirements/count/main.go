// Count runs every test that covers a requirement of the RFCs. For each RFC it prints how many
// requirements have a test that passes. It must run in the module's root. It fails if a testable
// MUST, MUST NOT or IS has no such test.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rddp/rddp/conformance/requirements"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "count:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	rows, err := requirements.Load()
	if err != nil {
		return err
	}
	tests, err := requirements.Tests(".")
	if err != nil {
		return err
	}
	for _, g := range requirements.Gaps(rows, tests) {
		err = errors.Join(err, errors.New(g))
	}
	if err != nil {
		return err
	}
	passed, err := runTests(tests, out)
	if err != nil {
		return err
	}
	covered := map[string]bool{} // all tests of the requirement pass
	for _, t := range tests {
		for _, id := range t.IDs {
			before, known := covered[id]
			covered[id] = passed[folder(t)+" "+t.Name] && (before || !known)
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RFC\trequirements\tMUST, MUST NOT, IS\ttestable\tcovered and passing\tothers passing")
	missing := 0
	for _, c := range requirements.Count(rows, func(r requirements.Requirement) bool { return covered[r.ID] }) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\n", c.RFC, c.Rows, c.Binding, c.BindingTestable, c.BindingDone, c.OtherDone)
		missing += c.BindingTestable - c.BindingDone
	}
	table.Flush()
	for _, r := range rows {
		if r.Why == "" && !covered[r.ID] {
			fmt.Fprintf(out, "%s (%s) has a test that does not pass\n", r.ID, r.Level)
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d requirements do not hold", missing)
	}
	return nil
}

// folder returns the folder of the test's package.
func folder(t requirements.Test) string { return "./" + path.Dir(t.File) }

// runTests runs the tests, package by package, and returns those that pass, as folder and name. It
// writes what the others have printed to out.
func runTests(tests []requirements.Test, out io.Writer) (passed map[string]bool, err error) {
	names := map[string][]string{}
	for _, t := range tests {
		if f := folder(t); !slices.Contains(names[f], t.Name) {
			names[f] = append(names[f], t.Name)
		}
	}
	passed = map[string]bool{}
	for f, n := range names {
		cmd := exec.Command("go", "test", "-json", "-tags=conformance", "-timeout=15m", "-run=^("+strings.Join(n, "|")+")$", ".")
		cmd.Dir = f // may be in another module
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		scanner := bufio.NewScanner(stdout)
		scanner.Buffer(nil, 1<<20)
		printed := map[string]string{} // by a test that has not passed; "" is the package
		for scanner.Scan() {
			var e struct{ Action, Test, Output string }
			if json.Unmarshal(scanner.Bytes(), &e) != nil {
				continue
			}
			printed[e.Test] += e.Output
			if e.Action == "pass" {
				passed[f+" "+e.Test] = true
				delete(printed, e.Test)
			}
		}
		if err := cmd.Wait(); err != nil { // failed tests are missing in passed
			fmt.Fprintf(out, "%s: %v\n", f, err)
			for _, test := range slices.Sorted(maps.Keys(printed)) {
				io.WriteString(out, printed[test])
			}
		}
	}
	return passed, nil
}
