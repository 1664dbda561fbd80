// Command tier runs the tests of a tier, and keeps a record of failed tests and their retries. The
// Makefile calls it; CONTRIBUTING.md describes the tiers.
//
//	tier run [-within TIME] TARGET[:LIMIT]...     the targets of make, one after the other, and a summary
//	tier test [-retries N] -- GO-TEST-ARGS...     go test; a test that fails runs again
//	tier nightly [-list] SHARD PKG-LISTS...       one shard, such as 3/60, of what takes hours
//	tier share WORD...                            the words, packages for instance, of the share that SHARE names
//
// make has no limits of time, no shares and no summary, so run, nightly and share are programs.
// gotestsum (v1.13) cannot do what test does: with --rerun-fails it repeats a package whose tests
// pass but which fails at its end, because of a leak for instance, and a test whose process ended,
// and then reports that they have passed; and it gives no stacks when its time is over.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var commands = map[string]func(ctx context.Context, args []string) error{
	"run":     runCommand,
	"test":    testCommand,
	"nightly": nightlyCommand,
	"share":   shareCommand,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: tier run|test|nightly|share; see .ci/tier/main.go")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		if !errors.Is(err, errFailed) {
			fmt.Fprintf(os.Stderr, "tier %s: %v\n", os.Args[1], err)
		}
		os.Exit(1)
	}
}

// errFailed ends the program without a message, because the output already says what failed.
var errFailed = errors.New("failed")
