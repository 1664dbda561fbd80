//go:build interop

package interop

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the child when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
