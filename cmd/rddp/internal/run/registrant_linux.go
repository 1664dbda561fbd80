//go:build amd64 || arm64

package run

import (
	"os"
	"strconv"

	"github.com/rddp/rddp/internal/process"
)

// A registrant is a process that has registered memory, and gives access to that memory. A NIC
// keeps registered pages after their process has ended, and a program that becomes a daemon relies
// on that if its parent has registered MAP_SHARED memory. Here, private memory ends with its
// process, but shared memory remains accessible through any other process that has the device open
// and the same memory mapped at the same address. That process's memory map is read for each
// access, because it may change.
type registrant struct {
	*process.Process
	file *openFile
	// the shared parts of the memory; Check sets it before the device uses the memory
	shared []process.Shared
}

// Check checks that the process may access the memory, and records which parts are shared.
func (r *registrant) Check(addr, n uint64, write bool) (err error) {
	r.shared, err = r.Process.Shared(addr, n, write)
	return err
}

func (r *registrant) Read(b []byte, addr uint64) error {
	theCalm.note()
	err := r.Process.Read(b, addr)
	if err != nil && r.throughAnother(addr, len(b), false, func(p *process.Process) error { return p.Read(b, addr) }) {
		return nil
	}
	return err
}

func (r *registrant) Write(b []byte, addr uint64) error {
	theCalm.note()
	err := r.Process.Write(b, addr)
	if err != nil && r.throughAnother(addr, len(b), true, func(p *process.Process) error { return p.Write(b, addr) }) {
		return nil
	}
	return err
}

// throughAnother calls do with other processes that have the same n bytes at addr, until a call
// succeeds. It reports whether one did. A process may unmap the memory at any time, so its map is
// checked each time.
func (r *registrant) throughAnother(addr uint64, n int, write bool, do func(*process.Process) error) bool {
	if len(r.shared) == 0 {
		return false
	}
	try := func(p *process.Process) bool {
		return p != r.Process && !p.HasEnded() && p.Has(r.shared, addr, uint64(n), write) == nil && do(p) == nil
	}
	for _, p := range r.file.users() {
		if try(p) {
			return true
		}
	}
	// A child that has only posted work requests is not known yet.
	all, _ := os.ReadDir("/proc")
	for _, x := range all {
		pid, err := strconv.Atoi(x.Name())
		if err != nil || r.file.known(pid) != nil || !r.file.isHeldBy(pid) {
			continue
		}
		if p, err := process.Open(pid); err == nil && try(r.file.adopt(p)) {
			return true
		}
	}
	return false
}

// users returns the known processes that use f.
func (f *openFile) users() []*process.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []*process.Process{f.opener}
	for _, p := range f.children {
		all = append(all, p)
	}
	return all
}
