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

// failures returns what a log of go test or make says about failures: each failed test, race and
// panic with the lines that follow it, and the last lines. More lines follow the message about a
// package that does not run again, because they say in which tests its process ended.
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
	if len(kept) > mostLines { // the end says more than the middle
		kept = slices.Concat(kept[:mostLines-5], kept[len(kept)-5:])
	}
	return kept
}
