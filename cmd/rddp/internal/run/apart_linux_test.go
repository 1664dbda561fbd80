//go:build amd64 || arm64

package run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { programs["session"] = sessionProgram }

// sessionProgram says its own session and process group, and whether its supervisor leads a session. Then
// it waits for the end of its input.
func sessionProgram([]string) error {
	_, _ = os.Stat("/dev/infiniband") // is answered after the supervisor has left
	own, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	supervisors, err := unix.Getsid(os.Getppid())
	tell("%d %d %t", own, unix.Getpgrp(), supervisors == os.Getppid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestApart: the supervisor leaves the session and the process group, and the program stays, also if the
// command leads the group. The end of either is the end of both, and looks alike from outside.
func TestApart(t *testing.T) {
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, leads := range []bool{false, true} {
		for _, end := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
			c := under(performance(t, "session")...)
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: leads}
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			group, apart := unix.Getpgrp(), true
			if leads {
				group, apart = c.Process.Pid, sessionsCount()
			}
			r := bufio.NewReader(out)
			line, err := r.ReadString('\n')
			if want := fmt.Sprintf("%d %d %t\n", sid, group, apart); line != want {
				t.Errorf("leads = %t: session, process group, and whether the supervisor leads one: %q, %v; want %q", leads, line, err, want)
			}
			if end == 0 {
				in.Close()
			} else if err := c.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); err != nil { // until the program and its supervisor have ended
				t.Fatal(err)
			}
			_ = c.Wait() // its error is the status
			if w := c.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() != (end != 0) || w.Signaled() && w.Signal() != end || w.ExitStatus() > 0 {
				t.Errorf("leads = %t: ended by status %#x, want signal %d", leads, w, end)
			}
			in.Close()
		}
	}
}
