//go:build !linux || !(amd64 || arm64)

package run

import "context"

// Stage does nothing on this system.
func Stage() {}

// Run returns ErrUnsupported.
func Run(context.Context, Config) (int, error) { return 0, ErrUnsupported }
