//go:build race && !amd64 && !arm64

package locks

import "runtime"

// goroutine returns this goroutine's number.
func goroutine() (g uintptr) {
	var b [64]byte
	const prefix = len("goroutine ")
	for _, c := range b[prefix:runtime.Stack(b[:], false)] {
		if c < '0' || c > '9' {
			break
		}
		g = g*10 + uintptr(c-'0')
	}
	return g
}
