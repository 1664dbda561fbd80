// Command rddp demonstrates and uses the stack of this module. Over plain TCP it gives unchanged
// RDMA programs a device, copies files, carries TCP services, and pings and tests iWARP peers. It
// also decodes captures, and compares its speed with plain TCP. `rddp help` lists its commands.
//
// The exit status is 0 on success, 1 after a failure, 2 if the command line is wrong, and 130 if an
// interrupt ended the command before its work was done. `rddp run` returns the status of its
// program, 127 if there is no such program, and 126 if it cannot be run. A server, and `rddp ping`
// without a count, run until they are interrupted, so for them an interrupt is success. Each
// failure is printed once, on standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	supervise "github.com/rddp/rddp/cmd/rddp/internal/run"
)

const (
	exitOK = iota
	exitFailure
	exitUsage
	exitInterrupted = 130 // as in a shell
)

// sameInterrupt is the time within which another interrupt counts as the same one.
const sameInterrupt = time.Second / 2

func main() {
	stage()
	// The first interrupt ends the command in an orderly way, and a second one ends it at once. Two
	// interrupts in quick succession count as one, because timeout(1), for example, signals a
	// process both directly and through its group.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(sameInterrupt, stop) })
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr, commands()))
}

func commands() []*cli.Command {
	return []*cli.Command{demoCommand(), pingCommand(), perfCommand(), serveCommand(), cpCommand(), lsCommand(), proxyCommand(), dumpCommand(), specCommand(), runCommand(), topCommand(), versionCommand(), manCommand()}
}

// run runs the command line args and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, commands []*cli.Command) int {
	return runInput(ctx, args, os.Stdin, stdout, stderr, commands)
}

// runInput is run with another standard input.
func runInput(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, commands []*cli.Command) int {
	out := &checkedWriter{w: stdout}
	root := app(out, stderr, commands)
	root.Reader = stdin
	err := root.Run(ctx, args)
	if err == nil {
		if err = out.failed(); err != nil {
			err = &commandError{"rddp", fmt.Errorf("standard output: %w", err)}
		}
	}
	if err == nil {
		return exitOK
	}
	if status := programStatus(0); errors.As(err, &status) {
		return int(status)
	}
	if of := (*commandError)(nil); !errors.As(err, &of) {
		err = libraryError(root, args, err)
	}
	fmt.Fprintf(stderr, "%v\n", err)
	if coder := cli.ExitCoder(nil); errors.As(err, &coder) && coder.ExitCode() == exitUsage {
		return exitUsage
	}
	if start := (*supervise.StartError)(nil); errors.As(err, &start) {
		return start.Status
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitFailure
}

// interruptible runs f, which may wait for standard input or output. If ctx is done first, it
// returns the error of ctx. f then continues until the process ends, because nothing can end its
// wait.
func interruptible(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noTopic is the library's exit status for help or completion of an unknown command.
const noTopic = 3

// libraryError returns a clearer error for an error of the library itself. An error without a
// status is about a flag's environment variable.
func libraryError(root *cli.Command, args []string, err error) error {
	name, coder := "rddp", cli.ExitCoder(nil)
	switch {
	case !errors.As(err, &coder):
		if c := root.Command(args[1]); c != nil { // only commands have flags with variables
			name += " " + c.Name
		}
		err = &usageError{plainFlagError(root, err)}
	case coder.ExitCode() == noTopic:
		err = unknownCommand(root, args[len(args)-1])
	}
	return &commandError{name, err}
}

// app returns the root command for commands. Its errors are *commandErrors, which run prints.
func app(stdout, stderr io.Writer, commands []*cli.Command) *cli.Command {
	for _, c := range commands {
		name, action := "rddp "+c.Name, c.Action
		nameVariables(c)
		c.UseShortOptionHandling = true
		c.HideHelpCommand = true // "h" and "help" are arguments, such as the name of a host
		c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
			return &commandError{name, &usageError{plainFlagError(c, err)}}
		}
		c.Action = func(ctx context.Context, c *cli.Command) error {
			if err := action(ctx, c); err != nil {
				return &commandError{name, err}
			}
			return nil
		}
	}
	return &cli.Command{
		Name: "rddp", Usage: "RDMA over plain TCP: DDP (RFC 5041) in user space", Version: version(),
		Description: "Each flag also has an environment variable, such as RDDP_SERVE_LISTEN for --listen of `rddp serve`. The command\n" +
			"line takes precedence. Exit status: 0 success, 1 failure, 2 wrong command line, 130 interrupted.\n\n" +
			"   rddp demo                             see it work\n" +
			"   rddp help ping                        the options of a command, with examples",
		Commands: commands, Writer: stdout, ErrWriter: stderr,
		EnableShellCompletion: true, ConfigureShellCompletionCommand: configureCompletion,
		ExitErrHandler: func(context.Context, *cli.Command, error) {}, // run prints the error
		OnUsageError: func(_ context.Context, c *cli.Command, err error, _ bool) error {
			return &commandError{"rddp", &usageError{plainFlagError(c, err)}}
		},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return &commandError{"rddp", unknownCommand(c, c.Args().First())}
			}
			return &commandError{"rddp", usage("no command given")}
		},
	}
}

// A commandError says which command failed.
type commandError struct {
	name string
	err  error
}

func (e *commandError) Error() string {
	text := e.name + ": "
	if errors.Is(e.err, context.Canceled) {
		text += "interrupted"
	} else {
		text += e.err.Error()
	}
	if u := (*usageError)(nil); errors.As(e.err, &u) {
		text += "\n`" + e.name + " --help` shows the usage."
	}
	return text
}

func (e *commandError) Unwrap() error { return e.err }

// A usageError means that the command line is wrong. It is a cli.ExitCoder with status 2. A command
// may also return cli.Exit(message, 2).
type usageError struct{ err error }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) ExitCode() int { return exitUsage }
