//go:build !unix && !windows

package perf

// processTime reports that this operating system cannot tell the processor time of a process.
func processTime() (cpuTime, bool) { return cpuTime{}, false }

func fileLimit() uint64 { return 0 }
