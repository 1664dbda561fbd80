package main

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// grace is the time that a process group has to end by itself before it is killed.
const grace = 5 * time.Second

// inGroup runs the command in its own process group. When ctx is done, it ends the whole group: it
// sends the signals, one after the other, and then SIGKILL.
func inGroup(ctx context.Context, cmd *exec.Cmd, signals ...syscall.Signal) error {
	if err := startGroup(cmd); err != nil {
		return err
	}
	return waitGroup(ctx, cmd, signals...)
}

// startGroup starts the command in its own process group.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 2 * grace // for descendants that keep the output open
	return cmd.Start()
}

// waitGroup waits for the command. When ctx is done, it ends the whole group, as inGroup does.
func waitGroup(ctx context.Context, cmd *exec.Cmd, signals ...syscall.Signal) error {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		for _, s := range signals {
			signalGroup(cmd, s)
			signalGroup(cmd, syscall.SIGCONT) // a stopped process sees no signal
			select {
			case <-over:
			case <-time.After(grace / time.Duration(len(signals))):
			}
		}
		signalGroup(cmd, syscall.SIGKILL) // also for the rest when the first process has ended
	}()
	err := cmd.Wait()
	close(over)
	<-ended
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// signalGroup sends a signal to the process group that the command leads.
func signalGroup(cmd *exec.Cmd, s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) }

// failedItself reports whether err means that a program ran and ended with a status other than 0.
func failedItself(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}
