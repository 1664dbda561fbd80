//go:build foreign

package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rddp/rddp/conformance/foreign/standin"
)

// A column is one way to run a suite.
type column struct {
	name  string
	plain bool // package net's own TCP
	mode  standin.Mode
}

// columns are the ways to run a suite. The first one is what the others are compared with.
var columns = []column{
	{name: "tcp", plain: true},
	{name: "extsock", mode: standin.ModeOff},
	{name: "prefer", mode: standin.ModePrefer},
	{name: "require", mode: standin.ModeRequire},
	{name: "in-band", mode: standin.ModeInBand},
}

// A tally is how often a test has passed, failed and been skipped.
type tally struct{ passed, failed, skipped int }

// A result is what one run of a suite has shown.
type result struct {
	tests  map[string]tally
	hung   []string // top-level tests that have ended their process, by hanging or by a panic
	again  []string // tests that have failed and passed at another attempt
	took   time.Duration
	counts standin.Counts
	log    string // name of the file with the output
}

// passed and failed count tests, subtests included; a test that has run 20 times counts 20 times.
func (r *result) passed() (n int) {
	for _, t := range r.tests {
		n += t.passed
	}
	return n
}

func (r *result) failed() (n int) {
	for _, t := range r.tests {
		n += t.failed
	}
	return n
}

// An execution is a test program in one column.
type execution struct {
	s        *suite
	col      column
	program  string
	folder   string
	log      string   // the output goes there
	service  *service // nil for none
	env      []string // what tells the tests how to reach it
	patience time.Duration
}

// maxStarts is how often a program is started: a test that hangs or panics ends it, and the tests
// behind it run in the next.
const maxStarts = 8

// run runs the tests, each as often as the suite says, in a process for each time. The error says
// why there is no result; tests that fail are part of the result.
func (e *execution) run() (*result, error) {
	r := &result{tests: map[string]tally{}, log: e.log}
	if e.service != nil {
		through, err := startRelay(e.col, e.service)
		if err != nil {
			return nil, err
		}
		defer through.close()
		if e.env, err = through.env(); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	for range e.s.repeats() {
		once, err := e.runOnce()
		if err != nil {
			return nil, err
		}
		r.include(once)
	}
	if len(r.tests) == 0 {
		return nil, fmt.Errorf("no test has run, see %s", e.log)
	}
	for range attempts {
		if !e.hasFailures(r) {
			break
		}
		once, err := e.runOnce()
		if err != nil {
			return nil, err
		}
		r.amend(once)
	}
	r.took = time.Since(begin)
	return r, nil
}

// attempts is how often a suite runs again because a test has failed. Other projects' tests have
// time limits that a busy machine does not always meet, over TCP either; all columns have the same
// attempts.
const attempts = 2

// hasFailures reports whether a test has failed that is no exception.
func (e *execution) hasFailures(r *result) bool {
	for name, t := range r.tests {
		if t.failed > 0 && exceptionFor(e.s, e.col, name) == nil {
			return true
		}
	}
	return false
}

// runOnce runs each test once.
func (e *execution) runOnce() (*result, error) {
	once := &result{tests: map[string]tally{}}
	for range maxStarts {
		out, ended, err := e.start(once)
		if err != nil {
			return nil, err
		}
		guilty, err := once.add(out)
		if err != nil {
			return nil, err
		}
		if !ended && len(guilty) == 0 {
			return nil, fmt.Errorf("the program ended outside of a test, see %s", e.log)
		}
		once.hung = append(once.hung, guilty...)
		if ended {
			break
		}
	}
	return once, nil
}

// amend replaces one failure of each test that has failed and passes in once.
func (r *result) amend(once *result) {
	for name, n := range once.tests {
		if t := r.tests[name]; t.failed > 0 && n.passed > 0 {
			t.failed--
			t.passed++
			r.tests[name] = t
			r.again = append(r.again, name)
		}
	}
}

// include adds the counts of once to r.
func (r *result) include(once *result) {
	for name, n := range once.tests {
		t := r.tests[name]
		r.tests[name] = tally{t.passed + n.passed, t.failed + n.failed, t.skipped + n.skipped}
	}
	r.hung = append(r.hung, once.hung...)
	r.counts.Dialed += once.counts.Dialed
	r.counts.DDP += once.counts.DDP
	r.counts.Fallback += once.counts.Fallback
	r.counts.Panics += once.counts.Panics
}

// start runs the program once, without the tests that r has already. It returns the output, and
// whether the program came to its end: that is so unless a test has panicked or hung.
func (e *execution) start(r *result) (out []byte, ended bool, err error) {
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + e.patience.String()}
	if run := e.s.pattern(); run != "" {
		args = append(args, "-test.run="+run)
	}
	if e.s.short {
		args = append(args, "-test.short")
	}
	if skip := e.skip(r); skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	countsFile, report := e.log+".counts", e.log+".specs"
	if err := errors.Join(os.RemoveAll(countsFile), os.RemoveAll(report)); err != nil {
		return nil, false, err
	}
	if e.s.specs != "" {
		args = append(args, "-ginkgo.no-color", "-ginkgo.json-report="+report, "-ginkgo.focus="+e.s.focus(), "-ginkgo.skip="+e.s.skipSpecs)
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.patience+time.Minute) // the program's own limit comes first
	defer cancel()
	cmd := exec.CommandContext(ctx, e.program, args...)
	cmd.Dir = e.folder
	cmd.Env = append(os.Environ(), standin.Variable+"="+string(e.col.mode), standin.CountsVariable+"="+countsFile)
	cmd.Env = append(cmd.Env, e.env...)
	cmd.WaitDelay = 10 * time.Second
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, false, err
	}
	if err := appendTo(e.log, b.Bytes()); err != nil {
		return nil, false, err
	}
	if c, err := standin.ReadCounts(countsFile); err == nil {
		r.counts.Dialed += c.Dialed
		r.counts.DDP += c.DDP
		r.counts.Fallback += c.Fallback
		r.counts.Panics += c.Panics
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, false, err
	}
	if err := r.addSpecs(report, e.s.specs); err != nil {
		return nil, false, err
	}
	return b.Bytes(), endsProperly(b.Bytes()), nil
}

