//go:build !linux

package tcpscript

import "testing"

// makers returns the TCPs that this system has.
func makers(*testing.T) []maker { return []maker{userTCP} }
