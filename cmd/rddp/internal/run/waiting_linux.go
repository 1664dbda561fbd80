//go:build amd64 || arm64

package run

import (
	"syscall"

	"github.com/rddp/rddp/cmd/rddp/internal/run/process"
	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

// A waiting is the memory of a thread that waits in a call. When the thread is killed, its number
// may be reused by a thread of any process. So Write checks that the thread still waits.
type waiting struct {
	process.Thread
	l *seccomp.Listener
	c *seccomp.Call
}

func waitingIn(p *seccomp.Program, c *seccomp.Call) waiting {
	return waiting{process.Thread(c.Thread), p.Listener, c}
}

// Write copies b to addr.
func (w waiting) Write(b []byte, addr uint64) error {
	if !w.l.Waits(w.c) {
		return syscall.ESRCH
	}
	return w.Thread.Write(b, addr)
}
