// Command tier runs the tests of a tier, and keeps a record of failed tests and their retries. The
// Makefile calls it; CONTRIBUTING.md describes the tiers.
//
//	tier run [-within TIME] TARGET[:LIMIT]...     the targets of make, one after the other, and a summary
//	tier test [-retries N] -- GO-TEST-ARGS...     go test; a test that fails runs again
//	tier only KIND [-retries N] [-- FLAGS] PKG... go test of the functions of a kind, and of no others
//	tier names KIND PKG...                        a pattern of these functions, for -run and -skip
//	tier nightly [-list] SHARD PKG-LISTS...       one shard, such as 3/60, of what takes hours
//	tier share WORD...                            the words, packages for instance, of the share that SHARE names
//	tier stutter [-off TIME] [-on TIME] PROGRAM... a program that is stopped and continued all the time
//
// The kinds are norace, for functions that must run without the race detector, and timing, for the
// functions in files *_timing_test.go.
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
	"only":    onlyCommand,
	"names":   namesCommand,
	"nightly": nightlyCommand,
	"share":   shareCommand,
	"stutter": stutterCommand,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: tier run|test|only|names|nightly|share|stutter; see .ci/tier/main.go")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		var code exitCode
		if errors.As(err, &code) {
			os.Exit(int(code))
		}
		fmt.Fprintf(os.Stderr, "tier %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// An exitCode ends the program without a message, because the output already says why.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
