//go:build amd64 || arm64

package seccomp

import (
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAwait: without a kernel that ends receives, a listener waits for a call, and learns of the
// end of the last process. A pipe that has a byte, or has lost its writer, stands for the
// listener's descriptor.
func TestAwait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := &Listener{fd: int(r.Fd())}
	if _, err := w.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := l.await(); err != nil {
		t.Errorf("with a call: %v", err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := l.await(); err != io.EOF {
		t.Errorf("after the end of the last process: %v, want EOF", err)
	}
}

// TestHears: POLLERR, which the kernel reports if a signal interrupts its poll, is neither a call
// nor the end of the last process. It was taken for that end, and the program waited for ever.
func TestHears(t *testing.T) {
	for _, tt := range []struct {
		events int16
		heard  bool
		err    error
	}{
		{0, false, nil},
		{unix.POLLERR, false, nil},
		{unix.POLLIN, true, nil},
		{unix.POLLIN | unix.POLLERR, true, nil},
		{unix.POLLIN | unix.POLLHUP, true, nil},
		{unix.POLLHUP, true, io.EOF},
		{unix.POLLHUP | unix.POLLERR, true, io.EOF},
		{unix.POLLNVAL, true, syscall.EBADF},
	} {
		if heard, err := hears(tt.events); heard != tt.heard || err != tt.err {
			t.Errorf("%#x: %t, %v, want %t, %v", tt.events, heard, err, tt.heard, tt.err)
		}
	}
}

// TestIsFrom: releases of Linux are compared as numbers.
func TestIsFrom(t *testing.T) {
	for release, want := range map[string]bool{
		"6.11.0": true, "6.11.0-rc1": true, "6.18.44-fc-v595": true, "7.0": true, "10.2.1": true,
		"6.10.14": false, "6.9.0": false, "5.15.0-91-generic": false, "": false, "six": false,
	} {
		if got := isFrom(release, 6, 11); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}

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
