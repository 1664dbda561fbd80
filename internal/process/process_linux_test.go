package process

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The tests open their own process as if it were another one.
func self(t *testing.T) *Process {
	t.Helper()
	p, err := Open(unix.Gettid())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if p.PID != os.Getpid() {
		t.Fatalf("thread %d belongs to process %d, not %d", unix.Gettid(), p.PID, os.Getpid())
	}
	return p
}

// pages maps n pages, the last of which is read-only. The page after them is not mapped.
func pages(t *testing.T, n int) []byte {
	t.Helper()
	size := os.Getpagesize()
	b, err := unix.Mmap(-1, 0, (n+1)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	if err := unix.Mprotect(b[(n-1)*size:n*size], unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mprotect(b[n*size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return b
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func TestProtection(t *testing.T) {
	size := uint64(os.Getpagesize())
	b := pages(t, 3)
	from := address(b)
	tests := []struct {
		desc        string
		addr, n     uint64
		read, write bool
	}{
		{"the first page", from, size, true, true},
		{"across pages", from + size - 8, 16, true, true},
		{"a page that may be read", from + 2*size, size, true, false},
		{"into that page", from, 2*size + 1, true, false},
		{"into the page that is not there", from + 2*size, size + 1, false, false},
		{"nothing at all", 0, 0, true, true},
		{"the first page of the address space", 0, 8, false, false},
		{"a length that wraps", from, ^uint64(0) - from + 2, false, false},
	}
	p := self(t)
	for _, tt := range tests {
		if err := p.Check(tt.addr, tt.n, false); (err == nil) != tt.read {
			t.Errorf("%s: Check for reading: %v", tt.desc, err)
		}
		if err := p.Check(tt.addr, tt.n, true); (err == nil) != tt.write {
			t.Errorf("%s: Check for writing: %v", tt.desc, err)
		}
		if tt.n > 1<<20 {
			continue
		}
		if err := p.Read(make([]byte, tt.n), tt.addr); (err == nil) != tt.read {
			t.Errorf("%s: Read: %v", tt.desc, err)
		}
		if err := p.Write(make([]byte, tt.n), tt.addr); (err == nil) != tt.write {
			t.Errorf("%s: Write: %v", tt.desc, err)
		}
	}
}

// If the system calls fail, /proc/PID/mem is used, and page protection is still respected.
func TestFallback(t *testing.T) {
	p := self(t)
	p.PID = 1 << 30 // no process has this number
	b := pages(t, 2)
	copy(b, "hello")
	got := make([]byte, 5)
	if err := p.Read(got, address(b)); err != nil || string(got) != "hello" {
		t.Errorf("Read: %q, %v", got, err)
	}
	if err := p.Write([]byte("J"), address(b)); err != nil || string(b[:5]) != "Jello" {
		t.Errorf("Write: %v, %q", err, b[:5])
	}
	protected := b[os.Getpagesize():]
	if err := p.Write([]byte("J"), address(protected)); !errors.Is(err, syscall.EFAULT) || protected[0] != 0 {
		t.Errorf("Write to a page that may only be read: %v, %q", err, protected[:1])
	}
}

func TestReadString(t *testing.T) {
	p := self(t)
	b := pages(t, 2)
	size := os.Getpagesize()
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 700)
	for _, tt := range []struct {
		desc, s string
		at      int
		limit   int
		ok      bool
	}{
		{"short", "/dev/null", 0, 4096, true},
		{"empty", "", 0, 4096, true},
		{"in several reads", long, 100, 4096, true},
		{"up to the end of the last page", "abc", size - 4, 4096, true},
		{"without an end", long, 0, 700, false},
	} {
		copy(b[tt.at:size], bytes.Join([][]byte{[]byte(tt.s), {0}}, nil))
		s, err := p.ReadString(address(b)+uint64(tt.at), tt.limit)
		if (err == nil) != tt.ok || tt.ok && s != tt.s {
			t.Errorf("%s: %q, %v", tt.desc, s, err)
		}
	}
	copy(b[size-3:size], "abc")
	if s, err := p.ReadString(address(b)+uint64(size)-3, 4096); err == nil {
		t.Errorf("a string that runs into memory that is not there: %q", s)
	}
}
