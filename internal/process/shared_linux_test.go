package process

import (
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestHasRoom: memory can grow where nothing is mapped behind its end.
func TestHasRoom(t *testing.T) {
	p := self(t)
	size := uintptr(os.Getpagesize())
	b, err := unix.MmapPtr(-1, 0, nil, 8*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.MunmapPtr(b, 8*size)
	if err := unix.MunmapPtr(unsafe.Add(b, 2*size), 2*size); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		desc   string
		end, n uintptr
		want   bool
	}{
		{"as much as there is", 2, 2, true},
		{"more", 2, 3, false},
		{"in the middle of memory", 1, 1, false},
		{"where no memory ends", 3, 1, false},
	} {
		got, err := p.HasRoom(uint64(uintptr(b)+tt.end*size), uint64(tt.n*size))
		if got != tt.want || err != nil {
			t.Errorf("%s: %t, %v, want %t", tt.desc, got, err, tt.want)
		}
	}
}

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
