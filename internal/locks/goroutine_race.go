//go:build race && (amd64 || arm64)

package locks

// goroutine returns what no other goroutine has at the same time: where the runtime keeps this one.
// To ask runtime.Stack instead takes a hundred times as long.
func goroutine() uintptr
