//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// checked returns a command that runs a program under a supervisor that checks it.
func checked(args ...string) *exec.Cmd {
	c := under(args...)
	c.Args[0] = superviseCheck
	return c
}

// findings runs a program that is checked. It returns the lines of the log, and the status.
func findings(t *testing.T, c *exec.Cmd) (lines []string, status int) {
	t.Helper()
	var log bytes.Buffer
	c.Stderr = &log
	return findingsIn(t, c, &log)
}

// findingsIn is findings of a program whose log comes into a buffer.
func findingsIn(t *testing.T, c *exec.Cmd, log *bytes.Buffer) (lines []string, status int) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := abortLate(t, pairTime, c)
	err := c.Wait()
	if late := over(); late || err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("%v\n%s", err, log)
	}
	for line := range strings.Lines(log.String()) {
		if strings.HasPrefix(line, "time=") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines, c.ProcessState.ExitCode()
}

// TestCheck: a program that leaves its objects ends with the status for findings, and the log has
// each of them and their number. The status of a program that has none, or that fails itself, is
// its own.
func TestCheck(t *testing.T) {
	lines, status := findings(t, checked(performance(t, "leaves")...))
	log := strings.Join(lines, "\n")
	for _, want := range []string{
		`: the program has not destroyed it by ibv_dealloc_pd" check=leak rule=`, `: the program has not destroyed it by ibv_destroy_cq" check=leak`,
		`: the program has not destroyed it by ibv_destroy_comp_channel" check=leak`, "msg=checked findings=3 notes=0 suppressed=0 repeated=0",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not have %q:\n%s", want, log)
		}
	}
	if status != findingsStatus || len(lines) != 4 {
		t.Errorf("status %d, want %d:\n%s", status, findingsStatus, log)
	}
	for args, want := range map[string]int{"true": 0, "false": 1} {
		if lines, status := findings(t, checked(args)); status != want || len(lines) != 1 {
			t.Errorf("%s: status %d, want %d: %q", args, status, want, lines)
		}
	}
}

func init() { programs["leaves"] = leavesProgram }

// leavesProgram ends without destroying its objects.
func leavesProgram([]string) error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	if _, err := c.PD(); err != nil {
		return err
	}
	channel, err := c.Channel()
	if err != nil {
		return err
	}
	_, err = c.CQ(16, channel, 1)
	return err
}

func init() { programs["silent"] = silentProgram }

// silentProgram posts a work request and does not ring the doorbell, as if a signal had interrupted
// that.
func silentProgram([]string) error {
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	cq, err := c.CQ(16, -1, 1)
	if err != nil {
		return err
	}
	q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 16, SGEs: 1, Inline: 64})
	if err != nil {
		return err
	}
	if err := errors.Join(q.Modify(guest.Init, [16]byte{}, 0, nil), q.Modify(guest.Err, [16]byte{}, 0, nil), q.Push(guest.WR{ID: 7, Op: guest.OpSend, Flags: guest.Signaled})); err != nil {
		return err
	}
	if w := next(cq); w.ID != 7 {
		return fmt.Errorf("completion %+v", w)
	}
	return nil
}

// TestSilentDoorbell: the device of a program that is checked looks at a work request whose
// doorbell was interrupted.
func TestSilentDoorbell(t *testing.T) {
	if _, status := findings(t, checked(append([]string{"timeout", "60"}, performance(t, "silent")...)...)); status != findingsStatus { // it leaves its objects
		t.Errorf("status %d", status)
	}
}

// TestCheckSignaled: the log has the number of findings also if a signal ends the program, and
// once: the supervisor may run on for a moment after it has sent itself that signal.
func TestCheckSignaled(t *testing.T) {
	for range 10 {
		for _, sig := range []string{"TERM", "ABRT"} {
			lines, _ := findings(t, checked("sh", "-c", "kill -"+sig+" $$"))
			if len(lines) != 1 || !strings.Contains(lines[0], "msg=checked findings=0") {
				t.Errorf("%s: the log is %q", sig, lines)
			}
		}
	}
}

// TestChannelIsLeft: a channel is left if the process that has made it has its descriptor, under
// any number, and not if a child has inherited that.
func TestChannelIsLeft(t *testing.T) {
	far, near, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	fd := int(far.Fd())
	ch := &channel{near: int(near.Fd()), maker: os.Getpid(), fd: fd}
	ch.inode, _ = pipeOf(ch.maker, fd)
	child, other := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{far}
	for _, c := range []*exec.Cmd{child, other} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
	}
	want := func(desc string, want bool) {
		t.Helper()
		if got := ch.IsLeft(); got != want {
			t.Errorf("%s: left %t, want %t", desc, got, want)
		}
	}
	want("a process that has it", true)
	ch.fd = -1
	want("under another number", true)
	far.Close()
	ch.maker = other.Process.Pid
	want("only another process has it", false)
	ch.maker = child.Process.Pid
	want("the child has made it", true)
	_ = child.Process.Kill()
	_ = child.Wait()
	want("the child has ended", false)
}

// TestGivenUp: mremap gives up what it moves, and what it cuts off.
func TestGivenUp(t *testing.T) {
	page := uint64(os.Getpagesize())
	at, to, n := 16*page, 160*page, 2*page
	whole := check.Span{Addr: at, Len: n}
	for _, tt := range []struct {
		desc             string
		old, size, flags uint64
		room             bool
		want             []check.Span
	}{
		{"larger, with room", n, 2 * n, unix.MREMAP_MAYMOVE, true, nil},
		{"larger, without room", n, 2 * n, unix.MREMAP_MAYMOVE, false, []check.Span{whole}},
		{"larger, without room, and it may not move", n, 2 * n, 0, false, nil},
		{"smaller", n, n / 2, unix.MREMAP_MAYMOVE, false, []check.Span{{Addr: at + n/2, Len: n / 2}}},
		{"larger, in the same pages", n - 7, n, unix.MREMAP_MAYMOVE, false, nil},
		{"larger by a part of a page, without room", n - 7, n + 7, unix.MREMAP_MAYMOVE, false, []check.Span{whole}},
		{"as large", n, n, unix.MREMAP_MAYMOVE, false, nil},
		{"to a place", n, n, unix.MREMAP_MAYMOVE | unix.MREMAP_FIXED, true, []check.Span{{Addr: to, Len: n}, whole}},
		{"without its pages", n, n, unix.MREMAP_MAYMOVE | unix.MREMAP_DONTUNMAP, true, []check.Span{whole}},
		{"once more", 0, n, unix.MREMAP_MAYMOVE, false, nil},
	} {
		c := &seccomp.Call{Kind: seccomp.Remap, Args: [6]uint64{at, tt.old, tt.size, tt.flags, to}}
		got := givenUp(c, func(addr, more uint64) bool {
			if old := wholePages(tt.old); addr != at+old || more != wholePages(tt.size)-old {
				t.Errorf("%s: room for %#x bytes at %#x is asked for", tt.desc, more, addr)
			}
			return tt.room
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %#x, want %#x", tt.desc, got, tt.want)
		}
	}
}
