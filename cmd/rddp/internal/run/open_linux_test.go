//go:build amd64 || arm64

package run

import (
	"os"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/internal/process"
)

// TestProcessOfTwoCalls: two simultaneous calls of one process have both opened the process. They
// get the same Process, which is open.
func TestProcessOfTwoCalls(t *testing.T) {
	open := func() *process.Process {
		p, err := process.Open(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	f := &openFile{opener: open(), fd: -1}
	defer f.close()
	first := f.adopt(open())
	second := f.adopt(open())
	if first != second {
		t.Error("the second call has got a Process of its own")
	}
	b := make([]byte, 8)
	if err := first.Check(uint64(uintptr(unsafe.Pointer(&b[0]))), uint64(len(b)), true); err != nil {
		t.Errorf("the Process of the first call: %v", err)
	}
}
