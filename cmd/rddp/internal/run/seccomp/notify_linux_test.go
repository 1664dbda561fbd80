//go:build amd64 || arm64

package seccomp

import (
	"syscall"
	"testing"
)

// TestAgain: an ioctl that a signal interrupts is made again, and one that fails is not.
func TestAgain(t *testing.T) {
	for _, want := range []syscall.Errno{0, syscall.ENOENT} {
		calls := uintptr(0)
		n, e := again(func() (uintptr, syscall.Errno) {
			if calls++; calls < 3 {
				return 0, syscall.EINTR
			}
			return calls, want
		})
		if n != 3 || e != want {
			t.Errorf("after %d calls: %v, want 3 and %v", n, e, want)
		}
	}
}
