//go:build !linux || !(amd64 || arm64)

package run

// Stage does nothing on this system.
func Stage() {}

// Run returns ErrUnsupported.
func Run(Config) (int, error) { return 0, ErrUnsupported }
