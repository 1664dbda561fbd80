package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// stutterCommand runs a program and stops and continues its process group in turns, like a machine
// that loses its processors. It is meant for go test -exec: the test binary stutters, and the
// compiler does not.
func stutterCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stutter", flag.ExitOnError)
	off := flags.Duration("off", 400*time.Millisecond, "how long the program is stopped at a time")
	on := flags.Duration("on", 150*time.Millisecond, "how long it runs between two stops")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no program")
	}
	cmd := exec.Command(flags.Arg(0), flags.Args()[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := stutter(ctx, cmd, *off, *on)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exitCode(exit.ExitCode())
	}
	return err
}

// stutter runs cmd until it ends. go test sends SIGQUIT to a program that takes too long; stutter
// passes it on, so that the program prints its stacks.
func stutter(ctx context.Context, cmd *exec.Cmd, off, on time.Duration) error {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	if err := startGroup(cmd); err != nil {
		return err
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer signalGroup(cmd, syscall.SIGCONT)
		for turn := 0; ; turn++ {
			after, next := on, syscall.SIGSTOP
			if turn%2 == 1 {
				after, next = off, syscall.SIGCONT
			}
			select {
			case <-over:
				return
			case <-quit:
				signalGroup(cmd, syscall.SIGQUIT)
				return
			case <-time.After(after):
			}
			signalGroup(cmd, next)
		}
	}()
	err := waitGroup(ctx, cmd, syscall.SIGTERM)
	close(over)
	<-ended
	return err
}
