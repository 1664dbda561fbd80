//go:build amd64 || arm64

package run

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

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

// TestFileBehindDescriptor checks that a descriptor is taken for the device's file that it refers
// to, and for no other: also if the program has opened that file once more, and if there are so
// many files that the kernel is not asked about each of them.
func TestFileBehindDescriptor(t *testing.T) {
	s := &supervisor{files: make(map[*openFile]struct{})}
	open := func() (*openFile, int) {
		fd, err := unix.MemfdCreate(fileName, unix.MFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		id, ok := fileAt(fmt.Sprintf("/proc/self/fd/%d", fd))
		if !ok {
			t.Fatal("the file has no identity")
		}
		return &openFile{fd: fd, id: id}, fd
	}
	other, unknown := open()
	for len(s.files) < fewFiles+1 {
		f, fd := open()
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(again) })
		s.files[f] = struct{}{}
		for f := range s.files {
			if got := s.file(unix.Gettid(), f.fd); got != f {
				t.Errorf("with %d files, a descriptor is of %p instead of %p", len(s.files), got, f)
			}
		}
		if got := s.file(unix.Gettid(), again); got != f {
			t.Errorf("with %d files, one that is opened once more is %p instead of %p", len(s.files), got, f)
		}
		for _, fd := range []int{unknown, -1, 1 << 20} {
			if got := s.file(unix.Gettid(), fd); got != nil {
				t.Errorf("with %d files, descriptor %d of no device is one (%v)", len(s.files), fd, got == other)
			}
		}
	}
}
