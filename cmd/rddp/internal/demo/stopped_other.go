//go:build !linux

package demo

import (
	"context"
	"io"
	"os/exec"
)

// showDevice shows nothing: rddp run is for Linux.
func showDevice(context.Context, Options, io.Writer) error { return nil }

// startTied starts a command, which ends when its standard input does.
func startTied(cmd *exec.Cmd) (release func(), err error) { return func() {}, cmd.Start() }
