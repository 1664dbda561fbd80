package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func testCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("test", flag.ExitOnError)
	retries := flags.Int("retries", 0, "how often a test that failed runs again, at most")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list, packages, err := splitPackages(flags.Args())
	if err != nil {
		return err
	}
	return testAndRecord(ctx, list, packages, *retries)
}

// splitPackages splits arguments of go test into the flags, each of which is one argument, and the
// packages.
func splitPackages(args []string) (flags, packages []string, err error) {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return nil, nil, errors.New("no packages")
	}
	for _, arg := range args[i:] {
		if strings.HasPrefix(arg, "-") {
			return nil, nil, fmt.Errorf("the flag %s is behind a package, or its value is an argument of its own", arg)
		}
	}
	return args[:i], args[i:], nil
}

// testAndRecord runs go test, repeats failed tests, and adds their attempts to the record.
func testAndRecord(ctx context.Context, flags, packages []string, retries int) error {
	attempts, ok, err := testAndRetry(ctx, flags, packages, retries, os.Stdout)
	name, part := recordName()
	if recordErr := appendRecord(name, attempts...); recordErr != nil {
		return errors.Join(err, recordErr)
	}
	if !part {
		printAttempts(os.Stdout, attempts)
		if len(attempts) > 0 {
			name, _ = filepath.Abs(name)
			fmt.Printf("these are lines of %s too\n", name)
		}
	}
	if err == nil && !ok {
		return errFailed
	}
	return err
}

// testAndRetry runs go test, and repeats each failed test alone until it passes, at most retries
// times. ok reports whether each test has passed in the end. A data race, a panic, a process that
// ends early or a leak found at the end is final: only a failed test can be due to time.
func testAndRetry(ctx context.Context, flags, packages []string, retries int, w io.Writer) (attempts []record, ok bool, err error) {
	run, err := goTest(ctx, append(slices.Clone(flags), packages...), w)
	if err != nil {
		if run != nil {
			run.interrupted(w)
		}
		return nil, false, err
	}
	ok = len(run.packages) > 0
	for _, p := range run.packages {
		attempts = append(attempts, p.failed...)
		if p.result != "fail" && p.result != "" {
			continue
		}
		if p.fatal != "" || p.result == "" {
			p.report(w)
			ok = false
			continue
		}
		for _, first := range p.failed {
			again, passed, err := repeat(ctx, flags, first, retries, w)
			attempts = append(attempts, again...)
			if err != nil {
				return attempts, false, err
			}
			ok = ok && passed
		}
	}
	return attempts, ok, nil
}

// repeat runs one test again until it passes.
func repeat(ctx context.Context, flags []string, first record, retries int, w io.Writer) (attempts []record, passed bool, err error) {
	for attempt := 2; attempt <= retries+1; attempt++ {
		fmt.Fprintf(w, "== %s %s again, attempt %d\n", first.Package, first.Test, attempt)
		run, err := goTest(ctx, append(slices.Clone(flags), "-count=1", "-run=^"+first.Test+"$", first.Package), w)
		if err != nil {
			return attempts, false, err
		}
		r := record{Test: first.Test, Package: first.Package, Attempt: attempt, Result: "fail"}
		p := run.named[first.Package]
		if p != nil && p.result == "pass" {
			r.Result = "pass"
		}
		if p != nil {
			r.Seconds = p.seconds
		}
		attempts = append(attempts, r)
		if r.Result == "pass" {
			return attempts, true, nil
		}
		if p == nil || p.fatal != "" {
			break
		}
	}
	return attempts, false, nil
}

// goTest runs go test with these arguments.
func goTest(ctx context.Context, args []string, w io.Writer) (*testRun, error) {
	cmd := exec.Command(goCommand(), append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	r, pipe := io.Pipe()
	cmd.Stdout = pipe
	type result struct {
		run *testRun
		err error
	}
	read := make(chan result, 1)
	go func() {
		run, err := readEvents(r, w)
		_, _ = io.Copy(io.Discard, r) // otherwise the command could not end
		read <- result{run, err}
	}()
	err := inGroup(ctx, cmd, syscall.SIGQUIT, syscall.SIGTERM) // a test binary that gets SIGQUIT prints its stacks
	pipe.Close()
	res := <-read
	if res.err != nil {
		return nil, res.err
	}
	if failedItself(err) && len(res.run.packages) > 0 {
		err = nil // the results of the packages say so
	}
	return res.run, err
}

// goCommand returns the go command. The Makefile may set it in the variable GO.
func goCommand() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}