// skip returns the pattern of the tests that the next start of the program leaves out.
func (e *execution) skip(r *result) string {
	var all []string
	if e.s.skip != "" {
		all = append(all, e.s.skip)
	}
	for _, x := range exceptions {
		if x.hangs && slices.Contains(x.suites, e.s.name) && slices.Contains(x.columns, e.col.name) {
			all = append(all, x.test.String())
		}
	}
	for name := range r.tests {
		if !strings.Contains(name, "/") {
			all = append(all, "^"+regexp.QuoteMeta(name)+"$")
		}
	}
	return strings.Join(all, "|")
}

var verdict = regexp.MustCompile(`(?m)^\x16?(PASS|FAIL)$`)

// endsProperly reports whether the output of a test program has the verdict, which comes when all
// tests have ended.
func endsProperly(out []byte) bool { return verdict.Match(out) }

func appendTo(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// add counts the tests in the output of a test program. It returns the top-level tests that have
// ended the program, by hanging or by a panic; they count as failed. Other tests that had not ended
// are not counted.
func (r *result) add(out []byte) (guilty []string, err error) {
	cmd := exec.Command("go", "tool", "test2json")
	cmd.Dir = os.TempDir() // which go.mod there is here is of no matter
	cmd.Stdin = bytes.NewReader(out)
	events, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	running := map[string]bool{}
	for dec := json.NewDecoder(bytes.NewReader(events)); ; {
		var e struct{ Action, Test string }
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if e.Test == "" {
			continue
		}
		t := r.tests[e.Test]
		switch e.Action {
		case "run":
			running[e.Test] = true
			continue
		case "pause":
			delete(running, e.Test)
			continue
		case "cont":
			running[e.Test] = true
			continue
		case "pass":
			t.passed++
		case "fail":
			t.failed++
		case "skip":
			t.skipped++
		default:
			continue
		}
		delete(running, e.Test)
		r.tests[e.Test] = t
	}
	hung := longest(out)
	for name := range running {
		if hung != nil && !slices.Contains(hung, name) {
			continue
		}
		t := r.tests[name]
		t.failed++
		r.tests[name] = t
		if !strings.Contains(name, "/") {
			guilty = append(guilty, name)
		}
	}
	return guilty, nil
}

var (
	inPanic = regexp.MustCompile(`(?s)^.*?panic: test timed out after[^\n]*\n\s*running tests:\n(.*?)\n\n`)
	atLimit = regexp.MustCompile(`(?m)^\s*(\S+) \(([^)]+)\)$`)
)

// longest returns the tests that have been running longest, and within a second of it, when the
// program was ended for its time. Nil means that it was not.
func longest(out []byte) (names []string) {
	m := inPanic.FindSubmatch(out)
	if m == nil {
		return nil
	}
	took := map[string]time.Duration{}
	var most time.Duration
	for _, t := range atLimit.FindAllSubmatch(m[1], -1) {
		d, err := time.ParseDuration(string(t[2]))
		if err != nil {
			continue
		}
		took[string(t[1])] = d
		most = max(most, d)
	}
	for name, d := range took {
		if d >= most-time.Second {
			names = append(names, name)
		}
	}
	return names
}

// logName returns the file for the output of s in column c.
func logName(dir string, s *suite, c column) string {
	return filepath.Join(dir, strings.NewReplacer("/", "-", " ", "").Replace(s.name)+"."+c.name+".log")
}

// wantsDDP reports whether the connections of the column are to be in DDP mode.
func (c column) wantsDDP() bool { return !c.plain && c.mode != standin.ModeOff }
