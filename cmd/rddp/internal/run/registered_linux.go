//go:build amd64 || arm64

package run

import (
	"os"
	"strconv"

	"github.com/rddp/rddp/cmd/rddp/internal/run/process"
)

// A registered is a process that has registered memory. A NIC keeps registered pages after their
// process has ended. A program that becomes a daemon relies on that if its parent has registered
// MAP_SHARED memory. Private memory of a process ends with it. Shared memory can be reached through
// any other process that has the device open and the same memory at the same address. Its map is
// read each time, because it may change.
type registered struct {
	*process.Process
	file *openFile
	// what of the memory is shared; Check sets it before the device uses the memory
	shared []process.Shared
}

// Check is that of the Process. It notes what the process shares.
func (r *registered) Check(addr, n uint64, write bool) (err error) {
	r.shared, err = r.Process.Shared(addr, n, write)
	return err
}

func (r *registered) Read(b []byte, addr uint64) error {
	err := r.Process.Read(b, addr)
	if err != nil && r.throughAnother(addr, len(b), false, func(p *process.Process) error { return p.Read(b, addr) }) {
		return nil
	}
	return err
}

func (r *registered) Write(b []byte, addr uint64) error {
	err := r.Process.Write(b, addr)
	if err != nil && r.throughAnother(addr, len(b), true, func(p *process.Process) error { return p.Write(b, addr) }) {
		return nil
	}
	return err
}

// throughAnother calls do with processes that have the n bytes at addr too, and reports whether one
// call has succeeded. A process may unmap the memory at any time, so it is looked at each time.
func (r *registered) throughAnother(addr uint64, n int, write bool, do func(*process.Process) error) bool {
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
	// A child that only posts work requests is not known yet.
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

// users returns the processes that are known to use f.
func (f *openFile) users() []*process.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []*process.Process{f.opener}
	for _, p := range f.children {
		all = append(all, p)
	}
	return all
}
