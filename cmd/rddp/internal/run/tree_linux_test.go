//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

func init() { programs["tree"] = treeProgram }

// parentOf returns the PID of a process's parent.
func parentOf(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // 0 if the process has ended
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1]) // as above
	return parent
}

// supervisorPID returns the PID of this program's supervisor. The guardian is between the two.
func supervisorPID() int { return parentOf(os.Getppid()) }

// treeProgram starts a child, a daemon in its own session, and a grandchild of that. Each calls
// stat all the time, and has the standard output open. The argument is the number of processes
// still to start.
func treeProgram(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if n > 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		for _, session := range []bool{false, true} {
			c := exec.Command(self, perform, "tree", strconv.Itoa(n-1))
			c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: session}
			if err := c.Start(); err != nil {
				return err
			}
		}
	}
	tell("here %d", os.Getpid())
	if sid, err := unix.Getsid(0); n == 1 && sid == os.Getpid() {
		return err // its children become orphans
	}
	for {
		if _, err := os.Stat("/"); err != nil {
			tell("no file can be found: %v", err)
		}
	}
}

// When the supervisor or its guardian is killed, all processes that the program has started end,
// and none of them sees a call fail.
func TestEndOfSupervisor(t *testing.T) {
	tests := []struct {
		desc   string
		victim func(t *testing.T, supervisor int) int
	}{
		{"the supervisor is killed", func(_ *testing.T, supervisor int) int { return supervisor }},
		{"its guardian is killed", func(t *testing.T, supervisor int) int { return onlyChild(t, supervisor) }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			c := under(performance(t, "tree", "2")...)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if err := out.(*os.File).SetReadDeadline(prototest.Deadline(t)); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			var pids []int
			const processes = 7
			for range processes {
				pid := 0
				if _, err := fmt.Fscanf(lines, "here %d\n", &pid); err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			if err := unix.Kill(tt.victim(t, c.Process.Pid), unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 { // EOF comes with the end of the last process
				t.Errorf("the programs say %q, %v", rest, err)
				for _, pid := range append(pids, c.Process.Pid) {
					_ = unix.Kill(pid, unix.SIGKILL) // they would run forever
				}
			}
			_ = c.Wait()
			if s := c.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != unix.SIGKILL {
				t.Errorf("the supervisor ends with %v", c.ProcessState)
			}
		})
	}
}

// A signal to the program's parent works like a signal to the supervisor.
func TestSignalToParent(t *testing.T) {
	wantStatus(t, under("sh", "-c", `trap "exit 7" TERM; kill -ALRM $PPID; kill -TERM $PPID; while :; do sleep 0.01; done`).Run(), 7)
}

// A stopped guardian is continued, and the supervisor learns of the program's end.
func TestStoppedGuardian(t *testing.T) {
	c := under("sh", "-c", "echo $PPID; kill -STOP $PPID; exit 7")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var guardian int
	if _, err := fmt.Fscan(out, &guardian); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		if t.Failed() {
			_ = unix.Kill(guardian, unix.SIGKILL)
		}
	})
	prototest.Wait(t, "the end of the supervisor", func() bool { return len(ended) > 0 })
	wantStatus(t, <-ended, 7)
}

// A program inherits the user's descriptors, whatever their numbers are.
func TestDescriptorsOfUser(t *testing.T) {
	c := under("sh", "-c", "cat <&3; cat <&4; cat <&5")
	var want string
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		line := fmt.Sprintln("pipe", i)
		_, err = io.WriteString(w, line)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		c.ExtraFiles = append(c.ExtraFiles, r)
		want += line
	}
	if got, err := c.Output(); err != nil || string(got) != want {
		t.Errorf("the program reads %q, %v, want %q", got, err, want)
	}
}
