//go:build !linux

package perf

import "time"

// lineTime reports that this operating system cannot pin a thread to a CPU.
func lineTime() (time.Duration, bool) { return 0, false }
