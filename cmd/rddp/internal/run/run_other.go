//go:build !linux || !(amd64 || arm64)

package run

// Stage does nothing on this system.
func Stage() {}

// Apart does nothing on this system.
func Apart() (status int, done bool) { return 0, false }

// Run returns ErrUnsupported.
func Run(Config) (int, error) { return 0, ErrUnsupported }
