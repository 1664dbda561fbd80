package main

import (
	"regexp"
	"slices"
	"strings"
)

// mostLines is the largest number of lines that failures returns.
const mostLines = 40

var (
	noise = regexp.MustCompile(`^ *(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|SKIP))|^(ok|PASS|\?) `)
	final = regexp.MustCompile(`^== \S+ does not run again: `)
	alarm = regexp.MustCompile(`^ *--- FAIL|DATA RACE|^(\w+: )?(panic|fatal error):|^FAIL\s|: (error|Error):|\*\*\* `)
)

// failures extracts the failures from a log of go test or make: each failed test, race and panic
// with the lines after it, and the last lines of the log. It returns more lines after the message
// that a package does not run again, because they name the tests in which its process ended.
func failures(log string) []string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimRight(log, "\n"), "\n"), noise.MatchString)
	keep := make([]bool, len(lines))
	mark := func(from, to int) {
		for i := max(from, 0); i < min(to, len(lines)); i++ {
			keep[i] = true
		}
	}
	for i, line := range lines {
		if alarm.MatchString(line) {
			mark(i, i+11)
		}
		if final.MatchString(line) {
			mark(i, i+31)
		}
	}
	mark(len(lines)-5, len(lines))
	var kept []string
	for i, line := range lines {
		if keep[i] {
			kept = append(kept, line[:min(len(line), 300)])
		}
	}
	if len(kept) > mostLines { // the end is more useful than the middle
		kept = slices.Concat(kept[:mostLines-5], kept[len(kept)-5:])
	}
	return kept
}
