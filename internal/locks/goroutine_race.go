//go:build race && (amd64 || arm64)

package locks

// goroutine returns a value that no other goroutine has at the same time: the address of the
// runtime's structure for this one. Calling runtime.Stack instead would take a hundred times as
// long.
func goroutine() uintptr
