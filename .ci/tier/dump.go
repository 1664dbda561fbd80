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

// frame matches a frame of a stack: the function without the path of its package, and its place.
var frame = regexp.MustCompile(`(?m)^(?:.*/)?([^/\n]+?)(?:\([^()\n]*\))?\n\t(\S+:\d+)`)

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

// digest returns the most useful lines of a dump: what the process said last, the tests' output
// before, and the first frames of each kind of stack: stacks with a test first, then stacks with a
// function of the package.
func digest(lines []string, pkg string) []string {
	lines = slices.DeleteFunc(slices.Clone(lines), noise.MatchString)
	end := slices.IndexFunc(lines, func(line string) bool {
		return slices.ContainsFunc(fatalMarks, func(mark string) bool { return strings.HasPrefix(line, mark) })
	})
	if end < 0 {
		return lines[max(len(lines)-dumpLines, 0):]
	}
	stacks := strings.Split(strings.Join(lines[end:], "\n"), "\n\ngoroutine ")
	said := strings.Split(stacks[0], "\n") // of a time limit: "running tests:", and their names
	kept := slices.Concat(said[:min(len(said), dumpLines/2)], lines[max(end-dumpBefore, 0):end])
	rank := func(stack string) int {
		return slices.IndexFunc([]string{"_test.go:", pkg + ".", ""}, func(mark string) bool { return strings.Contains(stack, mark) })
	}
	stacks = stacks[1:]
	slices.SortStableFunc(stacks, func(a, b string) int { return rank(a) - rank(b) })
	seen := make(map[string]bool)
	for _, stack := range stacks {
		state, _, _ := strings.Cut(stack, "\n")
		frames := firstFrames(stack)
		if all := strings.Join(frames, "\n"); !seen[all] {
			seen[all] = true
			kept = append(append(kept, "goroutine "+state), frames...)
		}
	}
	return kept[:min(len(kept), dumpLines)]
}

// firstFrames returns the first frames of a stack, and the test's frame if it is not among them,
// each as one line.
func firstFrames(stack string) (frames []string) {
	stack, _, _ = strings.Cut(stack, "\ncreated by ")
	tested := false
	for _, f := range frame.FindAllStringSubmatch(stack, -1) {
		inTest := strings.Contains(f[2], "_test.go:")
		if len(frames) < stackFrames || inTest && !tested {
			frames = append(frames, "    "+f[1]+" "+f[2])
		}
		tested = tested || inTest
	}
	return frames
}
