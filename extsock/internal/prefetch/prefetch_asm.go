//go:build amd64 || arm64

package prefetch

import "unsafe"

// Lines fetches the cache lines of the n bytes at p.
//
//go:noescape
func Lines(p unsafe.Pointer, n uintptr)

// Stack fetches the n bytes of the goroutine's stack that its callers use, and the n bytes that the
// functions they call next will use. The stack may be shorter.
func Stack(n uintptr)
