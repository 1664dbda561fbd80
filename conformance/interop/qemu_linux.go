//go:build interop

package interop

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel kill the child when the thread that starts it ends.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// datagrams returns the two ends of a connection on which each write is one message.
func datagrams() (ends [2]*os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return ends, os.NewSyscallError("socketpair", err)
	}
	for i, fd := range fds {
		ends[i] = os.NewFile(uintptr(fd), "datagrams")
	}
	return ends, nil
}
