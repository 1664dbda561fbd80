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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 2 * grace // for descendants that keep the output open
	if err := cmd.Start(); err != nil {
		return err
	}
	signalGroup := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) }
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		for _, s := range signals {
			signalGroup(s)
			signalGroup(syscall.SIGCONT) // a stopped process sees no signal
			select {
			case <-over:
			case <-time.After(grace / time.Duration(len(signals))):
			}
		}
		signalGroup(syscall.SIGKILL) // also for the rest when the first process has ended
	}()
	err := cmd.Wait()
	close(over)
	<-ended
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// failedItself reports whether err means that a program ran and ended with a status other than 0.
func failedItself(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}
