//go:build unix

package crc32c

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadsOnlyTheSlice puts the data at the end of a page before an unreadable page, and at the
// beginning of a page after one. A kernel that touches a byte beside the data crashes the test.
func TestReadsOnlyTheSlice(t *testing.T) {
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	p, _ := random(t, 2*page)
	copy(m[page:], p)
	for _, guard := range [][]byte{m[:page], m[3*page:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	area := m[page : 3*page]
	dst := make([]byte, len(area))
	eachKernel(t, func(t *testing.T, k kernel) {
		for n := range 2200 {
			for _, q := range [][]byte{area[:n:n], area[len(area)-n:]} {
				want := updatePortable(0, dst[:copy(dst, q)])
				for _, cold := range []bool{false, true} {
					if got := k.update(0, q, cold); got != want {
						t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
					}
				}
				if got := k.copyAll(0, dst, q); got != want {
					t.Fatalf("copy of %d bytes: %08x, want %08x", n, got, want)
				}
				// The other way: the copy goes to the edge.
				if got := k.copyAll(0, q, dst[:n]); got != want {
					t.Fatalf("copy of %d bytes to the edge: %08x, want %08x", n, got, want)
				}
			}
		}
	})
}
