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
	dumpLines   = 60 // the largest number of lines of a dump that report prints
	dumpBefore  = 10 // of them, what the tests printed before the process ended
	stackFrames = 6  // the largest number of frames that it prints of a stack
)

var (
	goroutine = regexp.MustCompile(`^goroutine \d+ .*:$`)
	arguments = regexp.MustCompile(`\([^()]*\)$`) // of a function in a stack
)

// interrupted reports the packages that had not ended when go test was interrupted.
func (run *testRun) interrupted(w io.Writer) {
	for _, p := range run.packages {
		if len(p.open) > 0 {
			p.report(w)
		}
	}
}

// report says why the package does not run again. If its process ended in the middle of tests, report
// prints which tests ran and where they were, and writes all that they printed to a file next to the
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

// digest returns the lines of a dump that say most: which tests ran, what they last printed, and the
// first frames of each goroutine, those first that are in a function of the package.
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
	var own, others []string
	for _, stack := range stacks(lines[end+first:]) {
		if slices.ContainsFunc(stack, func(line string) bool { return strings.Contains(line, pkg+".") }) {
			own = append(own, stackHead(stack)...)
		} else {
			others = append(others, stackHead(stack)...)
		}
	}
	kept = slices.Concat(kept, own, others)
	return kept[:min(len(kept), dumpLines)]
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

// stackHead returns the line that names the goroutine and the first frames, each as one line.
func stackHead(stack []string) []string {
	head := []string{stack[0]}
	for i := 1; i+1 < len(stack) && len(head) <= stackFrames; i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(stack[i+1]), " +0x")
		function := arguments.ReplaceAllString(stack[i], "")
		head = append(head, "    "+function[strings.LastIndex(function, "/")+1:]+" "+place)
	}
	return head
}
