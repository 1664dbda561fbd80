package process

import (
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPrivate: of some memory, the parts that are mapped shared are left out.
func TestPrivate(t *testing.T) {
	p := self(t)
	size := os.Getpagesize()
	b, err := unix.MmapPtr(-1, 0, nil, uintptr(4*size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.MunmapPtr(b, uintptr(4*size))
	at := uint64(uintptr(b))
	n := uint64(size)
	parts := func(addr, n uint64) (all [][2]uint64) {
		if err := p.Private(addr, n, func(addr, n uint64) { all = append(all, [2]uint64{addr, n}) }); err != nil {
			t.Error(err)
		}
		return all
	}
	if got, want := parts(at+n/2, n), [][2]uint64{{at + n/2, n}}; !slices.Equal(got, want) {
		t.Errorf("private memory: %x, want %x", got, want)
	}
	if _, err := unix.MmapPtr(-1, 0, unsafe.Add(b, size), uintptr(2*size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
		t.Fatal(err)
	}
	if got, want := parts(at, 4*n), [][2]uint64{{at, n}, {at + 3*n, n}}; !slices.Equal(got, want) {
		t.Errorf("with shared memory in the middle: %x, want %x", got, want)
	}
}
