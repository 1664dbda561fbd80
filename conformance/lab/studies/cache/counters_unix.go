//go:build unix

package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// mapCounters returns counters that all processes share that map this file. The mapping lasts as
// long as the process.
func mapCounters(file string, n int) (counters, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(n) * counterLen); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, n*counterLen, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&b[0])), n), nil
}
