package prefetch

import (
	"testing"
	"unsafe"
)

// A prefetch changes no memory, and takes any address and length.
func TestLines(t *testing.T) {
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i)
	}
	for _, n := range []uintptr{0, 1, 63, 64, 65, 4096, 1 << 20} {
		for off := range uintptr(130) {
			Lines(unsafe.Pointer(&b[off]), n)
		}
	}
	Lines(nil, 0)
	Lines(nil, 64)
	for i := range b {
		if b[i] != byte(i) {
			t.Fatalf("byte %d has changed", i)
		}
	}
}

// Stack takes lengths beyond both ends of the stack.
func TestStack(t *testing.T) {
	done := make(chan int)
	go func() {
		local := 42
		for _, n := range []uintptr{0, 1, 64, 1000, 1 << 20} {
			Stack(n)
		}
		done <- local
	}()
	if got := <-done; got != 42 {
		t.Errorf("a local variable has become %d", got)
	}
}
