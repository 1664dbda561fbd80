//go:build !linux

package demo

import (
	"context"
	"io"
)

// showDevice shows nothing: rddp run is for Linux.
func showDevice(context.Context, Options, io.Writer) error { return nil }
