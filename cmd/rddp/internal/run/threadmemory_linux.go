//go:build amd64 || arm64

package run

import (
	"syscall"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// A threadMemory is the memory of a thread that waits in a call. If the thread is killed, a thread
// of any process may reuse its number. So Write checks that the thread still waits.
type threadMemory struct {
	process.Thread
	l *seccomp.Listener
	c *seccomp.Call
}

func threadMemoryOf(p *seccomp.Program, c *seccomp.Call) threadMemory {
	return threadMemory{process.Thread(c.Thread), p.Listener, c}
}

// Write copies b to addr.
func (w threadMemory) Write(b []byte, addr uint64) error {
	if !w.l.Waits(w.c) {
		return syscall.ESRCH
	}
	return w.Thread.Write(b, addr)
}
