package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	dumpLines   = 60 // the most lines of a dump that report prints
	dumpBefore  = 10 // the most of them for the tests' output before the process ended
	stackFrames = 4  // the most frames of a stack that it prints, besides the test's frame
)

var (
	goroutine = regexp.MustCompile(`^goroutine \d+ .*:$`)
	arguments = regexp.MustCompile(`\([^()]*\)$`) // of a function in a stack
)

// interrupted reports the packages whose tests were running when go test was interrupted.
func (run *testRun) interrupted(w io.Writer) {
	for _, p := range run.packages {
		if len(p.open) > 0 {
			p.report(w)
		}
	}
}

// report prints why the package does not run again. If its process ended during tests, report
// prints which tests were running and where, and writes all of their output to a file next to the
// record.
func (p *packageRun) report(w io.Writer) {
	fmt.Fprintf(w, "== %s does not run again: %s\n", p.name, p.fatal)
	var dump strings.Builder // the stacks of the process are the output of the test that printed last
	for _, name := range slices.Sorted(maps.Keys(p.open)) {
		for _, line := range p.output[name] {
			dump.WriteString(line)
		}
	}
	if dump.Len() == 0 {
		return
	}
	lines := strings.Split(strings.TrimRight(dump.String(), "\n"), "\n")
	for _, line := range digest(lines, p.name) {
		fmt.Fprintf(w, "%s\n", line[:min(len(line), 300)])
	}
	record, _ := recordName()
	dir := filepath.Dir(record)
	name := filepath.Join(dir, "dump-"+strings.ReplaceAll(p.name, "/", "-")+".txt")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
	}
	if err != nil {
		fmt.Fprintf(w, "the dump is lost: %v\n", err)
		return
	}
	fmt.Fprintf(w, "the whole dump of %d lines: %s\n", len(lines), name)
}

// digest returns the most useful lines of a dump: the tests that were running, their last output,
// and the places of goroutines.
func digest(lines []string, pkg string) []string {
	lines = slices.DeleteFunc(slices.Clone(lines), noise.MatchString)
	end := slices.IndexFunc(lines, func(line string) bool {
		return slices.ContainsFunc(fatalMarks, func(mark string) bool { return strings.HasPrefix(line, mark) })
	})
	if end < 0 {
		return lines[max(len(lines)-dumpLines, 0):]
	}
	first := slices.IndexFunc(lines[end:], goroutine.MatchString)
	if first < 0 {
		first = len(lines) - end
	}
	said := lines[end : end+min(first, dumpLines/2)] // of a time limit: "running tests:", and their names
	kept := slices.Concat(said, lines[max(end-dumpBefore, 0):end])
	return append(kept, heads(stacks(lines[end+first:]), pkg, dumpLines-len(kept))...)
}

// heads returns the first frames of stacks, in at most n lines: stacks with a test first, then
// stacks with a function of the package. Of equal stacks it returns one, with their number.
func heads(stacks [][]string, pkg string, n int) (lines []string) {
	rank := func(stack []string) int {
		for i, mark := range []string{"_test.go:", pkg + "."} {
			if slices.ContainsFunc(stack, func(line string) bool { return strings.Contains(line, mark) }) {
				return i
			}
		}
		return 2
	}
	slices.SortStableFunc(stacks, func(a, b []string) int { return rank(a) - rank(b) })
	count, all := make(map[string]int), [][]string(nil)
	for _, stack := range stacks {
		head := stackHead(stack)
		frames := strings.Join(head[1:], "\n")
		if count[frames]++; count[frames] == 1 {
			all = append(all, head)
		}
	}
	for _, head := range all {
		if same := count[strings.Join(head[1:], "\n")]; same > 1 {
			head[0] += fmt.Sprintf(" and %d more like it", same-1)
		}
		lines = append(lines, head...)
	}
	return lines[:min(len(lines), n)]
}

// stacks splits a dump into the stacks of its goroutines.
func stacks(lines []string) (all [][]string) {
	for _, line := range lines {
		if goroutine.MatchString(line) {
			all = append(all, nil)
		}
		if len(all) > 0 && line != "" {
			all[len(all)-1] = append(all[len(all)-1], line)
		}
	}
	return all
}

// stackHead returns the line that names the goroutine, the first frames, and the test's frame if it
// is not among them, each as one line.
func stackHead(stack []string) []string {
	head := []string{stack[0]}
	tested := false
	for i := 1; i+1 < len(stack) && !strings.HasPrefix(stack[i], "created by "); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(stack[i+1]), " +0x")
		inTest := strings.Contains(place, "_test.go:")
		if len(head) > stackFrames && (tested || !inTest) {
			continue
		}
		tested = tested || inTest
		function := arguments.ReplaceAllString(stack[i], "")
		head = append(head, "    "+function[strings.LastIndex(function, "/")+1:]+" "+place)
	}
	return head
}
