//go:build !unix && !windows

package perf

import "time"

// processTime reports that this operating system cannot tell the processor time of a process.
func processTime() (time.Duration, bool) { return 0, false }

func fileLimit() uint64 { return 0 }
