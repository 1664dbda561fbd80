//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

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
	err := c.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
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
