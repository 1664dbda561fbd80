//go:build unix

package place

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStaysInsideTheSlices puts source and destination at the end of a page before an inaccessible
// page, and at the beginning of a page after one. A kernel that touches a byte beside them crashes
// the test.
func TestStaysInsideTheSlices(t *testing.T) {
	from, to := fenced(t), fenced(t)
	p, _ := random(t, len(from))
	copy(from, p)
	eachKernel(t, func(t *testing.T, k kernel) {
		for n := range 8 * line {
			for _, src := range [][]byte{from[:n:n], from[len(from)-n:]} {
				for _, dst := range [][]byte{to[:n:n], to[len(to)-n:]} {
					clear(dst)
					k.copyLines(dst, src)
					if !bytes.Equal(dst, src) {
						t.Fatalf("%d bytes: the copy is different", n)
					}
				}
			}
		}
	})
}

// fenced returns two pages of memory between two that cannot be accessed.
func fenced(t *testing.T) []byte {
	page := os.Getpagesize()
	m, err := unix.Mmap(-1, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	for _, fence := range [][]byte{m[:page], m[3*page:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return m[page : 3*page]
}
