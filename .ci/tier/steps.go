package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A step is a command with a time limit. The other steps run even if it fails or hangs.
type step struct {
	name  string
	args  []string
	env   []string // in addition to this process's
	limit time.Duration
}

// An outcome is the result of a step.
type outcome struct {
	name    string
	result  string // as in record
	took    time.Duration
	records []record // the lines that the step has added to the record: its parts, and failed tests
	failed  []string // the step's output about its failures
}

var errLimit = errors.New("the limit of time is over")

func runCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	within := flags.Duration("within", 0, "the limit of all steps together; 0 means none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var steps []step
	for _, arg := range flags.Args() {
		s, err := parseStep(arg)
		if err != nil {
			return err
		}
		steps = append(steps, s)
	}
	return runSteps(ctx, os.Stdout, steps, *within)
}

// parseStep parses "TARGET VARIABLE=VALUE:LIMIT". A step without a limit has only the limit of all
// steps.
func parseStep(arg string) (step, error) {
	words, limit, has := strings.Cut(arg, ":")
	s := step{name: words, args: append([]string{"make", "--no-print-directory"}, strings.Fields(words)...)}
	if !has {
		return s, nil
	}
	var err error
	if s.limit, err = time.ParseDuration(limit); err != nil {
		return step{}, fmt.Errorf("step %q: %w", arg, err)
	}
	return s, nil
}

// runSteps runs the steps one after the other, prints a summary, and fails if one of them failed.
func runSteps(ctx context.Context, w io.Writer, steps []step, within time.Duration) error {
	name, part := recordName()
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if !part {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	before, err := readRecord(name)
	if err != nil {
		return err
	}
	begin, bad := time.Now(), false
	var outcomes []outcome
	for _, s := range steps {
		if within > 0 {
			left := max(within-time.Since(begin), 0)
			if s.limit == 0 || s.limit > left {
				s.limit = left
			}
		}
		s.env = append(s.env, recordVariable+"="+name)
		o := s.run(ctx, w, within > 0)
		fmt.Fprintf(w, "== %s: %s after %.0f s\n", s.name, o.result, o.took.Seconds())
		all, err := readRecord(name)
		if err != nil {
			return err
		}
		line := record{Step: s.name, Result: o.result, Seconds: o.took.Seconds()}
		if err := appendRecord(name, line); err != nil {
			return err
		}
		o.records = all[len(before):]
		before = append(all, line)
		outcomes = append(outcomes, o)
		bad = bad || o.result != "pass"
	}
	summarize(w, outcomes)
	if bad {
		return errFailed
	}
	return nil
}

// run runs the step. If bounded is true, a limit of 0 means that no time is left, and otherwise
// that there is no limit.
func (s step) run(ctx context.Context, w io.Writer, bounded bool) outcome {
	o := outcome{name: s.name}
	if ctx.Err() != nil || bounded && s.limit == 0 {
		o.result = "not run"
		return o
	}
	fmt.Fprintf(w, "== %s\n", strings.Join(s.args, " "))
	if s.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.limit, errLimit)
		defer cancel()
	}
	var log bytes.Buffer
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdout = io.MultiWriter(w, &log)
	cmd.Stderr = cmd.Stdout
	begin := time.Now()
	err := inGroup(ctx, cmd, syscall.SIGTERM)
	o.took = time.Since(begin)
	switch {
	case err == nil:
		o.result = "pass"
		return o
	case errors.Is(err, errLimit):
		o.result = "hung"
	default:
		o.result = "fail"
	}
	o.failed = failures(log.String())
	if !failedItself(err) {
		o.failed = append(o.failed, err.Error())
	}
	return o
}

// retries counts the attempts after the first of each test.
func (o *outcome) retries() (n int) {
	for _, r := range o.records {
		if r.Attempt > 1 {
			n++
		}
	}
	return n
}

// summarize prints a line for each step and each part of a step, then each attempt of the tests
// that failed at least once, and then the failures of each step.
func summarize(w io.Writer, outcomes []outcome) {
	fmt.Fprintf(w, "\n== summary\n%-48s %-8s %8s %8s\n", "step", "result", "seconds", "retries")
	var tests []record
	for _, o := range outcomes {
		fmt.Fprintf(w, "%-48s %-8s %8.0f %8d\n", o.name, o.result, o.took.Seconds(), o.retries())
		for _, r := range o.records {
			if r.Step != "" {
				fmt.Fprintf(w, "    %-44s %-8s %8.0f\n", r.Step, r.Result, r.Seconds)
			} else {
				tests = append(tests, r)
			}
		}
	}
	printAttempts(w, tests)
	for _, o := range outcomes {
		if o.result != "pass" {
			fmt.Fprintf(w, "\n== %s: %s\n", o.name, o.result)
			for _, line := range o.failed {
				fmt.Fprintln(w, line)
			}
		}
	}
}

// printAttempts prints each attempt of the tests that failed at least once.
func printAttempts(w io.Writer, tests []record) {
	if len(tests) > 0 {
		fmt.Fprintf(w, "\n== tests that failed at least once\n")
	}
	for _, r := range tests {
		fmt.Fprintf(w, "%s %s: attempt %d: %s after %.1f s\n", r.Package, r.Test, r.Attempt, r.Result, r.Seconds)
	}
}
