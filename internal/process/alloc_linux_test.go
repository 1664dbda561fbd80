//go:build !race

package process

import (
	"os"
	"testing"
	"unsafe"
)

// TestReadStringAllocations: what a thread waits for while its path is read allocates the path and
// the buffer of the read. This file is excluded under the race detector, which causes more
// allocations.
func TestReadStringAllocations(t *testing.T) {
	b := []byte("/etc/hosts\x00")
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	me := Reader(Thread(os.Getpid()))
	if n := testing.AllocsPerRun(100, func() {
		if s, err := ReadString(me, at, 4096); err != nil || s != "/etc/hosts" {
			t.Errorf("%q, %v", s, err)
		}
	}); n > 2 {
		t.Errorf("%v allocations, want 2", n)
	}
}
